// Story: what an anomaly is called, and how it happened, in words with times, nodes, roles and
// values.
#pragma once

#include <string>
#include <vector>

#include "checkers/checker.h"
#include "checkers/history/vocabulary.h"
#include "checkers/linearizable/key_history.h"
#include "checkers/linearizable/witness.h"

namespace assay::linearizable {

// What of the run is told beside the operations.
struct Surroundings {
  explicit Surroundings(const History& history)
      : faults(fault_intervals(history)),
        samples(status_samples(history)),
        timed(history.end_time().count > static_cast<int64_t>(history.events())) {}
  std::vector<FaultInterval> faults;
  std::vector<StatusSample> samples;
  bool timed;  // the times are times, not ordinals of lines
};

struct Story {
  std::string anomaly;  // "stale read", "lost write", …
  Witness witness;
};

// `problem` and `core` are of this key.
Story tell(const History& history, const KeyHistory& key, const Problem& problem, const Core& core,
           const Surroundings& surroundings);

std::string exact_point(Nanos t);  // "13.902 s"

// "rests on operation 12 being a definite failure (error: timeout): …"
std::string rests_on_failure(const Operation& operation);
// The same of a failed cas, where it would do that it had compared nothing.
std::string rests_on_comparison(const Operation& operation);

}  // namespace assay::linearizable
