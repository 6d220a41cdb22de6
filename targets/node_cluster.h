// NodeCluster: a target's daemons on real nodes, local or remote, each driven through its agent.
//
// On the Loop's thread. Nothing that it installed or started outlives close(), nor its agents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "targets/cluster.h"

namespace assay {

struct NodeClusterOptions {
  // What happens on the nodes. Those without a default are set; they are called on the Loop.
  struct Hooks {
    std::function<void(int node)> started;
    std::function<void(int node, int code, int signal, bool expected)> exited;
    std::function<void(int node, std::string_view line)> logged;
    std::function<void(int node, const std::string& text)> diagnosed;  // Target::diagnosis
    std::function<int()> leader;                                       // Cluster::leader
    std::function<int64_t()> term = [] { return -1; };                 // that leader's; -1: unknown
    std::function<void(int node, Nanos offset)> clocked = [](int, Nanos) {};  // ahead by so much
    std::function<void(Error)> lost;  // an agent died, healed by itself; a delay did not hold, …
    // Its daemon has ended, the agent not yet: what is to be kept of the node is fetched now.
    std::function<void(int node, Node& hand, bool hurried, std::function<void()> done)> leaving =
        [](int, Node&, bool, const std::function<void()>& done) { done(); };
  } hooks;
  std::vector<NodeFault> prepared;   // before a daemon's first start: see Node::prepare_fault
  bool links = true;                 // there is a network whose links can be cut and slow
  Nanos ready_within = seconds(10);  // a started daemon must answer by then
};

class NodeCluster : public Cluster {
 public:
  // One node per entry of layout.nodes, in its order; the target must outlive the cluster.
  NodeCluster(Loop& loop, Target& target, const Layout& layout,
              std::vector<std::unique_ptr<Node>> nodes, NodeClusterOptions options);
  ~NodeCluster() override;

  // Starts the daemon on every node, and is done when every one answers its status.
  void set_up(Callback<void> done);
  // Heals, stops every daemon, and ends the agents. Once. Hurried: within a few seconds, because
  // somebody waits for it: no diagnosis, and little grace.
  void close(bool hurried, std::function<void()> done);

  const std::vector<NodeInfo>& nodes() const override;
  Powers powers() const override;
  int leader() const override;
  bool runs(int node) const override;
  void kill(int node, Callback<Effect> done) override;
  void start(int node, Callback<Effect> done) override;
  void pause(int node, Callback<Effect> done) override;
  void resume(int node, Callback<Effect> done) override;
  void cut(const std::vector<Cut>& cuts, Callback<Effect> done) override;
  void heal_cuts(Callback<Effect> done) override;
  void delay(const std::vector<SlowLink>& links, Callback<Effect> done) override;
  void heal_delays(Callback<Effect> done) override;
  void begin_fault(const NodeFault& fault, int node, Callback<Effect> done) override;
  void end_fault(const std::string& kind, int node, Callback<Effect> done) override;
  void await_election(Nanos patience, Callback<int> done) override;
  void break_links(const LinkFault& fault, const std::vector<Cut>& links,
                   Callback<Effect> done) override;
  void mend_links(const std::string& kind, Callback<Effect> done) override;
  void begin_own(const std::string& kind, int node, Callback<Effect> done) override;
  void end_own(const std::string& kind, int node, Callback<Effect> done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace assay
