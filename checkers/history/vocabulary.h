// Vocabulary: the words that the nemesis, the observer and the header use in a history, and their
// typed readers. Writers (nemesis, observer, plan) and readers (checkers, reports) meet only here.
//
// Nemesis. A fault kind K ("partition", "pause", "kill", "delay") has two operations: `start-K` and
// `stop-K`, each an invocation and a completion under process "nemesis", both of type info, paired
// by f. A start that found nothing to do, and a stop with nothing in force, complete as well.
//   invocation value   {"shape": "halves"}                        what was asked
//                      {"node"} or {"victims": [node …]}          of a stop: heals these alone;
//                                                                 without it all of the kind
//   completion value   {"shape", "victims": [node …], "cut": [[from, to] …] (directed),
//                       "delayed": [[from, to] …] (directed), "faulty": [[from, to] …] (directed),
//                       "installed": bool, "bit": bool, "healed": bool (of a stop),
//                       "evidence": "text for people", "error": "why not"}
// The certain interval of a fault: from the completion of its start to the invocation of its stop.
//
// Observer lines (process "observer", type info), value:
//   status  {"node","role","term","leader","commit","applied","chain","at"}; an unreachable node
//           gives {"node","role":"down","why":"refused|timeout|…"}
//   chain   {"node","from","hashes":["…", …]}  at the end: hash after index from, from+1, …
//   exit    {"node","code","signal","expected": bool}   expected: the nemesis or the end did it
//   start   {"node"}                                    the node's process was started
//   log     {"node","line","finding"}   finding: "" or a word such as "panic", "corruption"
//   host    {"stall","steal","fsync"}   ns: longest gap of the driver's own scheduling since the
//           last such line (it ended at this line's time), CPU stolen, one fsync of the run folder
//   phase   {"phase": "load|heal|recovery|final|end", "why"}      from here on; why: of an end that
//                                                                 came early
//   proof   {"checker","key","index","at"}  --fail-fast: the lines up to this index, of this time, are
//                                           proven invalid, and the load ends here
// Client invocations after the heal carry extra {"phase":"recovery"} or {"phase":"final"}.
//
// Client operations on many keys:
//   list  key = a prefix; ok value [[key, value, revision] ...]: the live keys, read at one instant
//   txn   value [["w", key, value] ...] (null: delete), all or none; extra "guards" [[key, token] ...]
//         (token 0: absent) that must all hold. ok: `revision` = `at` = revision of the change; where
//         each key has a token of its own, extra "revisions" [[key, token] ...] instead
// Further extra fields of client operations:
//   intent   a name, unique in the run: all operations of one read-decide-write loop carry it
//   sets     of an object write: the field that its author means to change
//   fence    of a write to a protected object: the fence number of the lock that is held
//   stale    true, of a read: need not be of the latest state
//   gives_up true, of the operation after which its intent is abandoned, should it be refused
//   session  who reads, where that is not the process
//
// Header members beside those of HistoryHeader:
//   token_kind  what the tokens are, in the target's word: "revision", "key-version"
//   claims      {"read":"linearizable|sequential|stale","guarded-write":true,"durable":"sync", …}
//   thresholds  K17's counters by name -> number, where the spec sets its own
//   own_faults  kinds that are the store's own: seen by commands of the store, and what they do to
//               operations is the store's matter
//   timing      {"election_timeout_min","op_timeout","lead_in","load","recovery"}  ns
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/history.h"

namespace assay {

namespace f {
inline const Symbol chain{"chain"}, start{"start"}, phase{"phase"}, proof{"proof"};
inline const Symbol list{"list"}, compact{"compact"};
}  // namespace f

// "partition" for start-partition; empty when f is not of that form.
std::string_view started_fault(Symbol f);
std::string_view stopped_fault(Symbol f);
Symbol start_of(std::string_view kind);
Symbol stop_of(std::string_view kind);

// One fault as it was in force, read from the pairs of starts and stops.
struct FaultInterval {
  std::string kind;
  std::string shape;
  std::vector<Symbol> victims;
  std::vector<std::pair<Symbol, Symbol>> cut;  // directed: packets from first to second are lost
  std::vector<std::pair<Symbol, Symbol>> delayed;  // directed: packets come late
  std::vector<std::pair<Symbol, Symbol>> faulty;   // directed: some are lost, connections break
  bool of_links() const { return !cut.empty() || !delayed.empty() || !faulty.empty(); }
  bool installed = false;
  bool bit = false;
  bool healed = false;
  bool completed = false;  // the start has a completion; without it nobody knows what is cut
  std::string evidence;
  Nanos asked;               // invocation of the start
  Nanos begin = kNever;      // certain: completion of the start
  Nanos end = kNever;        // certain: invocation of the stop; kNever when never healed
  Nanos healed_at = kNever;  // completion of the stop: of the last, where victims had their own
  // Victims that were healed before the others: the completion of their stop.
  std::vector<std::pair<Symbol, Nanos>> back;
  // From when on it no longer holds this victim; healed_at unless it was back earlier.
  Nanos healed_at_of(Symbol victim) const;
};
std::vector<FaultInterval> fault_intervals(const History& history);

// The same, and the nodes that ended without being asked to, as kind "exit": from the exit until
// the node answers the observer again.
std::vector<FaultInterval> outages(const History& history);

// A status line; -1 and empty where the node did not say.
struct StatusSample {
  Symbol node;
  std::string_view role;  // "leader", "follower", "candidate", "down", …
  int64_t term = -1;
  Symbol leader;
  int64_t commit = -1;
  int64_t applied = -1;
  Symbol chain;
  int64_t at = -1;
  Nanos time;
  bool reachable() const { return role != "down"; }
};
std::optional<StatusSample> status_sample(const Observation& observation);
std::vector<StatusSample> status_samples(const History& history);

struct ChainLine {
  Symbol node;
  int64_t from = 0;  // index of the first hash
  std::vector<Symbol> hashes;
  Nanos time;
};
std::vector<ChainLine> chain_lines(const History& history);

struct NodeExit {
  Symbol node;
  int64_t code = -1;   // -1: none, a signal ended it
  int64_t signal = 0;  // 0: none
  bool expected = false;
  Nanos time;
};
std::vector<NodeExit> node_exits(const History& history);

struct LogLine {
  Symbol node;
  std::string_view line;
  std::string_view finding;
  Nanos time;
};
std::vector<LogLine> log_lines(const History& history);

struct PhaseChange {
  std::string_view phase;
  Nanos begin;
};
std::vector<PhaseChange> phase_changes(const History& history);
// Of a run that did not go to its end: why, as a sentence. Empty for one that did, and for a
// history that knows no phases.
std::string ended_early(const History& history);
// Whether its load ended at a proven anomaly.
bool failed_fast(const History& history);

// What the header says of time; zero where it does not.
struct Timing {
  Nanos election_timeout_min;
  Nanos op_timeout;
  Nanos lead_in;
  Nanos load;
  Nanos recovery;
};
Timing timing_of(const HistoryHeader& header);

// What the target claims of its reads: "linearizable", also where the header says nothing,
// "sequential" or "stale". What stands in the header comes as it is.
std::string_view read_claim(const HistoryHeader& header);
// Whether a revision means the same on every node: claims.own-revisions says where it does not.
bool shares_revisions(const HistoryHeader& header);

// The counters that a header's `thresholds` may set: K17's, and the bounds of availability
// (gap_ms_max), reconcile (attempts_max) and lock (lock_ms_max).
inline constexpr std::string_view kThresholds[] = {
    "ok_per_f",      "conflicts_percent", "faults_bitten", "ok_under_fault",
    "ok_after_heal", "final_ok",          "gap_ms_max",    "attempts_max",
    "lock_ms_max"};
// One of them: the header's, else the fallback.
int64_t threshold_of(const HistoryHeader& header, std::string_view name, int64_t fallback);

// Whether a kind of fault is the store's own.
bool is_own_fault(const HistoryHeader& header, std::string_view kind);

// The phase of a client operation: "", "recovery" or "final".
std::string_view phase_of(const Operation& operation);

// Time during which the driver itself was stalled (host lines), longest first.
struct HostStall {
  Nanos begin;
  Nanos end;
};
std::vector<HostStall> host_stalls(const History& history, Nanos longer_than);

// Nodes that stand in a clique of mutual, live, unpaused links of more than half of all nodes
// during all of [from, to], in the header's order; empty when there is none. Conservative: a link
// with a delay or another fault may be too slow for a leader, and is taken for none; a fault counts
// from its asking to the completion of its heal (of a killed or paused node: its own heal),
// and one without completion may be anything.
std::vector<Symbol> connected_majority(const HistoryHeader& header,
                                       const std::vector<FaultInterval>& faults, Nanos from,
                                       Nanos to);

// The spans of [0, end] in which such a majority stands, with its members; adjacent ones differ in
// members.
struct MajoritySpan {
  Nanos begin;
  Nanos end;
  std::vector<Symbol> members;
};
std::vector<MajoritySpan> majority_spans(const HistoryHeader& header,
                                         const std::vector<FaultInterval>& faults, Nanos end);

}  // namespace assay
