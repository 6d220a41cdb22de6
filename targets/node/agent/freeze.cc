// All processes of a daemon are frozen by the kernel: unlike SIGSTOP no signal of others wakes
// them, and no parent hears of it.
#include <unistd.h>

#include <numeric>
#include <utility>

#include "targets/node/agent/group_fault.h"

namespace assay::agent {
namespace {

constexpr Nanos kFreezePatience = seconds(4);
constexpr Nanos kFreezeLook = milliseconds(100);

class Freeze : public GroupFault {
 public:
  explicit Freeze(const FaultContext& context) : GroupFault(context, "freeze", "freezer") {}

 protected:
  Result<void> install(const Settings&) override {
    wanted_ = true;
    broken_.clear();
    return {};
  }

  // The state is written when the processes are in the group.
  bool bites() override {
    if (std::exchange(wanted_, false)) {
      if (!freeze(true)) return false;
      ++freezes_;
    }
    if (!frozen()) return false;
    if (cpu_ms_ < 0) {
      cpu_ms_ = used_cpu_ms();
      return false;  // a second look will tell that nothing runs
    }
    if (used_cpu_ms() != cpu_ms_) {
      cpu_ms_ = used_cpu_ms();
      return false;
    }
    count_ = processes().size();
    if (!watching_) watch(freezes_);
    return true;
  }
  std::string evidence() override {
    if (!broken_.empty()) return broken_;
    return std::to_string(count_) + " processes frozen (control groups, version " +
           (group().is_v2() ? "2" : "1") + ")";
  }
  Nanos patience() const override { return kFreezePatience; }

  bool held() override {
    look();
    return broken_.empty() && cpu_ms_ >= 0;
  }

  Result<void> lift() override {
    wanted_ = watching_ = false;
    cpu_ms_ = -1;
    if (const auto thawed = freeze(false); !thawed) return thawed;
    for (int looks = 0; looks < 1'000 && (frozen() || !running()); ++looks) usleep(1'000);
    return frozen() ? Result<void>(environment_error("the group was not seen to thaw"))
                    : Result<void>();
  }

 private:
  Result<void> freeze(bool on) const {
    return group().is_v2() ? group().write("cgroup.freeze", on ? "1" : "0")
                           : group().write("freezer.state", on ? "FROZEN" : "THAWED");
  }
  bool frozen() const {
    return group().is_v2() ? group().number("cgroup.events", "frozen") == 1
                           : group().read("freezer.state") == "FROZEN";
  }
  bool running() const { return group().is_v2() || group().read("freezer.state") == "THAWED"; }

  int64_t used_cpu_ms() const {
    const auto all = processes();
    return std::accumulate(all.begin(), all.end(), int64_t{0}, [](int64_t sum, pid_t process) {
      return sum + usage_of(process).cpu_ms;
    });
  }

  void look() {
    if (!broken_.empty() || cpu_ms_ < 0 || processes().size() != count_) return;  // killed: no harm
    if (!frozen())
      broken_ = "it was thawed by others";
    else if (used_cpu_ms() != cpu_ms_)
      broken_ = "a process ran while it was frozen";
  }

  void watch(int freeze) {
    watching_ = true;
    loop().after(kFreezeLook, [this, freeze] {
      if (!watching_ || freeze != freezes_) return;
      look();
      if (broken_.empty()) watch(freeze);
    });
  }

  bool wanted_ = false, watching_ = false;
  int freezes_ = 0;
  int64_t cpu_ms_ = -1;  // used before it was frozen; -1: it was not seen frozen
  size_t count_ = 0;
  std::string broken_;
};

}  // namespace

std::unique_ptr<NodeFault> make_freeze(const FaultContext& context) {
  return std::make_unique<Freeze>(context);
}

}  // namespace assay::agent
