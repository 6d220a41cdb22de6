// Target "redis": Redis with Sentinel, from the machine's own packages: each node runs a server and
// a Sentinel. It is known to lose acknowledged writes at a failover, and must be convicted of it.
#pragma once

#include "targets/target.h"

namespace assay {

TargetInfo redis_target();

}  // namespace assay
