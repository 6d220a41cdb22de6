// The last legal order of a witness, drawn: its steps in a row, each with the state that it leaves,
// and the operation that has no place any more; and the same states along a time axis.
#pragma once

#include <string>
#include <vector>

#include "checkers/checker.h"
#include "results/report/axis.h"
#include "results/report/svg.h"

namespace assay::report {

// Steps whose operations are not in the history are left out. The height that was used.
double draw_order(Svg& svg, const LastOrder& order, const History& history, const Box& area);

// The states over time, and a cross where it breaks; `until` is that time.
struct StateSpan {
  double from = 0;  // on the axis
  std::string state;
};
void draw_states(Svg& svg, const std::vector<StateSpan>& spans, double until, const Axis& axis,
                 const Box& lane);

}  // namespace assay::report
