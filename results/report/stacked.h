// Stacked columns of outcomes.
#pragma once

#include <vector>

#include "results/report/digest.h"
#include "results/report/svg.h"

namespace assay::report {

// Operations per second: ok below, then fail, then info, on a scale of its own, whose top is
// written at the left of the area.
void draw_stacked_rate(Svg& svg, const std::vector<Outcomes>& columns, double column_seconds,
                       const Box& area);

// The same as shares of what ended in each column; a column without operations stays empty.
void draw_stacked_share(Svg& svg, const std::vector<Outcomes>& columns, const Box& area);

}  // namespace assay::report
