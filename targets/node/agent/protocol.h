// The words that a driver and assay-agent exchange: JSON lines on the agent's standard input and
// output, UTF-8, one object a line.
//
// First line both ways, without being asked:
//   {"hello":"assay-agent","protocol":1,…}
// The driver's may carry "control": the address of the driver, which no cut may ever name. The
// agent's carries version, run, node, pid, "powers" (what was probed: "process" always, "link"
// where nftables works, "delay" where iptables and NFQUEUE do, the kinds of faults of links and of
// nodes that can be made here, link_fault.h and node_fault.h), "absent" (power -> why it is missing)
// and "leftovers" (what an earlier agent of the same run and node had left, now removed).
//
// Requests carry a numeric id and the word `do`; the reply carries the id and either "ok":true with
// fields, or "error" (one line). Replies come in any order. Times are in milliseconds.
//   beat                                          a sign of life; the reply is the agent's
//   run     argv [env cwd stdin deadline_ms stdout_max stderr_max]
//                                                 -> code | signal, timed_out, stdout, stderr,
//                                                    stdout_cut, stderr_cut; what is left of the
//                                                    command's process group is killed at its end
//   remedy  name argv [env cwd]                   a command that undoes something; from now on the
//                                                 agent runs it when it ends, however it ends,
//                                                 before it stops the daemons, if the name was not
//                                                 forgotten. Replaces the one of that name
//   forget  name
//   undo                                          ends the commands under way and runs the remedies
//                                                 now; -> ends {name: "" or why not}. Those that
//                                                 did not succeed are run again at the agent's end
//   start   name argv log [env cwd]               -> pid; a daemon in a session of its own
//   kill    name                                  -> running (was it), code | signal; once the
//                                                    whole process group is gone
//   stop    name [grace_ms]                       as kill, SIGTERM first; forced: it took SIGKILL
//   pause   name                                  -> running, processes, threads; once every
//                                                    thread was seen stopped twice, not having
//                                                    run in between
//   resume  name                                  -> running, held (nothing ran since the pause
//                                                    was verified, as far as seen), why
//   cut     from:[address…]                       from now on drops packets FROM exactly these
//                                                 addresses; -> installed
//   heal                                          -> dropped {address: packets}
//   delay   links:[{from delay_ms [jitter_ms reorder duplicate_percent seed]}…]
//                                                 from now on exactly the packets FROM these IPv4
//                                                 addresses come late (link_delay.h); what is held
//                                                 of earlier ones is let go
//   undelay                                       -> held {address: {packets, duplicates,
//                                                    overtaken}}
//   prepare kind [settings]                       before a daemon's first start: what a fault of the
//                                                 node needs -> env to add to its starts
//   fault   kind daemon [settings]                begins a fault of the node (node_fault.h), settings
//                                                 {name: text} -> installed, bit, evidence, figure
//   unfault kind                                  ends it -> installed (it is over), bit, evidence
//   look    kind                                  -> what is to be seen of it now, as of fault
//   break   kind from:[address…] [settings]       from now on exactly the links FROM these addresses
//                                                 have this fault (link_fault.h)
//   mend    kind                                  -> struck {address: packets or connections}
//   probe   to:[address…] [tcp count bytes]       sends UDP datagrams, or attempts to connect, to
//                                                 each
//   observe                                       -> daemons, rules
//   fetch   path offset [max]                     -> data (base64), size, eof
//   list    path                                  -> entries [{path, bytes, type}], cut
//   mkdir, rm  path                               inside the agent's data folder only; rm is deep
//   tail    name path [offset]                    log lines come as events from now on
//   untail  name
//   fsync   path [bytes]                          writes and syncs a file in that folder -> ns
//   net     link name address                     own network: renames the link that was moved
//                                                 here, gives it the address, brings all up
//   close                                         heals, undoes, stops, replies (healed, remedies,
//                                                 stopped), ends
//
// Unsolicited:
//   {"event":"exit","daemon":…,"pid":…,"code":…|"signal":…,"asked":…}  asked: by kill or stop
//   {"event":"bite","from":…,"packets":…}         the first packets dropped since the cut
//   {"event":"struck","kind":…,"from":…,"count":…}  the first packets or connections since "break"
//   {"event":"held","from":…,"us":…}              the first packet since the delay is let go: after
//                                                 so many us
//   {"event":"undelayed","why":…}                 a delay did not hold: everything passes at once
//   {"event":"fault-lost","kind":…,"why":…}       a fault of the node did not hold
//   {"event":"unpaused","daemon":…,"why":…}       a pause did not hold
//   {"event":"log","tail":…,"seq":…,"line":…[,"cut":true]}   seq counts from 1 in each tail
//   {"event":"bad-line","why":…}                  a line that is no request, or too long
//   {"event":"self-heal","why":…,…}               the last line of an agent whose driver is gone
#pragma once

#include <cstddef>

#include "checkers/history/time.h"

namespace assay::agent {

inline constexpr char kHello[] = "assay-agent";
inline constexpr int kProtocol = 1;

inline constexpr Nanos kBeatInterval = seconds(1);  // the driver's
inline constexpr Nanos kLifeline = seconds(5);      // without any input: heal, stop, end

inline constexpr Nanos kRemedyPatience = seconds(3);  // for all of them together, at its end
inline constexpr Nanos kUndoPatience = seconds(2);    // the same, when asked for

inline constexpr size_t kMaxRequestBytes = 1 << 20;  // a longer line is dropped and answered so
inline constexpr size_t kMaxOutputBytes = 1 << 20;   // of a command's stdout, and of its stderr
inline constexpr size_t kFetchChunkBytes = 256 << 10;
inline constexpr size_t kMaxLogLineBytes = 16 << 10;  // the rest of a longer log line is left out
inline constexpr size_t kMaxListEntries = 10'000;

// Every process of a run carries these two; the label of the rules is made of them.
inline constexpr char kRunVariable[] = "ASSAY_RUN";
inline constexpr char kNodeVariable[] = "ASSAY_NODE";
inline constexpr char kDaemonVariable[] = "ASSAY_DAEMON";  // the name of a daemon, of its processes

// A switch for self-tests of the verification, in the agent's environment: a comma-separated list
// of what the agent secretly leaves out. "rule": cuts and delays install nothing. "signal": kill,
// pause and resume send nothing. "probe": probes send nothing. A kind of fault of the node, "cpu":
// it is not possible; with "no-" before it, "no-cpu": it is said to be installed, and is not. Cleaning up always works.
inline constexpr char kSkipVariable[] = "ASSAY_AGENT_SKIP";

}  // namespace assay::agent
