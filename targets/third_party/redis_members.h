// What a Redis server says of itself (INFO), as the observer samples it. Pure.
//
// There is no term: Redis numbers no elections that its servers know of, and two servers that take
// themselves for the primary at one moment are legal there. So a sample has a role, the primary
// that the node follows, and its replication offset as what it has applied.
#pragma once

#include <string_view>

#include "targets/target.h"

namespace assay {

// From the sections "persistence" and "replication". An error while it loads its data, and for
// what is no such text.
Result<Value> redis_status_of(const Layout& layout, const NodeInfo& node, std::string_view info);

}  // namespace assay
