#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using testing::Contains;
using testing::Pair;

Verdict judge(std::string_view script) {
  return stats_checker().check(history_of(script), Budget{});
}

TEST(Stats, CountsOutcomesByKindNodeAndErrorClass) {
  const Verdict verdict = judge(R"(
    0 invoke read k @n1
    0 ok read k 1 @n1
    0 invoke write k 1 @n2
    0 fail write k 1 @n2 error=refused
    0 invoke write k 1 @n2
    0 info write k 1 @n2 error=timeout
    1 invoke write k 1 @n2
  )");
  EXPECT_EQ(verdict.word(), Word::kValid);
  EXPECT_EQ(verdict.reason, "4 operations, 1 of them ok");
  EXPECT_THAT(verdict.counts, Contains(Pair("read ok", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("write ok", 0)));
  EXPECT_THAT(verdict.counts, Contains(Pair("write fail", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("write info", 2)));
  EXPECT_THAT(verdict.counts, Contains(Pair("n1 ok", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("error timeout", 1)));
  EXPECT_THAT(verdict.counts, Contains(Pair("error refused", 1)));
}

TEST(Stats, LatenciesAreQuantilesOfWhatWasOk) {
  std::string script;
  int64_t at = 0;
  for (int ms = 1; ms <= 101; ++ms) {
    script += "0 invoke read k @n1 time=" + std::to_string(at) + "ms\n";
    script += "0 ok read k 1 @n1 time=" + std::to_string(at + ms) + "ms\n";
    at += ms + 1;
  }
  script += "0 invoke read k @n1 time=" + std::to_string(at) + "ms\n";
  script += "0 info read k @n1 time=" + std::to_string(at + 9000) + "ms\n";
  const Verdict verdict = judge(script);
  const std::string expected = "median 51 ms, 95 % 96 ms, 99 % 100 ms, most 101 ms";
  EXPECT_THAT(verdict.facts, Contains(Pair("latency of read", expected)));
  EXPECT_THAT(verdict.facts, Contains(Pair("latency on n1", expected)));
}

TEST(Stats, WithoutOperationsAreVacuous) { EXPECT_EQ(judge("").word(), Word::kVacuous); }

}  // namespace
}  // namespace assay
