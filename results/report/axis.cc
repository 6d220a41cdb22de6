#include "results/report/axis.h"

#include <algorithm>
#include <cmath>

namespace assay::report {

Axis Axis::linear(double from, double to, double x_from, double x_to) {
  Axis axis;
  if (!(to > from)) to = from + std::max(1e-9, std::abs(from) * 1e-9);
  axis.knots_ = {{from, x_from}, {to, x_to}};
  return axis;
}

Axis Axis::through(std::vector<double> marks, double from, double to, double x_from, double x_to,
                   double apart) {
  Axis axis = linear(from, to, x_from, x_to);
  marks.push_back(from);
  marks.push_back(to);
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  if (marks.size() < 3) return axis;
  const size_t gaps = marks.size() - 1;
  bool close = false;
  double weights = 0;  // of the room that is left: the longer a gap the wider, but by its logarithm
  double shortest = to - from;
  for (size_t i = 0; i < gaps; ++i) {
    close = close || axis.x(marks[i + 1]) - axis.x(marks[i]) < apart;
    shortest = std::min(shortest, marks[i + 1] - marks[i]);
  }
  if (!close) return axis;
  const auto weight = [&](size_t i) { return std::log2(1 + (marks[i + 1] - marks[i]) / shortest); };
  for (size_t i = 0; i < gaps; ++i) weights += weight(i);
  const double room = x_to - x_from;
  const double least = std::min(apart, room / static_cast<double>(gaps) * 0.7);
  const double rest = room - least * static_cast<double>(gaps);
  axis.knots_.clear();
  double x = x_from;
  for (size_t i = 0; i < gaps; ++i) {
    axis.knots_.emplace_back(marks[i], x);
    x += least + rest * weight(i) / weights;
  }
  axis.knots_.emplace_back(marks.back(), x_to);
  axis.stretched_ = true;
  return axis;
}

double Axis::x(double t) const {
  if (!(t > knots_.front().first)) return knots_.front().second;
  if (t >= knots_.back().first) return knots_.back().second;
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), t,
                       [](double value, const auto& knot) { return value < knot.first; });
  const auto& [t1, x1] = *after;
  const auto& [t0, x0] = *std::prev(after);
  return x0 + (x1 - x0) * (t - t0) / (t1 - t0);
}

std::vector<double> round_ticks(double from, double to, int count) {
  std::vector<double> ticks;
  if (!(to > from) || count < 1) return ticks;
  const double wanted = (to - from) / count;
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  const double ratio = wanted / power;
  const double step = power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
  const double first = std::ceil(from / step - 1e-9);
  for (double i = first; i * step <= to + step * 1e-9; ++i) ticks.push_back(i * step);
  return ticks;
}

int decimals_of(const std::vector<double>& ticks) {
  if (ticks.size() < 2) return 0;
  const double step = ticks[1] - ticks[0];
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
}

}  // namespace assay::report
