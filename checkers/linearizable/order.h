// Order: the linearization behind a valid verdict, and its replay, which trusts nothing of the
// search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkers/linearizable/search.h"

namespace assay::linearizable {

// A legal order of the operations of the problem, as positions in KeyHistory::ops, from what the
// search placed: observers and overwritten writes are filled in where they fit. Aborts where one
// fits nowhere: then the search was wrong.
std::vector<uint32_t> linear_order(const Problem& problem,
                                   const std::vector<Placement>& placements);

// Replays an order on the history as it was recorded. Empty when it is legal, respects real time
// and holds every operation that must be in it; else what is wrong with it.
std::string replay(const KeyHistory& history, const std::vector<uint32_t>& order);

}  // namespace assay::linearizable
