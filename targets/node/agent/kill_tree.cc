// SIGKILL of a daemon and of all that descends from it, also in sessions of its own: what carries
// the daemon's mark in its environment, and the children of that.
#include <signal.h>

#include <algorithm>
#include <set>

#include "targets/node/agent/node_fault.h"

namespace assay::agent {
namespace {

constexpr Nanos kTreePatience = seconds(4);

class KillTree : public NodeFault {
 public:
  explicit KillTree(FaultContext context) : context_(std::move(context)) {}

  std::string kind() const override { return "kill-tree"; }
  Result<void> probe(bool*) override {
    if (has_proc_fs()) return {};
    return environment_error("/proc is not mounted: a daemon's descendants cannot be seen");
  }

  void begin(const Settings&, const std::string& daemon, Done<FaultSeen> done) override {
    const auto killed = std::make_shared<std::set<pid_t>>();
    const pid_t leader = context_.daemons.expect_end(daemon);
    const auto none_left = [this, daemon, killed] {
      const auto tree = context_.daemons.tree(daemon);
      for (pid_t process : tree) {
        killed->insert(process);
        if (!context_.skip.contains("signal")) ::kill(process, SIGKILL);
      }
      return tree.empty() && context_.daemons.leader(daemon) == 0;
    };
    context_.loop.until(none_left, kTreePatience, [leader, killed, done](bool all) {
      FaultSeen seen{.installed = all, .bit = all && leader != 0};
      seen.evidence = std::to_string(killed->size()) + " processes " +
                      (all ? "killed, those in sessions of their own included" : "do not die");
      if (leader == 0) seen.evidence = "it was not running";
      done(seen);
    });
  }

  void end(Done<FaultSeen> done) override { done(FaultSeen{.installed = true}); }
  Result<void> heal() override { return {}; }

 private:
  FaultContext context_;
};

}  // namespace

std::unique_ptr<NodeFault> make_kill_tree(const FaultContext& context) {
  return std::make_unique<KillTree>(context);
}

}  // namespace assay::agent
