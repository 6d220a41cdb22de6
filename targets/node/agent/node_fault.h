// NodeFault: one kind of fault of this node (its processes, its clock, its disk), as the agent
// carries it out. A new kind is one file here, a line in node_faults.cc, and a file in nemesis/.
//
// On the agent's thread; what takes long waits through the PollLoop. Every call is idempotent:
// beginning what is in force keeps it so, ending what is not succeeds. At most one of a kind is in
// force on a node. An answer is what was seen, not what was sent; answers come once, perhaps within
// the call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "targets/node/agent/daemons.h"
#include "targets/node/agent/poll_loop.h"

namespace assay::agent {

// What of the agent a fault works with; all of it outlives the fault.
struct FaultContext {
  PollLoop& loop;
  Daemons& daemons;
  std::string run, node;       // the label of everything that it makes
  std::string data_folder;     // of the node; may be empty
  std::set<std::string> skip;  // self-test switches, see kSkipVariable
  // A fault in force is not any more, though nobody ended it.
  std::function<void(const std::string& kind, const std::string& why)> lost;
};

struct FaultSeen {
  bool installed = false;  // begin: it is in force; end: it is not any more
  bool bit = false;        // its effect was seen; of an end: until now
  std::string evidence;    // for people: "31 times throttled"
  int64_t figure = 0;      // of a look, for whom the kind has one: the offset of a clock, in ns
};

class NodeFault {
 public:
  using Settings = std::map<std::string, std::string>;
  using Environment = std::map<std::string, std::string>;
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~NodeFault() = default;
  virtual std::string kind() const = 0;
  // At the agent's start, blocking: removes what an earlier agent of this run and node has left
  // (*leftover: there was something), and says why the fault is not possible here.
  virtual Result<void> probe(bool* leftover) = 0;
  // Before a daemon's first start: what must be there from then on, and what to add to the
  // environment of every start.
  virtual void prepare(const Settings&, Done<Environment> done) { done(Environment{}); }
  virtual void begin(const Settings& settings, const std::string& daemon, Done<FaultSeen> done) = 0;
  virtual void end(Done<FaultSeen> done) = 0;
  // What is to be seen of it now.
  virtual void look(Done<FaultSeen> done) { done(FaultSeen{}); }
  // A daemon was started, perhaps while the fault is in force.
  virtual void started(const std::string& /*daemon*/, pid_t) {}

  // At the agent's end, blocking, whatever the state: first heal() of every fault, while daemons
  // may still run; then remove(), when none does. An error is logged.
  virtual Result<void> heal() = 0;
  virtual Result<void> remove() { return {}; }
};

// One of each kind (node_faults.cc).
std::vector<std::unique_ptr<NodeFault>> make_node_faults(const FaultContext& context);

}  // namespace assay::agent
