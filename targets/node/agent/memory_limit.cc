// What a daemon's processes take of memory from now on is limited, files that they write included.
// Verified by how often they ran into the limit; who cannot live within it is killed by the kernel.
#include <stdlib.h>

#include "targets/node/agent/group_fault.h"

namespace assay::agent {
namespace {

constexpr Nanos kLimitPatience = seconds(4);

class MemoryLimit : public GroupFault {
 public:
  explicit MemoryLimit(const FaultContext& context) : GroupFault(context, "memory-limit", "memory") {}

 protected:
  Result<void> install(const Settings& settings) override {
    const auto given = settings.find("limit_bytes");
    const std::string limit = given == settings.end() ? "4194304" : given->second;
    before_ = hits();
    kills_before_ = kills();
    if (!group().is_v2()) return group().write("memory.limit_in_bytes", limit);
    if (const auto no_swap = group().write("memory.swap.max", "0"); !no_swap) {
      // A kernel without swap has no such file.
    }
    return group().write("memory.max", limit);
  }
  bool bites() override { return hits() > before_ || kills() > kills_before_; }
  std::string evidence() override {
    return "ran into the limit " + std::to_string(hits() - before_) + " times, killed " +
           std::to_string(kills() - kills_before_) + " times for it";
  }
  Nanos patience() const override { return kLimitPatience; }
  Result<void> lift() override {
    return group().is_v2() ? group().write("memory.max", "max")
                           : group().write("memory.limit_in_bytes", "-1");
  }

 private:
  int64_t hits() const {
    return group().is_v2() ? group().number("memory.events", "max").value_or(0)
                           : atoll(group().read("memory.failcnt").c_str());
  }
  int64_t kills() const {
    return group()
        .number(group().is_v2() ? "memory.events" : "memory.oom_control", "oom_kill")
        .value_or(0);
  }

  int64_t before_ = 0, kills_before_ = 0;
};

}  // namespace

std::unique_ptr<NodeFault> make_memory_limit(const FaultContext& context) {
  return std::make_unique<MemoryLimit>(context);
}

}  // namespace assay::agent
