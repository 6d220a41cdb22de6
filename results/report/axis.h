// Axis: where a time (or, without times, a position in the history) lies in a drawing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay::report {

class Axis {
 public:
  // Proportional. from < to is made so by a hair when they are equal.
  static Axis linear(double from, double to, double x_from, double x_to);
  // Proportional where every two neighbouring marks come out at least `apart` px from each other;
  // else stretched between marks, so that the order of close events can be seen. Marks within
  // [from, to], any order.
  static Axis through(std::vector<double> marks, double from, double to, double x_from, double x_to,
                      double apart);

  double x(double t) const;  // t outside of the range: the nearest end
  bool stretched() const { return stretched_; }
  double from() const { return knots_.front().first; }
  double to() const { return knots_.back().first; }
  double x_from() const { return knots_.front().second; }
  double x_to() const { return knots_.back().second; }

 private:
  std::vector<std::pair<double, double>> knots_;  // t, x; both increasing
  bool stretched_ = false;
};

// Round numbers within [from, to], about `count` of them; the step is 1, 2 or 5 times a power
// of 10.
std::vector<double> round_ticks(double from, double to, int count);
// Decimals that tell such ticks apart.
int decimals_of(const std::vector<double>& ticks);

}  // namespace assay::report
