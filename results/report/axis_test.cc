#include "results/report/axis.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

TEST(Axis, IsProportionalAndKeepsWithinItsEnds) {
  const Axis axis = Axis::linear(10, 20, 100, 300);
  EXPECT_DOUBLE_EQ(axis.x(10), 100);
  EXPECT_DOUBLE_EQ(axis.x(15), 200);
  EXPECT_DOUBLE_EQ(axis.x(-1), 100);
  EXPECT_DOUBLE_EQ(axis.x(99), 300);
  const Axis point = Axis::linear(5, 5, 0, 100);  // nothing to divide by
  EXPECT_DOUBLE_EQ(point.x(5), 0);
  EXPECT_DOUBLE_EQ(point.x(6), 100);
}

TEST(Axis, StaysProportionalWhereEventsAreFarApart) {
  const Axis axis = Axis::through({2, 5, 8}, 0, 10, 0, 100, 20);
  EXPECT_FALSE(axis.stretched());
  EXPECT_DOUBLE_EQ(axis.x(5), 50);
}

TEST(Axis, IsStretchedSoThatCloseEventsCanBeToldApart) {
  const std::vector<double> marks = {0.1, 0.1001, 0.1002, 0.9};
  const Axis axis = Axis::through(marks, 0, 1, 0, 600, 25);
  EXPECT_TRUE(axis.stretched());
  double last = 0;
  for (double t : {0.1, 0.1001, 0.1002, 0.9, 1.0}) {
    EXPECT_GE(axis.x(t) - last, 25 - 1e-9) << t;
    last = axis.x(t);
  }
  EXPECT_DOUBLE_EQ(last, 600);
  EXPECT_GT(axis.x(0.9) - axis.x(0.1002), axis.x(0.1002) - axis.x(0.1001));  // longer stays wider
  EXPECT_GT(axis.x(0.10005), axis.x(0.1));
  EXPECT_LT(axis.x(0.10005), axis.x(0.1001));
}

TEST(Axis, OfMoreEventsThanFitIsStillInOrder) {
  std::vector<double> marks;
  for (int i = 0; i < 500; ++i) marks.push_back(i * i);
  const Axis axis = Axis::through(marks, -1, 250'000, 0, 100, 25);
  for (size_t i = 1; i < marks.size(); ++i) EXPECT_GT(axis.x(marks[i]), axis.x(marks[i - 1]));
  EXPECT_LE(axis.x(marks.back()), 100);
}

TEST(Axis, TicksAreRound) {
  EXPECT_EQ(round_ticks(0, 60, 12),
            (std::vector<double>{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60}));
  EXPECT_EQ(round_ticks(3, 9, 3), (std::vector<double>{4, 6, 8}));
  EXPECT_TRUE(round_ticks(1, 1, 5).empty());
  EXPECT_EQ(decimals_of(round_ticks(0, 60, 12)), 0);
  EXPECT_EQ(decimals_of(round_ticks(0, 1, 10)), 1);
  EXPECT_EQ(decimals_of(round_ticks(0, 0.003, 3)), 3);
  EXPECT_EQ(decimals_of({}), 0);
}

}  // namespace
}  // namespace assay::report
