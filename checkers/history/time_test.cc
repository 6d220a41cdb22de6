#include "checkers/history/time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace assay {
namespace {

TEST(Nanos, DurationsAreShownInTheUnitThatFits) {
  const std::pair<Nanos, const char*> cases[] = {
      {nanoseconds(0), "0 ns"},
      {nanoseconds(999), "999 ns"},
      {nanoseconds(1'000), "1 us"},
      {nanoseconds(1'540), "1.5 us"},
      {microseconds(850), "850 us"},
      {nanoseconds(999'499), "999 us"},
      {nanoseconds(999'500), "1 ms"},
      {microseconds(1'500), "1.5 ms"},
      {milliseconds(212), "212 ms"},
      {nanoseconds(999'499'999), "999 ms"},
      {nanoseconds(999'500'000), "1 s"},
      {milliseconds(13'900), "13.9 s"},
      {milliseconds(13'949), "13.9 s"},
      {milliseconds(13'950), "14 s"},
      {milliseconds(59'949), "59.9 s"},
      {milliseconds(59'950), "1 min"},
      {seconds(125), "2 min 5 s"},
      {seconds(120), "2 min"},
      {milliseconds(3'599'499), "59 min 59 s"},
      {milliseconds(3'599'500), "1 h"},
      {seconds(3'600 + 120), "1 h 2 min"},
      {milliseconds(-212), "-212 ms"},
      {kNever, "never"},
  };
  for (const auto& [span, text] : cases) EXPECT_EQ(format_duration(span), text) << span.count;
  EXPECT_EQ(format_duration(Nanos{INT64_MIN}), "-2562047 h 47 min");
}

TEST(Nanos, PointsAreShownInSeconds) {
  EXPECT_EQ(format_point(nanoseconds(0)), "0.0 s");
  EXPECT_EQ(format_point(milliseconds(49)), "0.0 s");
  EXPECT_EQ(format_point(milliseconds(50)), "0.1 s");
  EXPECT_EQ(format_point(milliseconds(13'900)), "13.9 s");
  EXPECT_EQ(format_point(seconds(125)), "125.0 s");
  EXPECT_EQ(format_point(kNever), "never");
}

TEST(Nanos, Arithmetic) {
  EXPECT_EQ(seconds(1) + milliseconds(500), milliseconds(1'500));
  EXPECT_EQ(seconds(1) - milliseconds(500), milliseconds(500));
  EXPECT_EQ(milliseconds(3) * 2, milliseconds(6));
  EXPECT_EQ(seconds(3) / milliseconds(500), 6);
  EXPECT_EQ(to_ms(microseconds(2'999)), 2);
  EXPECT_LT(seconds(1), kNever);
}

}  // namespace
}  // namespace assay
