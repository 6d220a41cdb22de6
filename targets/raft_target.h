// Target "raft": the bundled store, as assay-raft processes on the nodes of a run.
#pragma once

#include "targets/target.h"

namespace assay {

TargetInfo raft_target();

}  // namespace assay
