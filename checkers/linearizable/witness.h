// Witness: the few operations that show why a key cannot be explained.
//
// Found by weakening, never by deleting: observers are dropped, an acknowledged write or cas
// becomes one that may or may not have happened, and what lies before some moment is replaced by
// "whatever the state was". Each of these admits every order that the history admits, so that what
// is still impossible was impossible before. Deleting a write would not: it invents stale reads.
#pragma once

#include <cstdint>
#include <vector>

#include "checkers/linearizable/search.h"

namespace assay::linearizable {

struct Core {
  std::vector<uint32_t> ops;  // positions in KeyHistory::ops that cannot be weakened, by invocation
  // Nothing before this event of the problem is needed; 0: it rests on the initial value.
  uint32_t start = 0;
  uint32_t last = 0;    // the event that makes it impossible; later ones are not needed
  bool minimal = true;  // false: the budget ended first
};

struct ShrinkLimits {
  uint64_t work_max = 30'000'000;      // as SearchOptions::work_max, in all
  uint64_t work_max_once = 5'000'000;  // for one attempt
  std::function<bool()> exhausted;
};

// `event` is that of a SearchResult which proved the problem invalid.
Core shrink(const Problem& problem, uint32_t event, const ShrinkLimits& limits = {});

// Whether the events up to and including `last` are impossible; unknown where the budget ended.
// Looks near the last event first.
Outcome impossible_until(const Problem& problem, uint32_t last, const ShrinkLimits& limits = {});

}  // namespace assay::linearizable
