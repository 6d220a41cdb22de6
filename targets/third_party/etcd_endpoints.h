// Target "etcd-endpoints": a cluster that runs already and speaks etcd's API, by its addresses.
#pragma once

#include "targets/target.h"

namespace assay {

TargetInfo etcd_endpoints_target();

}  // namespace assay
