// Target "memory": a linearizable map in this process, with switches that make it wrong. The
// harness's own self-test: no node, no daemon, no power; with latency 0 also the no-op store
// that the driver's speed is measured against.
#pragma once

#include "targets/target.h"

namespace assay {

TargetInfo memory_target();

}  // namespace assay
