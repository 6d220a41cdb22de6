// Node: the driver's hands on one machine, or on one namespace of this machine. Behind it is an
// assay-agent (agent/protocol.h), reached through pipes (local_node.h) or, later, SSH.
//
// Everything happens on the Loop's one thread. Calls return at once; `done` runs on the Loop
// exactly once, never inside the call, also when the agent is lost or the node closed meanwhile
// (with an error). Faults are verified by the agent: a `done` without error says that the effect
// was seen. No error's message names the node: who prints it does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/time.h"
#include "targets/link_delay.h"
#include "targets/link_fault.h"

namespace assay {

// A server to be started on a node; it stays in the foreground, in a process group of its own.
struct DaemonSpec {
  std::string name;  // on its node: what kill, pause and so on take
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // on top of the agent's, which carries the run's mark
  std::string cwd;                         // must exist; empty: the agent's
  std::string log_path;                    // stdout and stderr are appended; empty: they are lost
};

struct ProcessEnd {
  int code = 0;    // where signal is 0
  int signal = 0;  // that killed it
};

// What the agent of a node can do, as it probed. Kill and pause always work.
struct NodePowers {
  bool cut = false;
  std::string no_cut;  // why not: "nft not found (package nftables)"
  bool delay = false;
  std::string no_delay;
  std::map<std::string, std::string> faults;  // each kind -> why it is not possible; "": it is

  // Why a kind is not possible here; empty where it is.
  std::string no_fault(const std::string& kind) const {
    const auto it = faults.find(kind);
    return it == faults.end() ? "its agent does not know it" : it->second;
  }
};

// A fault of a node's processes, clock or disk (agent/node_fault.h).
struct NodeFault {
  std::string kind;
  std::map<std::string, std::string> settings;
  bool ends_daemon = false;   // it may kill the daemon, which is started again at its end
  bool stops_daemon = false;  // the daemon does nothing meanwhile
  bool fails_daemon = false;  // a daemon that ends by itself meanwhile does right
};

struct FaultReport {
  bool installed = false;  // of an end: it is over
  bool bit = false;
  std::string evidence;
  int64_t figure = 0;  // of a look, where the kind has one: the offset of a clock, in ns
};

struct KillReport {
  bool was_running = false;  // false: there was nothing to do
  bool forced = false;       // stop() had to use SIGKILL
  ProcessEnd end;
};

struct PauseReport {
  bool was_running = false;  // false: there was nothing to pause
  int processes = 0;
  int threads = 0;  // all of them stopped, seen twice, not having run in between
};

struct ResumeReport {
  bool was_running = false;
  bool held = false;  // nothing ran from the verified pause until now, as far as seen
  std::string why;    // it did not hold
};

struct CommandSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string cwd;
  std::string input;
  Nanos deadline = seconds(60);  // then SIGKILL
};

struct CommandOutput {
  ProcessEnd end;
  bool timed_out = false;
  std::string out, err;
  bool cut = false;  // there was more than a megabyte of one of them
};

// Why a command did not do what it is for, with its last words; empty where it exited 0.
std::string complaint(const std::string& program, const CommandOutput& ran);

struct DaemonState {
  std::string name;
  int pid = 0;
  bool running = false;
  bool paused = false;
  int processes = 0, threads = 0, stopped_threads = 0;
  Nanos cpu{};
  int64_t resident_bytes = 0;
};

// What became of the packets of a slow link.
struct HeldPackets {
  uint64_t packets = 0;     // let go when their time had come
  uint64_t duplicates = 0;  // that came twice
  uint64_t overtaken = 0;   // that came after a later one
};

// What is sent to see what becomes of it: datagrams, or attempts to connect.
struct LinkProbe {
  bool tcp = false;
  int count = 1;
  int bytes = 5;  // in each datagram
};

struct NodeObservation {
  std::vector<DaemonState> daemons;
  std::map<std::string, uint64_t> dropped;  // packets since the cut, by source address
};

struct FileEntry {
  std::string path;  // relative to the folder asked for
  bool is_file = false;
  int64_t bytes = 0;
};

struct FileContent {
  std::string bytes;
  bool cut = false;  // the file is longer than what was asked for
};

struct TailedLine {
  Nanos at{};        // on the driver's clock, when the line arrived
  uint64_t seq = 0;  // 1, 2, 3 … in each tail: a gap would be a lost line
  std::string text;
  bool cut = false;  // the line was longer than 16 kB
};

// What happens on a node without having been asked for. Called on the Loop.
struct NodeEvents {
  // asked: by kill() or stop(). Comes after the log lines that were written before it.
  std::function<void(const std::string& daemon, int pid, ProcessEnd end, bool asked)> on_exit =
      [](const std::string&, int, ProcessEnd, bool) {};
  // The rule that cuts this peer off dropped a packet for the first time since cut().
  std::function<void(const std::string& from, uint64_t packets)> on_bite = [](const std::string&,
                                                                              uint64_t) {};
  // A delay did not hold: packets pass at once.
  std::function<void(const std::string& why)> on_undelayed = [](const std::string&) {};
  // A fault of the node did not hold.
  std::function<void(const std::string& kind, const std::string& why)> on_fault_lost =
      [](const std::string&, const std::string&) {};
  // A pause was lifted by others; the same is in the ResumeReport.
  std::function<void(const std::string& daemon, const std::string& why)> on_unpaused =
      [](const std::string&, const std::string&) {};
  // The agent died, healed by itself, does not answer for four seconds, or talks nonsense: the
  // node is of no more use, and what was on it is gone. At most once, never after close(). The
  // message goes on where "the agent of n1" ends: "killed by signal 9 (Killed)".
  std::function<void(const Error& why)> on_lost = [](const Error&) {};
};

class Node {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  // Without close(), abandons the agent: it heals and stops everything by itself. Every `done`
  // that is still due is posted to the Loop, with an error.
  virtual ~Node() = default;

  virtual const std::string& name() const = 0;     // "n1"
  virtual const std::string& address() const = 0;  // where its daemons can be reached
  virtual const NodePowers& powers() const = 0;
  virtual int agent_pid() const = 0;  // in the driver's process table, or the host's

  // Replaces the earlier ones. Set them in the callback that brings the node, to miss nothing.
  virtual void set_events(NodeEvents events) = 0;

  virtual void start(const DaemonSpec& spec, Done<int> done) = 0;  // its pid, once executed
  // SIGKILL to the whole process group; done when all of it is gone. Idempotent.
  virtual void kill(const std::string& daemon, Done<KillReport> done) = 0;
  // SIGTERM, and after `grace` SIGKILL.
  virtual void stop(const std::string& daemon, Nanos grace, Done<KillReport> done) = 0;
  // SIGSTOP to the whole process group; done when every thread was seen stopped.
  virtual void pause(const std::string& daemon, Done<PauseReport> done) = 0;
  virtual void resume(const std::string& daemon, Done<ResumeReport> done) = 0;

  // From now on exactly the packets from these addresses are dropped here; those to them leave as
  // before. Done when the rules were seen in place, not yet that they bite: see cut_links.
  virtual void cut(const std::vector<std::string>& from, Done<void> done) = 0;
  // Nothing is dropped any more. The packets dropped since the cut, by source address.
  virtual void heal(Done<std::map<std::string, uint64_t>> done) = 0;
  // Peers whose packets were seen to be dropped since the last cut(), as on_bite reported them.
  virtual const std::map<std::string, uint64_t>& bitten() const = 0;
  // From now on exactly the packets from these addresses come late; those to them leave as before.
  // What is still held of earlier ones is let go; the same once more changes nothing. Done when the
  // rules were seen in place: see delay_links.
  virtual void delay(const std::map<std::string, LinkDelay>& from, Done<void> done) = 0;
  // Nothing is late any more. What became of the packets since, by source address.
  virtual void undelay(Done<std::map<std::string, HeldPackets>> done) = 0;
  // Peers of which a packet was held and let go since the last change, and how long it was held.
  virtual const std::map<std::string, Nanos>& held() const = 0;
  // Once, before the daemon's first start, for a fault that will perhaps begin: what to add to the
  // daemon's environment.
  virtual void prepare_fault(const NodeFault& fault,
                             Done<std::map<std::string, std::string>> done) = 0;
  // Done when it was seen whether it bites. The same once more keeps it in force.
  virtual void begin_fault(const NodeFault& fault, const std::string& daemon,
                           Done<FaultReport> done) = 0;
  virtual void end_fault(const std::string& kind, Done<FaultReport> done) = 0;
  virtual void look_at_fault(const std::string& kind, Done<FaultReport> done) = 0;
  // From now on exactly the links from these addresses have this fault; other kinds stay as they
  // are. Done when it was seen in place: see break_links.
  virtual void break_links(const LinkFault& fault, const std::vector<std::string>& from,
                           Done<void> done) = 0;
  // No link has it any more. What it did since, by source address: packets lost or answered,
  // connections destroyed.
  virtual void mend_links(const std::string& kind, Done<std::map<std::string, uint64_t>> done) = 0;
  // Peers of which it has struck something since it began there, and how much.
  virtual const std::map<std::string, uint64_t>& struck(const std::string& kind) const = 0;
  // Sends so much to each address.
  virtual void probe(const std::vector<std::string>& to, const LinkProbe& what,
                     Done<void> done) = 0;

  virtual void observe(Done<NodeObservation> done) = 0;
  virtual void run(const CommandSpec& command, Done<CommandOutput> done) = 0;

  // A command that undoes something. From now on the agent runs it when it ends, also when the
  // driver is gone, before it stops the daemons, unless the name is forgotten (and unless it is
  // killed itself: then its daemons go with it). Replaces the one of that name.
  virtual void remedy(const std::string& name, const CommandSpec& command, Done<void> done) = 0;
  virtual void forget(const std::string& name, Done<void> done) = 0;
  // Ends the commands under way and runs all remedies now, within two seconds, and forgets those
  // that succeeded. An error names those that did not.
  virtual void undo(Done<void> done) = 0;

  // The first max_bytes of a file.
  virtual void fetch(const std::string& path, int64_t max_bytes, Done<FileContent> done) = 0;
  // All that lies in a folder, at any depth; at most 10,000 entries.
  virtual void list(const std::string& path, Done<std::vector<FileEntry>> done) = 0;
  // Inside the node's data folder only; removal is deep.
  virtual void make_folder(const std::string& path, Done<void> done) = 0;
  virtual void remove_folder(const std::string& path, Done<void> done) = 0;
  // How long writing and syncing a small file in that folder takes.
  virtual void measure_fsync(const std::string& folder, Done<Nanos> done) = 0;

  // Each line of the file from its start on, as it is written; it may appear later. One tail
  // per path.
  virtual void tail(const std::string& path, std::function<void(const TailedLine&)> on_line) = 0;

  // Heals, kills what runs, and ends the agent; done when it has ended. Last log lines come
  // before. The agent's failure to do so within ten seconds is an error, and it is killed then.
  virtual void close(Done<void> done) = 0;
};

}  // namespace assay
