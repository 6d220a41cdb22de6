#include "harness/swarm.h"

#include <algorithm>

#include "checkers/history/rng.h"

namespace assay {
namespace {

std::vector<FaultSpec> draw_faults(std::vector<FaultSpec> all, Rng rng) {
  if (all.empty()) return all;
  std::vector<FaultSpec> drawn;
  const size_t spared = rng.below(all.size());  // that one is always there
  for (size_t i = 0; i < all.size(); ++i)
    if (rng.chance(1, 2) || i == spared) drawn.push_back(std::move(all[i]));
  return drawn;
}

}  // namespace

TestSpec draw_swarm(const TestSpec& spec, uint64_t seed, const TargetInfo& target) {
  const Rng rng = Rng(seed).stream("swarm");
  TestSpec drawn = spec;
  drawn.swarm = false;
  const bool chosen = spec.nemesis.has_value();
  drawn.nemesis = draw_faults(
      chosen ? *spec.nemesis
             : std::vector<FaultSpec>{{"partition", {}}, {"pause", {}}, {"kill", {}}, {"delay", {}}},
      rng.stream("faults"));
  Rng times = rng.stream("times");
  const Nanos length = std::min(milliseconds(times.between(2000, 6000)), spec.time_limit / 4);
  if (!spec.fault_duration) drawn.fault_duration = length;
  // From faults that overlap with the next of their kind's rest to long quiet between them.
  const int64_t quarters = times.between(5, 12);
  if (!spec.nemesis_interval) drawn.nemesis_interval = *drawn.fault_duration * quarters / 4;
  for (const TargetOption& option : target.options) {
    const std::string path = target.name + "." + option.name;
    if (option.swarm.empty() || spec.set.contains(path)) continue;
    drawn.set[path] = option.swarm[rng.stream(option.name).below(option.swarm.size())];
  }
  return drawn;
}

}  // namespace assay
