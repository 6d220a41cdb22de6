#include <algorithm>
#include <array>
#include <cmath>

#include "results/report/drawings.h"
#include "results/report/lanes.h"
#include "results/report/markup.h"
#include "results/report/stacked.h"

namespace assay::report {
namespace {

constexpr double kLeft = 74;
constexpr double kRight = 52;
constexpr double kTop = 6;
constexpr double kAxisRow = 22;
constexpr int kBinsPerRow = 2;  // of the latency raster
constexpr int kShades = 5;

struct Plot {
  Svg svg;
  Axis axis;
  Box area;
};

Plot begin_plot(const Report& report, double width, double height) {
  Plot plot{{}, Axis::linear(0, to_seconds(report.digest.end), kLeft, width - kRight), {}};
  plot.area = {kLeft, kTop, width - kRight - kLeft, height};
  draw_time_axis(plot.svg, plot.axis, plot.area);
  draw_fault_bands(plot.svg, report.digest.intervals, plot.axis, plot.area);
  return plot;
}

std::string latency_text(double seconds) {
  return seconds < 1e-3  ? fixed(seconds * 1e6, 0) + " us"
         : seconds < 1.0 ? fixed(seconds * 1e3, 0) + " ms"
                         : fixed(seconds, 0) + " s";
}

// The rows of the raster that hold anything, as bins [first, last).
std::pair<int, int> used_bins(const Timeline& timeline) {
  int first = LatencyHistogram::kBins;
  int last = 0;
  for (const LatencyHistogram& histogram : timeline.latency) {
    for (int i = 0; i < LatencyHistogram::kBins; ++i) {
      if (histogram.bin(i) == 0) continue;
      first = std::min(first, i);
      last = std::max(last, i + 1);
    }
  }
  // Whole factors of ten, so that the axis has round numbers at its ends.
  const int decade = LatencyHistogram::kBinsPerDecade;
  return {first / decade * decade, (last + decade - 1) / decade * decade};
}

int64_t row_count(const LatencyHistogram& histogram, int bin) {
  int64_t count = 0;
  for (int i = bin; i < bin + kBinsPerRow; ++i) count += histogram.bin(i);
  return count;
}

void draw_raster(Svg& svg, const Timeline& timeline, std::pair<int, int> bins, const Box& area) {
  int64_t most = 1;
  for (const LatencyHistogram& histogram : timeline.latency) {
    for (int bin = bins.first; bin < bins.second; bin += kBinsPerRow) {
      most = std::max(most, row_count(histogram, bin));
    }
  }
  std::array<Path, kShades> shades;
  const double width = area.width / static_cast<double>(timeline.latency.size());
  const double height = area.height * kBinsPerRow / (bins.second - bins.first);
  for (size_t column = 0; column < timeline.latency.size(); ++column) {
    for (int bin = bins.first; bin < bins.second; bin += kBinsPerRow) {
      const int64_t count = row_count(timeline.latency[column], bin);
      if (count == 0) continue;
      // By the logarithm: one slow operation must be seen beside a thousand fast ones.
      const double shade = std::log1p(static_cast<double>(count)) /
                           std::log1p(static_cast<double>(most)) * (kShades - 1);
      const double y = area.y + area.height - height * ((bin - bins.first) / kBinsPerRow + 1);
      shades[static_cast<size_t>(std::lround(shade))].box(
          {area.x + width * static_cast<double>(column), y, width, height});
    }
  }
  for (size_t i = 0; i < shades.size(); ++i) {
    svg.path(shades[i], "raster shade-" + std::to_string(i + 1));
  }
}

void draw_quantile(Svg& svg, const Timeline& timeline, double q, std::string_view cls,
                   std::pair<int, int> bins, const Box& area, std::vector<double>& taken) {
  const double low = LatencyHistogram::bin_seconds(bins.first);
  const double high = LatencyHistogram::bin_seconds(bins.second);
  const double width = area.width / static_cast<double>(timeline.latency.size());
  Path path;
  bool drawing = false;
  double y = 0;
  double last_y = -1;
  for (size_t column = 0; column < timeline.latency.size(); ++column) {
    const LatencyHistogram& histogram = timeline.latency[column];
    if (histogram.count() == 0) {
      drawing = false;
      continue;
    }
    const double seconds = std::max(low, to_seconds(histogram.quantile(q)));
    y = area.y + area.height * (1 - std::log(seconds / low) / std::log(high / low));
    const Point p{area.x + width * (static_cast<double>(column) + 0.5), y};
    drawing ? path.line(p) : path.move(p);
    drawing = true;
    last_y = y;
  }
  svg.path(path, cls);
  if (last_y < 0) return;
  double label = last_y + 4;
  for (double other : taken) {
    if (std::abs(label - other) < 12) label = other - 12;
  }
  taken.push_back(label);
  svg.text({area.x + area.width + 6, label}, "p" + fixed(q * 100, 0), "tick");
}

}  // namespace

std::string throughput_plot(const Report& report, const Timeline& timeline, double width) {
  constexpr double kHeight = 120;
  Plot plot = begin_plot(report, width, kHeight);
  draw_stacked_rate(plot.svg, timeline.all, timeline.column_seconds(), plot.area);
  const double legend =
      draw_legend(plot.svg, {{"s-ok", "ok"}, {"s-fail", "fail"}, {"s-info", "info (unknown)"}},
                  {kLeft, kTop + kHeight + kAxisRow}, plot.area.width);
  return plot.svg.finish(width, kTop + kHeight + kAxisRow + legend, "Operations per second");
}

std::string latency_plot(const Report& report, const Timeline& timeline, double width) {
  constexpr double kHeight = 190;
  Plot plot = begin_plot(report, width, kHeight);
  const std::pair<int, int> bins = used_bins(timeline);
  if (bins.first >= bins.second) {
    plot.svg.text({kLeft + 12, kTop + 24}, "no operation was ok", "tick");
    return plot.svg.finish(width, kTop + kHeight + kAxisRow, "Latency");
  }
  draw_raster(plot.svg, timeline, bins, plot.area);
  for (int bin = bins.first; bin <= bins.second; bin += LatencyHistogram::kBinsPerDecade) {
    const double y =
        plot.area.y + plot.area.height * (bins.second - bin) / (bins.second - bins.first);
    plot.svg.line({kLeft, y}, {kLeft + plot.area.width, y}, "grid");
    plot.svg.text({kLeft - 8, y + 4}, latency_text(LatencyHistogram::bin_seconds(bin)), "tick end");
  }
  std::vector<double> taken;
  draw_quantile(plot.svg, timeline, 0.50, "q q50", bins, plot.area, taken);
  draw_quantile(plot.svg, timeline, 0.95, "q q95", bins, plot.area, taken);
  draw_quantile(plot.svg, timeline, 0.99, "q q99", bins, plot.area, taken);
  return plot.svg.finish(width, kTop + kHeight + kAxisRow,
                         "Latency of ok operations: raster and quantiles");
}

std::string availability_plot(const Report& report, const Timeline& timeline, double width) {
  const auto& nodes = report.digest.nodes;
  if (nodes.empty()) return "";
  constexpr size_t kNodesMax = 24;
  const size_t shown = std::min(nodes.size(), kNodesMax);
  const double row = shown > 12 ? 14 : 26;
  const double height = row * static_cast<double>(shown);
  Plot plot = begin_plot(report, width, height);
  for (size_t i = 0; i < shown; ++i) {
    const double y = kTop + row * static_cast<double>(i);
    const Box lane{kLeft, y + 2, plot.area.width, row - 4};
    draw_stacked_share(plot.svg, timeline.by_node[i], lane);
    draw_node_faults(plot.svg, report.digest.intervals, nodes[i], plot.axis,
                     {lane.x, y, lane.width, 2}, shown);
    plot.svg.text({kLeft - 8, y + row / 2 + 4}, shortened(nodes[i].text(), 10), "label strong end");
  }
  if (shown < nodes.size()) {
    plot.svg.text({kLeft, kTop + height + kAxisRow + 12},
                  "and " + std::to_string(nodes.size() - shown) + " more nodes", "legend");
  }
  return plot.svg.finish(width, kTop + height + kAxisRow + (shown < nodes.size() ? 18 : 0),
                         "Outcomes per node over time");
}

// Steps: what is known at one look holds until the next. All rows have one scale, with a line at 0.
std::string clock_plot(const Report& report, double width) {
  const auto& nodes = report.digest.nodes;
  const auto& clocks = report.digest.clocks;
  if (clocks.empty()) return "";
  constexpr size_t kRowsMax = 12;
  constexpr double kRow = 34;
  double least = 0, most = 0;
  for (const ClockOffset& clock : clocks) {
    least = std::min(least, to_seconds(clock.offset));
    most = std::max(most, to_seconds(clock.offset));
  }
  const double span = std::max(1e-3, most - least);
  const size_t shown = std::min(nodes.size(), kRowsMax);
  const double height = kRow * static_cast<double>(shown);
  Plot plot = begin_plot(report, width, height);
  for (size_t i = 0; i < shown; ++i) {
    const double top = kTop + kRow * static_cast<double>(i) + 5, room = kRow - 10;
    const auto y_of = [&](double seconds) { return top + room * (most - seconds) / span; };
    plot.svg.line({kLeft, y_of(0)}, {kLeft + plot.area.width, y_of(0)}, "grid");
    Path path;
    double y = y_of(0);
    double peak = 0;
    for (const ClockOffset& clock : clocks) {
      if (clock.node != nodes[i]) continue;
      const double x = plot.axis.x(to_seconds(clock.time)), seconds = to_seconds(clock.offset);
      path.empty() ? path.move({x, y}) : path.line({x, y});
      y = y_of(seconds);
      path.line({x, y});
      if (std::abs(seconds) > std::abs(peak)) peak = seconds;
    }
    if (!path.empty()) plot.svg.path(path, "q");
    draw_node_faults(plot.svg, report.digest.intervals, nodes[i], plot.axis,
                     {kLeft, top - 5, plot.area.width, 2}, shown);
    plot.svg.text({kLeft - 8, top + room / 2 + 4}, shortened(nodes[i].text(), 10),
                  "label strong end");
    plot.svg.text({kLeft + plot.area.width + 6, top + room / 2 + 4}, fixed(peak, 1) + " s", "tick");
  }
  if (shown < nodes.size())
    plot.svg.text({kLeft, kTop + height + kAxisRow + 12},
                  "and " + std::to_string(nodes.size() - shown) + " more nodes", "legend");
  return plot.svg.finish(width, kTop + height + kAxisRow + (shown < nodes.size() ? 18 : 0),
                         "Offsets of the nodes' clocks over time");
}

}  // namespace assay::report
