// Lines of the observer about clocks (process "observer", type info):
//   clock   {"node","offset"}   ns: by how much the clock that the node's daemon sees is ahead of
//           the node's own; at the begin and end of every fault of clocks, and each second between
#pragma once

#include <vector>

#include "checkers/history/history.h"

namespace assay {

struct ClockOffset {
  Symbol node;
  Nanos offset;
  Nanos time;
};
std::vector<ClockOffset> clock_offsets(const History& history);

}  // namespace assay
