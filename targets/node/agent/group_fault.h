// GroupFault: what the faults by control group have in common: the daemon's processes are moved into
// the node's group, which is removed at the agent's end, when no daemon runs any more.
#pragma once

#include <optional>
#include <string>

#include "targets/node/agent/control_group.h"
#include "targets/node/agent/node_fault.h"

namespace assay::agent {

class GroupFault : public NodeFault {
 public:
  GroupFault(const FaultContext& context, std::string kind, std::string controller)
      : context_(context), kind_(std::move(kind)), controller_(std::move(controller)) {}

  std::string kind() const override { return kind_; }
  Result<void> probe(bool* leftover) override;
  void begin(const Settings& settings, const std::string& daemon, Done<FaultSeen> done) override;
  void end(Done<FaultSeen> done) override;
  void started(const std::string& daemon, pid_t pid) override;
  Result<void> heal() override;
  Result<void> remove() override;

 protected:
  // Puts the limit into force, with nothing in the group yet; an error where it is not.
  virtual Result<void> install(const Settings& settings) = 0;
  // Whether its effect is to be seen, asked again and again, and what is to be said of it.
  virtual bool bites() = 0;
  virtual std::string evidence() = 0;
  // For so long it is asked.
  virtual Nanos patience() const = 0;
  // Lifts the limit; an error where it is still there.
  virtual Result<void> lift() = 0;
  // Of an end: whether the effect lasted until now.
  virtual bool held() { return bites(); }
  // Self-test: says that it is installed, and does nothing.
  bool pretends() const { return context_.skip.contains("no-" + kind_); }

  const ControlGroup& group() const { return *group_; }
  std::vector<pid_t> processes() const { return context_.daemons.tree(daemon_); }
  PollLoop& loop() const { return context_.loop; }
  void lose(const std::string& why) { context_.lost(kind_, why); }
  bool in_force() const { return in_force_; }

 private:
  void await_bite(Done<FaultSeen> done);

  FaultContext context_;
  std::string kind_, controller_, daemon_;
  std::optional<ControlGroup> group_;
  bool in_force_ = false;
};

}  // namespace assay::agent
