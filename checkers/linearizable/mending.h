// Mending: where a key of unique values is open for its failed cas. The order that unique.h tried
// explains all but a few of them. Around each of those a window of that order is searched anew,
// with room before and behind: what is outside stays as it is, what is inside must become current
// between the one before and the one behind; a few operations of unknown outcome that nobody saw
// may come in. Where a window has no order it is widened, until it is everything or long enough.
#pragma once

#include "checkers/linearizable/search.h"
#include "checkers/linearizable/unique.h"

namespace assay::linearizable {

// The key must be open. Valid: it is no longer, and place() may be asked. Else unknown: nothing is
// proven impossible, since not all that nobody saw is tried.
SearchResult mend(Unique& unique, const SearchOptions& options);

}  // namespace assay::linearizable
