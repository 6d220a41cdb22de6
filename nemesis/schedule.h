// When a fault kind strikes: a generator over one nemesis lane that starts a fault every interval,
// stops it after its duration, and ends when no further one fits before the end of the load.
#pragma once

#include "nemesis/nemesis.h"

namespace assay {

// Shapes come from a shuffled deck, not from independent draws: in few faults all are seen.
Gen fault_schedule(std::string_view kind, const std::vector<std::string>& shapes,
                   const NemesisOptions& options);

}  // namespace assay
