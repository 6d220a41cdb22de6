#include "targets/node/agent/group_fault.h"

namespace assay::agent {

Result<void> GroupFault::probe(bool* leftover) {
  const auto removed = ControlGroup::remove(context_.run, context_.node);
  if (!removed) return removed.error();
  *leftover |= *removed;
  const auto tried = ControlGroup::open(controller_, context_.run, context_.node);
  if (!tried) return tried.error();
  const auto gone = ControlGroup::remove(context_.run, context_.node);
  return gone ? Result<void>() : gone.error();
}

void GroupFault::begin(const Settings& settings, const std::string& daemon, Done<FaultSeen> done) {
  if (in_force_) return await_bite(std::move(done));
  if (context_.daemons.leader(daemon) == 0)
    return done(FaultSeen{.evidence = "it was not running"});
  daemon_ = daemon;
  const auto opened = ControlGroup::open(controller_, context_.run, context_.node);
  if (!opened) return done(opened.error());
  group_ = *opened;
  in_force_ = true;
  Result<void> ready;
  if (!pretends()) ready = install(settings);
  if (ready) ready = group_->take([this] { return processes(); });
  if (ready) return await_bite(std::move(done));
  if (const auto lifted = lift(); lifted) in_force_ = false;
  done(ready.error());
}

void GroupFault::await_bite(Done<FaultSeen> done) {
  const auto seen = [this] { return !in_force_ || bites(); };
  loop().until(seen, patience(), [this, done = std::move(done)](bool bit) {
    done(FaultSeen{.installed = in_force_, .bit = bit && in_force_, .evidence = evidence()});
  });
}

void GroupFault::end(Done<FaultSeen> done) {
  if (!in_force_) return done(FaultSeen{.installed = true});
  FaultSeen seen{.bit = held(), .evidence = evidence()};
  in_force_ = false;
  const auto lifted = pretends() ? Result<void>() : lift();
  if (!lifted) {
    in_force_ = true;
    return done(lifted.error());
  }
  seen.installed = true;
  done(seen);
}

// A daemon that comes back while the fault is in force comes back under it.
void GroupFault::started(const std::string& daemon, pid_t pid) {
  if (!in_force_ || daemon != daemon_) return;
  const auto taken = group_->take([pid] { return std::vector<pid_t>{pid}; });
  if (!taken) lose(taken.error().message);
}

Result<void> GroupFault::heal() {
  if (!in_force_) return {};
  in_force_ = false;
  return lift();
}

Result<void> GroupFault::remove() {
  if (!group_) return {};
  const auto removed = ControlGroup::remove(context_.run, context_.node);
  return removed ? Result<void>() : removed.error();
}

}  // namespace assay::agent
