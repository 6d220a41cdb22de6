// Cluster: what a nemesis holds. Over real nodes (NodeCluster) and, later, over the simulator.
//
// Every power is asynchronous on the Loop, verified, and says what it observed. Every power is
// idempotent: killing a dead node, healing a whole network and so on succeed and say so.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "targets/link_delay.h"
#include "targets/link_fault.h"
#include "targets/target.h"

namespace assay {

// What was seen of a fault or of its healing.
struct Effect {
  bool installed = false;  // the rule is present; the signal was taken
  bool bit = false;        // counters rose; the state was T; the exit was seen and the port refuses
  std::string evidence;    // for people: "n1: 12 packets from n3 dropped"
};

// A directed cut: packets from `from` to `to` are lost at `to`.
struct Cut {
  int from = 0;  // node indexes
  int to = 0;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// Packets from `from` to `to` come late at `to`.
struct SlowLink {
  int from = 0;
  int to = 0;
  LinkDelay how;
  friend bool operator==(const SlowLink&, const SlowLink&) = default;
};

class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual const std::vector<NodeInfo>& nodes() const = 0;
  virtual Powers powers() const = 0;
  // The node that most recently reported itself leader of the highest term, by the observer's
  // samples; -1 when none does.
  virtual int leader() const = 0;
  // Its process was started and neither killed nor stopped since, and has not ended by itself.
  virtual bool runs(int node) const = 0;

  virtual void kill(int node, Callback<Effect> done) = 0;   // SIGKILL, whole process group
  virtual void start(int node, Callback<Effect> done) = 0;  // done when it answers
  virtual void pause(int node, Callback<Effect> done) = 0;
  virtual void resume(int node, Callback<Effect> done) = 0;  // bit: it was paused, and until now
  virtual void cut(const std::vector<Cut>& cuts, Callback<Effect> done) = 0;  // replaces earlier
  virtual void heal_cuts(Callback<Effect> done) = 0;                          // of all nodes
  // bit: the queue of every link held a packet for at least the delay.
  virtual void delay(const std::vector<SlowLink>& links, Callback<Effect> done) = 0;  // replaces
  virtual void heal_delays(Callback<Effect> done) = 0;  // of all nodes
  // A fault of a node, by its kind. Of a node that does not run: not installed. Begun, done when it
  // was seen whether it bites; ended, bit says that it was in force until then, and a daemon that
  // it ended answers again.
  virtual void begin_fault(const NodeFault& fault, int node, Callback<Effect> done) = 0;
  virtual void end_fault(const std::string& kind, int node, Callback<Effect> done) = 0;
  // The next node that becomes leader, by the observer's samples; -1: none did within `patience`.
  virtual void await_election(Nanos patience, Callback<int> done) = 0;
  // Another fault of links: replaces the earlier one of its kind. bit: it struck on every link (of
  // "disconnect": on one of them).
  virtual void break_links(const LinkFault& fault, const std::vector<Cut>& links,
                           Callback<Effect> done) = 0;
  virtual void mend_links(const std::string& kind, Callback<Effect> done) = 0;  // of all nodes
  // A fault of the store's own, by its kind (Target::faults). Of a node that does not run: not
  // installed. Ended, bit says that it was in force until then.
  virtual void begin_own(const std::string& kind, int node, Callback<Effect> done) = 0;
  virtual void end_own(const std::string& kind, int node, Callback<Effect> done) = 0;
};

}  // namespace assay
