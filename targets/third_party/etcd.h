// Target "etcd": etcd servers on the nodes of a run, from the machine's own package.
#pragma once

#include "targets/target.h"

namespace assay {

TargetInfo etcd_target();

}  // namespace assay
