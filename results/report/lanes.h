// Lanes: what drawings of a run have in common: a lane per node with its role, its term and the
// faults that it was under, shading of times under a fault, the time axis, the legend.
#pragma once

#include <string_view>
#include <vector>

#include "results/report/axis.h"
#include "results/report/report.h"
#include "results/report/svg.h"

namespace assay::report {

// "partition", "pause", "kill", "delay", "starve", "memory", "clock", "other": the end of the classes
// and hatchings of a fault.
std::string_view fault_class(std::string_view kind);

// "partition (halves) of n1, n2, from 13.900 s to 17.120 s; 12 packets dropped"
std::string fault_title(const FaultInterval& fault);

// The roles of one node over time, a bar each; at most one per pixel, and fewer where there are
// many lanes. The axis is in seconds.
void draw_roles(Svg& svg, const std::vector<StatusSample>& samples, Symbol node, const Axis& axis,
                const Box& lane, Nanos end, size_t lanes);

// The certain intervals of the faults that hit the node, hatched over the lane.
void draw_node_faults(Svg& svg, const std::vector<FaultInterval>& faults, Symbol node,
                      const Axis& axis, const Box& lane, size_t lanes);

// The certain intervals of all faults, as pale bands (for plots).
void draw_fault_bands(Svg& svg, const std::vector<FaultInterval>& faults, const Axis& axis,
                      const Box& area);

// Round times below the area, with thin lines through it.
void draw_time_axis(Svg& svg, const Axis& axis, const Box& area);

// Where there are more things than `max` along a width, those that would start too close to the one
// before are not drawn.
class Thinning {
 public:
  Thinning(size_t count, size_t max, double width);
  bool draws(double x);  // in order of x

 private:
  double least_;
  double next_ = -1e9;
};
inline constexpr size_t kFaultsDrawnMax = 500;

// What a fault hit: its victims, or every node of a cut.
bool hits(const FaultInterval& fault, Symbol node);
// The part of the certain interval that lies within the axis; false when there is none.
bool certain_within(const FaultInterval& fault, const Axis& axis, double& from, double& to);

// Swatches with their names in one row (more, when they do not fit); the height that was used.
struct LegendItem {
  std::string_view swatch;  // class of the swatch
  std::string_view name;
};
double draw_legend(Svg& svg, const std::vector<LegendItem>& items, Point at, double width);

}  // namespace assay::report
