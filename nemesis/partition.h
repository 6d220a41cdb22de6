// Which links a partition cuts: pure, so that tests see every shape for every size.
#pragma once

#include <string_view>
#include <vector>

#include "checkers/history/rng.h"
#include "targets/cluster.h"

namespace assay {

// Directed cuts of `shape` among n nodes; `leader` is -1 when none is known.
//   one               one node alone
//   leader            the leader alone (one at random while none is known)
//   halves            two groups, as equal as can be
//   majorities-ring   every node sees a majority, no two the same one (a bridge below 4 nodes)
//   bridge            two groups that see each other only through one node
//   one-way           one node hears nobody, or is heard by nobody
std::vector<Cut> partition_cuts(std::string_view shape, int n, int leader, Rng& rng);

}  // namespace assay
