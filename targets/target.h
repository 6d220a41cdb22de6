// Target: a system under test: how to run it on nodes, and how to talk to it. It knows no workload,
// no checker, no history: clients take an Op and give back the completed Op.
//
// Everything happens on one Loop; `done` callbacks run on it exactly once, never inside the call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/op.h"
#include "targets/loop.h"
#include "targets/node/node.h"

namespace assay {

template <typename T>
using Callback = std::function<void(Result<T>)>;

// One node of a run, as targets and clients see it.
struct NodeInfo {
  int index = 0;        // from 0
  std::string name;     // "n1"
  std::string address;  // numeric; where its peers and clients reach it
  int client_port = 0;
  int peer_port = 0;
  std::string folder;   // its own folder on the node: data and logs
  std::string bin_dir;  // programs of ours on the node; empty: where Layout says
};

// What a store promises. What is not claimed is reported as not claimed.
struct Claims {
  std::string read = "linearizable";  // linearizable, sequential, stale
  bool guarded_write = true;          // compares a token of its own
  bool orderable = true;              // tokens may be ordered
  std::string token_kind;             // what they are, in a word; empty: not said
  bool watch = false;                 // changes can be followed, and a watch resumed at a revision
  bool compacts = false;              // forgets old changes without being asked to
  std::string durable = "sync";       // sync: survives power loss; process: survives SIGKILL; none
  Nanos election_timeout_min{};       // 0: no elections
  // How its daemons' clocks can be skewed: "hook" (they read ASSAY_CLOCK_FILE, skewed_clock.h),
  // "libfaketime" (preloaded), or not, and why: "no: Go reads the clock past libfaketime".
  std::string clock = "no: it is not known to heed libfaketime";
};

// What a nemesis may do to it where it runs.
struct Powers {
  bool kill = false;
  bool pause = false;
  bool cut = false;
  bool run = false;  // commands, on its nodes
  bool delay = false;
  std::set<std::string> links = {};  // link faults, by their kind (link_fault.h)
  bool faults = false;               // of nodes, of every kind (Node::begin_fault) but
  std::map<std::string, std::string> absent = {};  // these -> why

  bool fault(const std::string& kind) const { return faults && !absent.contains(kind); }
};

// A fault of the store's own, by the name that --nemesis takes.
struct OwnFault {
  std::string kind;
  std::string summary;
  bool lasts = true;  // until it is ended; false: it is over once it has begun
};

// How a node begins it, ends it (absent where it does not last), and tells that it is in force, or
// has been where it does not last: the command exits 0 where it is, 1 where it is not, with any
// other code where it cannot tell. Ending what is not in force must succeed too. A daemon that ends
// by itself meanwhile has not failed: it is started again when the fault has ended.
struct FaultCommands {
  CommandSpec begin;
  std::optional<CommandSpec> end;
  CommandSpec verify;
};

// An option, set by `--set target.name=value`.
struct TargetOption {
  std::string name;
  std::string fallback;  // its default
  std::string summary;
  bool canary = false;  // makes the target wrong on purpose
  std::vector<std::string> swarm =
      {};  // values of which --swarm draws one; empty: it is left alone
};

// One client connection of one worker, pinned to one node. invoke() is called again only after
// done; destroying the client abandons what is under way (done may then never run).
//
// The completion is data, never an exception: ok, fail (certainly never happened and never will)
// or info (unknown). Error classes: "refused" (never sent), "conflict" (a guard did not match; the
// token now is in `current`), "mismatch" (a cas compared another value), "not-leader" and
// "unavailable" (refused before it was accepted), "timeout", "reset", "unknown".
class Client {
 public:
  virtual ~Client() = default;
  virtual void invoke(const Op& op, std::function<void(Op)> done) = 0;
  // False: it can serve no further operation; asked before each, and replaced then.
  virtual bool usable() const { return true; }
};

// Where one node reaches another's peer port when not directly: the proxy of that directed link.
struct Route {
  int from = 0;
  int to = 0;
  std::string address;
  int peer_port = 0;
};

// Where a run's nodes are, and what they can do; what targets configure themselves from.
struct Layout {
  std::vector<NodeInfo> nodes;
  std::string bin_dir;        // programs of ours, on this machine
  std::vector<Route> routes;  // links that are not here are direct
};

// The path of a program of ours on a node.
inline std::string program_on(const Layout& layout, const NodeInfo& node,
                              const std::string& program) {
  return (node.bin_dir.empty() ? layout.bin_dir : node.bin_dir) + "/" + program;
}

// Option and value, as `--set target.option=value` says them.
using TargetSettings = std::vector<std::pair<std::string, std::string>>;

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  virtual Claims claims() const = 0;
  virtual std::vector<Symbol> ops() const = 0;  // each f that its clients serve
  // False: nothing is started for it, and there is no power over any node: it lives in this
  // process, or it runs already (running_nodes).
  virtual bool has_daemons() const = 0;
  // Of a target that runs already: where its clients reach it. The run has these nodes.
  virtual std::vector<NodeInfo> running_nodes() const { return {}; }
  // What it drew for settings that were left to the seed.
  virtual TargetSettings drawn() const { return {}; }
  // The program to start on a node; called again for every restart.
  virtual Result<DaemonSpec> daemon(const Layout& layout, const NodeInfo& node) const = 0;
  // Commands that a node runs, in this order, before its daemon's first start; each must exit 0.
  virtual std::vector<CommandSpec> preparations(const Layout&, const NodeInfo&) const { return {}; }
  // Commands that ask its daemon to end, at the end of the run; SIGTERM follows.
  virtual std::vector<CommandSpec> farewells(const Layout&, const NodeInfo&) const { return {}; }
  // Faults of its own, and what a node runs for one of them.
  virtual std::vector<OwnFault> faults() const { return {}; }
  virtual FaultCommands fault_commands(const std::string& /*kind*/, const Layout&,
                                       const NodeInfo&) const {
    return {};
  }
  // A command that says what state its daemon is in, for people; run while it still runs, at the
  // end of the run.
  virtual std::optional<CommandSpec> diagnosis(const Layout&, const NodeInfo&) const { return {}; }
  // Log files besides the daemon's log_path.
  virtual std::vector<std::string> logs(const Layout&, const NodeInfo&) const { return {}; }
  // A started daemon must answer its status by then.
  virtual Nanos ready_within() const { return seconds(10); }
  // An input error where its settings do not fit so many nodes.
  virtual Result<void> fits(int /*nodes*/) const { return {}; }
  // Files whose hashes name the version under test.
  virtual std::vector<std::string> binaries(const Layout& layout) const = 0;

  // Around all of the calls below: where its nodes are, how long an operation may take, and how
  // many clients there will be at a time. After end() it holds nothing of the Loop.
  virtual void begin(const Layout&, Nanos /*op_timeout*/, int /*clients*/) {}
  virtual void end() {}
  // Once the daemons answer, before the load: an error says why no client could ever work.
  virtual void try_clients(Loop& loop, Callback<void> done) {
    loop.post([done = std::move(done)] { done({}); });
  }

  virtual void open_client(Loop& loop, const NodeInfo& node,
                           Callback<std::unique_ptr<Client>> done) = 0;
  // A status sample as vocabulary.h says (without "node"); an Error's message says why there is
  // none. Gives up by itself after a second.
  virtual void status(Loop& loop, const NodeInfo& node, Callback<Value> done) = 0;
  // Hashes over the last `count` applied entries: {"from", "hashes"}; null where it has none.
  virtual void chain(Loop& loop, const NodeInfo& node, int64_t count, Callback<Value> done) = 0;
  // What a line of a node's log means: "" or a finding such as "panic" or "corruption".
  virtual std::string_view log_finding(std::string_view line) const = 0;
};

struct TargetInfo {
  std::string name;
  std::string summary;
  std::vector<TargetOption> options;
  std::string workload;  // the only one that it is run with; empty: any
  // Kinds of token of which each is sound: what its option "token" takes, its default first; empty:
  // it has no such option.
  std::vector<std::string> token_kinds;
  // The settings hold every option, with its default where nothing was set.
  using Settings = TargetSettings;
  std::function<Result<std::unique_ptr<Target>>(const Settings&, uint64_t seed)> make;
};

// The targets, in the order in which they are shown (targets/registry.cc).
const std::vector<TargetInfo>& all_targets();
const TargetInfo* find_target(std::string_view name);  // nullptr when there is none
// By its name, or from a description file (targets/exec/description.h): what contains a slash or
// ends in ".json". A name that is none, and a file that is not as it should be, are input errors.
Result<TargetInfo> load_target(const std::string& name_or_file);

}  // namespace assay
