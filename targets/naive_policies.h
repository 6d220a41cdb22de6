// The targets "naive-…" that have consensus and leave out something else: the bundled store with
// one policy each that is wrong on purpose, or a client that is, or with a workload that is.
#pragma once

#include "targets/target.h"

namespace assay {

std::vector<TargetInfo> naive_policies();

}  // namespace assay
