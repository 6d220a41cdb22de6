#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

Verdict judge(std::string_view script) {
  return node_exits_checker().check(history_of(script), Budget{});
}

TEST(NodeExits, ThatWereAskedForAreValid) {
  const Verdict verdict = judge(R"(
    observer info exit {"node":"n1","code":-1,"signal":9,"expected":true} time=1s
    observer info exit {"node":"n2","code":0,"signal":0,"expected":true} time=2s
  )");
  EXPECT_EQ(verdict.word(), Word::kValid);
  EXPECT_EQ(verdict.reason, "no node ended by itself; 2 exits were asked for");
}

TEST(NodeExits, ACrashIsInvalidAndNamesTheLogLine) {
  const Verdict verdict = judge(R"(
    observer info log {"node":"n2","line":"apply: index went back","finding":"panic"} time=13s
    observer info exit {"node":"n2","code":-1,"signal":6,"expected":false} time=13200ms
  )");
  EXPECT_EQ(verdict.safety, Safety::kInvalid);
  EXPECT_EQ(verdict.reason,
            "unexpected exit: n2 ended by itself at 13.2 s (signal 6), n2 logged at 13.0 s: apply: "
            "index went back");
  ASSERT_TRUE(verdict.witness);
  EXPECT_THAT(verdict.counts, Contains(Pair("exits unexpected", 1)));
}

TEST(NodeExits, AGraveFindingIsInvalidOthersAreShown) {
  const Verdict grave = judge(
      R"(observer info log {"node":"n2","line":"record 7: bad checksum","finding":"corruption"})");
  EXPECT_EQ(grave.safety, Safety::kInvalid);
  EXPECT_THAT(grave.reason, HasSubstr("record 7: bad checksum"));
  const Verdict other =
      judge(R"(observer info log {"node":"n2","line":"took 2 s","finding":"slow"})");
  EXPECT_EQ(other.safety, Safety::kValid);
  EXPECT_THAT(other.facts, Contains(Pair("finding slow", HasSubstr("took 2 s"))));
}

TEST(NodeExits, WithoutObserverIsVacuous) {
  EXPECT_EQ(judge("0 invoke read k\n0 ok read k 1\n").word(), Word::kVacuous);
}

}  // namespace
}  // namespace assay
