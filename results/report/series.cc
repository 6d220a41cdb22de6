#include "results/report/series.h"

#include <algorithm>

#include "results/report/axis.h"
#include "results/report/markup.h"
#include "results/report/svg.h"

namespace assay {
namespace {

using report::Axis;
using report::Point;
using report::Svg;

constexpr double kWidth = 760, kLeft = 64, kRight = 20, kTop = 40, kPanel = 130, kGap = 34;

constexpr std::string_view kStyle = R"css(<style>
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #56616c; }
.title { font-size: 14px; font-weight: 600; } .end { text-anchor: end; } .mid { text-anchor: middle; }
.grid { stroke: #8d98a4; stroke-opacity: 0.35; } .curve { fill: none; stroke: #0072b2; stroke-width: 2; }
.mark { fill: #0072b2; }
</style>
)css";

double x_of(size_t i, size_t count) {
  const double span = kWidth - kLeft - kRight;
  return count < 2 ? kLeft + span / 2 : kLeft + span * static_cast<double>(i) / static_cast<double>(count - 1);
}

void draw_line(Svg& svg, const Series& series, const SeriesLine& line, double top) {
  double most = 0;
  for (const auto& y : line.y) most = std::max(most, y.value_or(0));
  const Axis axis = Axis::linear(0, most > 0 ? most : 1, top + kPanel, top);
  const auto ticks = report::round_ticks(0, most > 0 ? most : 1, 4);
  for (double tick : ticks) {
    svg.line({kLeft, axis.x(tick)}, {kWidth - kRight, axis.x(tick)}, "grid");
    svg.text({kLeft - 8, axis.x(tick) + 4}, report::fixed(tick, report::decimals_of(ticks)), "end");
  }
  svg.text({kLeft, top - 8}, line.label, "");
  report::Path path;
  for (size_t i = 0; i < line.y.size(); ++i) {
    if (!line.y[i]) continue;
    const Point point{x_of(i, series.x.size()), axis.x(*line.y[i])};
    path.empty() ? path.move(point) : path.line(point);
    svg.dot(point, 3.5, "mark", series.x[i] + ": " + report::fixed(*line.y[i], 2));
  }
  svg.path(path, "curve");
}

}  // namespace

std::string series_svg(const Series& series) {
  Svg svg;
  svg.text({kLeft, 18}, series.title, "title");
  double top = kTop + 14;
  for (const SeriesLine& line : series.lines) {
    draw_line(svg, series, line, top);
    top += kPanel + kGap;
  }
  top -= kGap - 18;
  for (size_t i = 0; i < series.x.size(); ++i)
    svg.text({x_of(i, series.x.size()), top}, series.x[i], "mid");
  svg.text({kLeft + (kWidth - kLeft - kRight) / 2, top + 20}, series.x_label, "mid");
  std::string text = svg.finish(kWidth, top + 32, series.title);
  const size_t inside = text.find('>') + 1;
  text.insert(inside, "\n" + std::string(kStyle));
  if (text.find("xmlns=") > inside) text.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
  return text;
}

}  // namespace assay
