#include <algorithm>
#include <cmath>
#include <set>

#include "results/report/drawings.h"
#include "results/report/lanes.h"
#include "results/report/markup.h"
#include "results/report/stacked.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr double kLeft = 74;
constexpr double kRight = 8;
constexpr double kFaultRow = 20;
constexpr double kOperations = 76;
constexpr double kGap = 8;
constexpr double kPhaseRow = 16;
constexpr double kAxisRow = 20;
constexpr Nanos kStallShown = milliseconds(300);
constexpr size_t kStallsMax = 50;
constexpr size_t kMarksMax = 100;
constexpr size_t kPhasesMax = 40;

double lane_height(size_t nodes) {
  return std::clamp(190.0 / static_cast<double>(nodes), 12.0, 36.0);
}

void draw_fault_rows(Svg& svg, const Report& report, const Axis& axis, double y) {
  const double rows_width =
      (axis.x_to() - axis.x_from()) * static_cast<double>(report.digest.faults.size());
  size_t rows = 0;
  for (const FaultCount& count : report.digest.faults) {
    const double top = y + kFaultRow * static_cast<double>(rows++);
    svg.text({kLeft - 8, top + 14}, shortened(count.kind, 10), "label end");
    svg.line({kLeft, top + kFaultRow / 2}, {axis.x_to(), top + kFaultRow / 2}, "grid");
    Thinning thinning(report.digest.intervals.size(), kFaultsDrawnMax, rows_width);
    for (const FaultInterval& fault : report.digest.intervals) {
      const double asked = axis.x(to_seconds(fault.asked));
      if (fault.kind != count.kind || !thinning.draws(asked)) continue;
      const std::string kind(fault_class(fault.kind));
      const double healed =
          fault.healed_at == kNever ? axis.x_to() : axis.x(to_seconds(fault.healed_at));
      double from = 0;
      double to = 0;
      svg.box({asked, top + 4, std::max(1.0, healed - asked), kFaultRow - 8},
              "f-" + kind + " pale");
      if (!fault.installed || !certain_within(fault, axis, from, to)) continue;
      const double width = std::max(1.5, axis.x(to) - axis.x(from));
      svg.box({axis.x(from), top + 2, width, kFaultRow - 4}, "f-" + kind, fault_title(fault), 2);
      const std::string name = shortened(fault.shape, 24);
      if (!name.empty() && text_width(name, 11.5) + 6 < width) {
        svg.text({axis.x(from) + 4, top + 14}, name, "in-bar on-" + kind, fault_title(fault));
      }
    }
  }
}

// What nobody asked for: exits of their own, findings in logs.
void draw_marks(Svg& svg, const Report& report, Symbol node, const Axis& axis, const Box& lane,
                size_t& left) {
  const auto mark = [&](Nanos time, const std::string& title) {
    if (left == 0) return;
    --left;
    const double x = axis.x(to_seconds(time));
    const double y = lane.y + lane.height - 1;
    svg.path(Path().move({x, y - 9}).line({x + 5, y}).line({x - 5, y}).close(), "mark", title);
  };
  for (const NodeExit& exit : node_exits(report.history)) {
    if (exit.node != node || exit.expected) continue;
    const std::string how = exit.signal != 0 ? "signal " + std::to_string(exit.signal)
                                             : "code " + std::to_string(exit.code);
    mark(exit.time, std::string(node.text()) + " ended by itself (" + how + ") at " +
                        point_text(exit.time, 3));
  }
  for (const LogLine& line : log_lines(report.history)) {
    if (line.node != node || line.finding.empty()) continue;
    mark(line.time, std::string(line.finding) + " in the log of " + std::string(node.text()) +
                        " at " + point_text(line.time, 3) + ": " + shortened(line.line, 120));
  }
}

void draw_lanes(Svg& svg, const Report& report, const Axis& axis, double y, double height) {
  const size_t lanes = report.digest.nodes.size();
  size_t marks_left = kMarksMax;
  for (Symbol node : report.digest.nodes) {
    const Box lane{kLeft, y, axis.x_to() - kLeft, height};
    svg.box(lane, "lane");
    const Box inner{lane.x, lane.y + 1, lane.width, lane.height - 2};
    draw_node_faults(svg, report.digest.intervals, node, axis, inner, lanes);
    draw_roles(svg, report.digest.samples, node, axis, inner, report.digest.end, lanes);
    draw_marks(svg, report, node, axis, inner, marks_left);
    svg.text({kLeft - 8, y + height / 2 + 4}, shortened(node.text(), 10), "label strong end");
    y += height;
  }
}

void draw_phases(Svg& svg, const Report& report, const Axis& axis, double y, double bottom) {
  const std::vector<PhaseChange> phases = phase_changes(report.history);
  for (size_t i = 0; i < std::min(phases.size(), kPhasesMax); ++i) {
    const double x = axis.x(to_seconds(phases[i].begin));
    const double end =
        i + 1 < phases.size() ? axis.x(to_seconds(phases[i + 1].begin)) : axis.x_to();
    svg.line({x, y + 3}, {x, bottom}, "phase");
    if (end - x > text_width(phases[i].phase, 10.5) + 6) {
      svg.text({x + 4, y + 12}, phases[i].phase, "tick");
    }
  }
}

void draw_stalls(Svg& svg, const Report& report, const Axis& axis, double y, double bottom) {
  size_t drawn = 0;
  for (const HostStall& stall : host_stalls(report.history, kStallShown)) {
    if (++drawn > kStallsMax) return;
    const double from = axis.x(to_seconds(stall.begin));
    const double to = axis.x(to_seconds(stall.end));
    svg.box({from, y, std::max(1.0, to - from), bottom - y}, "stall",
            "host stalled " + format_duration(stall.end - stall.begin) + " at " +
                format_point(stall.begin));
  }
}

void draw_witness_mark(Svg& svg, const Report& report, const Axis& axis, double y, double bottom) {
  if (report.witness_operations.empty()) return;
  double from = axis.to();
  double to = axis.from();
  for (const Operation& operation : report.witness_operations) {
    from = std::min(from, to_seconds(operation.invoke_time()));
    const bool open = is_open(operation) || operation.return_position() == kOpen;
    to = std::max(to, to_seconds(open ? operation.invoke_time() : operation.return_time()));
  }
  const double x = axis.x(from);
  svg.box({x - 2, y, std::max(1.0, axis.x(to) - x) + 4, bottom - y}, "witness-mark", "the witness");
  svg.text({std::min(x + 2, axis.x_to() - 50), y - 4}, "witness", "tick strong");
}

std::vector<LegendItem> legend_of(const Report& report) {
  std::vector<LegendItem> items;
  if (!report.digest.samples.empty()) {
    items = {{"r-leader", "leader (term)"},
             {"r-follower", "follower"},
             {"r-candidate", "candidate"},
             {"r-down", "does not answer"}};
  }
  std::set<std::string_view> named;
  for (const FaultCount& fault : report.digest.faults) {
    const std::string_view cls = fault_class(fault.kind);
    if (!named.insert(cls).second) continue;
    if (cls == "partition") items.push_back({"x-partition", "under partition"});
    if (cls == "pause") items.push_back({"x-pause", "paused"});
    if (cls == "kill") items.push_back({"x-kill", "killed"});
    if (cls == "delay") items.push_back({"x-delay", "behind slow links"});
    if (cls == "starve") items.push_back({"x-starve", "starved of processor time"});
    if (cls == "memory") items.push_back({"x-memory", "short of memory"});
    if (cls == "clock") items.push_back({"x-clock", "clock off"});
    if (cls == "other") items.push_back({"x-other", "other fault"});
  }
  items.push_back({"s-ok", "ok"});
  items.push_back({"s-fail", "fail"});
  items.push_back({"s-info", "info"});
  return items;
}

}  // namespace

std::string run_strip(const Report& report, const Timeline& timeline, double width) {
  if (!report.digest.timed || report.digest.end <= Nanos{0}) return "";
  Svg svg;
  const Axis axis = Axis::linear(0, to_seconds(report.digest.end), kLeft, width - kRight);
  const size_t nodes = report.digest.nodes.size();
  const double lane = nodes == 0 ? 0 : lane_height(nodes);
  double y = kPhaseRow;
  const double fault_rows = kFaultRow * static_cast<double>(report.digest.faults.size());
  const double lanes_top = y + fault_rows + (fault_rows > 0 ? 4 : 0);
  const double operations_top = lanes_top + lane * static_cast<double>(nodes) + kGap;
  const double bottom = operations_top + kOperations;
  draw_time_axis(svg, axis, {kLeft, y, axis.x_to() - kLeft, bottom - y});
  draw_stalls(svg, report, axis, y, bottom);
  draw_fault_rows(svg, report, axis, y);
  draw_lanes(svg, report, axis, lanes_top, lane);
  const Box operations{kLeft, operations_top, axis.x_to() - kLeft, kOperations};
  draw_stacked_rate(svg, timeline.all, timeline.column_seconds(), operations);
  svg.text({kLeft - 8, operations_top + kOperations - 4}, "ops/s", "label end");
  draw_phases(svg, report, axis, 0, bottom);
  draw_witness_mark(svg, report, axis, y, bottom);
  const double legend =
      draw_legend(svg, legend_of(report), {kLeft, bottom + kAxisRow + 2}, axis.x_to() - kLeft);
  return svg.finish(width, bottom + kAxisRow + 4 + legend,
                    "The whole run: faults, a lane per node, operations per second");
}

}  // namespace assay::report
