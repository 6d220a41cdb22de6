// Story of a core of the search for any model, in words that need no knowledge of the search.
#pragma once

#include "checkers/linearizable/general_witness.h"
#include "checkers/linearizable/story.h"

namespace assay::linearizable {

Story tell(const History& history, const assay::Model& model, const PartGroup& group,
           const GeneralCore& core);

// Whose word an invalid verdict rests on: judges what comes up to `last` once more, with what
// failed near it taken as of unknown outcome. A sentence.
std::string whose_word(const History& history, const assay::Model& model, const PartGroup& group,
                       Position last, const ShrinkLimits& limits);

}  // namespace assay::linearizable
