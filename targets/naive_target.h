// The targets "naive-…" that replicate by themselves: assay-naive processes on the nodes of a run
// (targets/naive). Each is an honest design of the texts, works while nothing goes wrong, and is
// there to be convicted. Their claims are what somebody who has built one would claim.
#pragma once

#include "targets/target.h"

namespace assay {

std::vector<TargetInfo> naive_targets();

}  // namespace assay
