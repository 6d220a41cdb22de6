// Witness of the search for any model: the few operations that nothing explains, and what the state
// may have been before them.
//
// Found by weakening, never by deleting, as witness.h does. Where nothing is known of the states,
// "whatever it was" cannot be tried; instead, what comes before is replaced by the states in which
// some order of it may leave things.
#pragma once

#include <optional>
#include <string>

#include "checkers/linearizable/general_search.h"
#include "checkers/linearizable/witness.h"

namespace assay::linearizable {

struct GeneralCore {
  std::vector<uint32_t> ops;  // ids in the history that cannot be weakened, in order of invocation
  // The first event that matters: the operation whose invocation or completion it is; none where it
  // rests on the initial state. And the states that there may be then, in the model's words.
  std::optional<uint32_t> start;
  bool start_returns = false;
  size_t open = 0;  // operations that may have happened since, or may still
  std::vector<std::string> states;
  Position last = 0;    // what makes it impossible; later events are not needed
  bool minimal = true;  // false: the budget ended first
};

// `event` is that of a SearchResult which proved the problem invalid.
GeneralCore shrink(const History& history, const assay::Model& model, const PartGroup& group,
                   uint32_t event, const ShrinkLimits& limits = {});

}  // namespace assay::linearizable
