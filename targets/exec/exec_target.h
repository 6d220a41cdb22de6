// The target that a description makes of a store.
#pragma once

#include <string>

#include "targets/exec/description.h"
#include "targets/target.h"

namespace assay::exec {

// Its options are the description's, its name too: `--set NAME.option=value`. Making the target
// fails where the client program is not there to be executed.
TargetInfo exec_target(Description description);

}  // namespace assay::exec
