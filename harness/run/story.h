// The story of a run as one generator over all its workers:
//
//   load, with every fault on a lane of its own  ->  every fault healed  ->  load again until every
//   node has served  ->  final reads on every node
//
// Each part begins when the one before has completed whole.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "harness/plan.h"

namespace assay {

struct StoryParts {
  WorkloadRun& workload;
  std::vector<NemesisRun*> faults;  // in the order of plan.faults; each has a lane, the first of
                                    // them behind the clients and the workload's own lanes
  std::function<void(std::string_view phase)> on_phase;
  std::function<bool()> load_is_over = [] { return false; };  // before its time
};

// The parts must outlive the generator.
Gen run_story(const Plan& plan, const StoryParts& parts);

}  // namespace assay
