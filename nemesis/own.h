// Faults of a store's own (Target::faults) as nemeses: begun and ended by commands on its nodes.
//
// One that does not last is stopped as soon as it has begun.
#pragma once

#include <memory>

#include "nemesis/nemesis.h"

namespace assay {

std::unique_ptr<Nemesis> own_nemesis(OwnFault fault);

}  // namespace assay
