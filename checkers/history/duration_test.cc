#include <gtest/gtest.h>

#include <string>

#include "checkers/history/time.h"

namespace assay {
namespace {

struct Spelling {
  std::string text;
  Nanos span;
};

class Duration : public ::testing::TestWithParam<Spelling> {};

TEST_P(Duration, IsANumberAndAUnit) {
  const auto parsed = parse_duration(GetParam().text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->count, GetParam().span.count);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, Duration,
    ::testing::Values(Spelling{"30s", seconds(30)}, Spelling{"500ms", milliseconds(500)},
                      Spelling{"10m", seconds(600)}, Spelling{"2h", seconds(7200)},
                      Spelling{"0s", {0}}, Spelling{"7us", microseconds(7)}, Spelling{"9ns", {9}},
                      Spelling{"1.5s", milliseconds(1500)}, Spelling{"0.25h", seconds(900)},
                      Spelling{"1.000000001s", {1'000'000'001}}, Spelling{"1.50us", {1500}},
                      Spelling{"007s", seconds(7)},
                      Spelling{"9223372036854775806ns", {9'223'372'036'854'775'806}}));

class BadDuration : public ::testing::TestWithParam<std::string> {};

TEST_P(BadDuration, IsAnInputErrorThatQuotesIt) {
  const auto parsed = parse_duration(GetParam());
  ASSERT_FALSE(parsed.ok()) << parsed->count;
  EXPECT_EQ(parsed.error().fault, Fault::kInput);
  EXPECT_EQ(parsed.error().message,
            "expected a span of time such as 30s, 500ms, 10m or 2h, found \"" + GetParam() + "\"");
}

INSTANTIATE_TEST_SUITE_P(Spellings, BadDuration,
                         ::testing::Values("", "5", "s", "5 s", "-5s", "5S", "5sec", "1m30s", ".5s",
                                           "5.s", "1.5.5s", "0.1ns", "1.0000000001s",
                                           "9223372036854775807ns", "99999999999h",
                                           "100000000000000000000000000000000000000000s"));

}  // namespace
}  // namespace assay
