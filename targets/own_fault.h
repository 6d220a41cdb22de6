// Faults of a store's own (fail points, compaction, a backup, an upgrade): commands that a node
// runs to begin and to end one, and one that tells whether it is in force.
//
// On the Loop's thread. The hand must outlive the call. The end is promised to the node's agent
// before anything begins: however the driver ends, it is run.
#pragma once

#include <optional>
#include <string>

#include "targets/cluster.h"

namespace assay {

// installed: `begin` exited 0. bit: so did `verify`, within `patience` after it. Evidence: their
// last words.
void begin_own_fault(Loop& loop, Node& hand, const std::string& kind, const FaultCommands& commands,
                     Nanos patience, Callback<Effect> done);

// installed: `end` exited 0 and `verify` 1 afterwards; both are tried again until `patience` is
// over, because the daemon may be down or standing still meanwhile. bit: it was in force until now.
// Without an `end` there is nothing to do.
void end_own_fault(Loop& loop, Node& hand, const std::string& kind, const FaultCommands& commands,
                   Nanos patience, Callback<Effect> done);

}  // namespace assay
