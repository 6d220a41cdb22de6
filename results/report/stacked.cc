#include "results/report/stacked.h"

#include <algorithm>
#include <cmath>

#include "results/report/markup.h"

namespace assay::report {
namespace {

// The outline of a row of columns, from the base line up to the given heights: one shape without
// seams between the columns.
Path skyline(const std::vector<double>& heights, const Box& area) {
  const double width = area.width / static_cast<double>(heights.size());
  const double base = area.y + area.height;
  Path path;
  double last = 0;
  for (size_t i = 0; i <= heights.size(); ++i) {
    const double height = i < heights.size() ? heights[i] : 0;
    if (std::abs(height - last) < 0.05) continue;
    const double x = area.x + width * static_cast<double>(i);
    path.empty() ? path.move({x, base}) : path.line({x, base - last});
    path.line({x, base - height});
    last = height;
  }
  if (!path.empty()) path.close();
  return path;
}

// Back to front: all outcomes, those that are not info, those that are ok.
template <typename Scale>
void draw_columns(Svg& svg, const std::vector<Outcomes>& columns, const Box& area, Scale scale) {
  const auto heights = [&](auto count) {
    std::vector<double> out;
    for (const Outcomes& c : columns) {
      out.push_back(area.height * static_cast<double>(count(c)) * scale(c));
    }
    return out;
  };
  svg.path(skyline(heights([](const Outcomes& c) { return c.total(); }), area), "s-info");
  svg.path(skyline(heights([](const Outcomes& c) { return c.ok + c.fail; }), area), "s-fail");
  svg.path(skyline(heights([](const Outcomes& c) { return c.ok; }), area), "s-ok");
}

// A round number, not below x.
double round_up(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (double factor : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (x <= factor * power) return factor * power;
  }
  return 10 * power;
}

}  // namespace

void draw_stacked_rate(Svg& svg, const std::vector<Outcomes>& columns, double column_seconds,
                       const Box& area) {
  int64_t most = 0;
  for (const Outcomes& c : columns) most = std::max(most, c.total());
  svg.line({area.x, area.y + area.height}, {area.x + area.width, area.y + area.height}, "base");
  if (most == 0) return;
  const double top = round_up(static_cast<double>(most) / column_seconds);
  draw_columns(svg, columns, area, [&](const Outcomes&) { return 1 / (top * column_seconds); });
  svg.line({area.x, area.y}, {area.x + area.width, area.y}, "grid");
  svg.text({area.x - 8, area.y + 9},
           top >= 10 ? grouped(static_cast<int64_t>(std::llround(top))) : fixed(top, 1),
           "tick end");
}

void draw_stacked_share(Svg& svg, const std::vector<Outcomes>& columns, const Box& area) {
  draw_columns(svg, columns, area, [](const Outcomes& c) {
    return c.total() == 0 ? 0 : 1 / static_cast<double>(c.total());
  });
}

}  // namespace assay::report
