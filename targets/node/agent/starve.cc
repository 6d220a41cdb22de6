// A daemon's processes get so much of a processor and no more. Verified by how often the kernel
// had to hold them back.
#include "targets/node/agent/group_fault.h"

namespace assay::agent {
namespace {

constexpr Nanos kThrottlePatience = seconds(4);
constexpr int64_t kPeriodUs = 1'000'000;  // the longest there is: a daemon stands still for most of it

class Starve : public GroupFault {
 public:
  explicit Starve(const FaultContext& context) : GroupFault(context, "starve", "cpu") {}

 protected:
  Result<void> install(const Settings& settings) override {
    const auto given = settings.find("quota_us");
    const std::string quota = given == settings.end() ? "10000" : given->second;
    const std::string period = std::to_string(kPeriodUs);
    before_ = throttled();
    if (group().is_v2()) return group().write("cpu.max", quota + " " + period);
    if (auto set = group().write("cpu.cfs_period_us", period); !set) return set;
    return group().write("cpu.cfs_quota_us", quota);
  }
  bool bites() override { return throttled() > before_; }
  std::string evidence() override {
    return "held back " + std::to_string(throttled() - before_) + " times";
  }
  Nanos patience() const override { return kThrottlePatience; }
  Result<void> lift() override {
    return group().is_v2() ? group().write("cpu.max", "max " + std::to_string(kPeriodUs))
                           : group().write("cpu.cfs_quota_us", "-1");
  }

 private:
  int64_t throttled() const { return group().number("cpu.stat", "nr_throttled").value_or(0); }

  int64_t before_ = 0;
};

}  // namespace

std::unique_ptr<NodeFault> make_starve(const FaultContext& context) {
  return std::make_unique<Starve>(context);
}

}  // namespace assay::agent
