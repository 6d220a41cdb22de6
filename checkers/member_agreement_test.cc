#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kThree =
    R"({"nodes":["n1","n2","n3"],"timing":{"election_timeout_min":300000000}})";

Verdict judge(std::string_view script) {
  return member_agreement_checker().check(history_of(script, kThree), Budget{});
}

std::string status(const char* node, const char* role, int term, const char* leader, int applied,
                   const char* chain, const char* time) {
  return "observer info status {\"node\":\"" + std::string(node) + "\",\"role\":\"" + role +
         "\",\"term\":" + std::to_string(term) + ",\"leader\":\"" + leader +
         "\",\"applied\":" + std::to_string(applied) + ",\"chain\":\"" + chain +
         "\"} time=" + time + "\n";
}

const std::string kRecovery = "observer info phase {\"phase\":\"recovery\"} time=10s\n";

TEST(MemberAgreement, EqualHistoriesAreValidAndConverged) {
  const Verdict verdict = judge(status("n1", "leader", 2, "n1", 7, "aa", "1s") +
                                status("n2", "follower", 2, "n1", 6, "bb", "1s") + kRecovery +
                                status("n1", "leader", 2, "n1", 9, "cc", "11s") +
                                status("n2", "follower", 2, "n1", 7, "aa", "11s") +
                                status("n3", "follower", 2, "n1", 9, "cc", "11s") +
                                status("n2", "follower", 2, "n1", 9, "cc", "12s"));
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
  EXPECT_EQ(verdict.progress, Progress::kOk);
  ASSERT_NE(verdict.find("convergence"), nullptr);
  EXPECT_THAT(verdict.find("convergence")->counts, Contains(Pair("convergence ms", 2000)));
  EXPECT_THAT(verdict.find("chains")->counts, Contains(Pair("chain hashes compared", 3)));
}

TEST(MemberAgreement, OneIndexWithTwoHashesIsInvalid) {
  const Verdict verdict = judge(status("n1", "leader", 2, "n1", 7, "aa", "1s") +
                                status("n2", "follower", 2, "n1", 7, "bb", "5s"));
  EXPECT_EQ(verdict.safety, Safety::kInvalid);
  EXPECT_THAT(verdict.reason, HasSubstr("they differ at index 7"));
  ASSERT_TRUE(verdict.find("chains")->witness);
  EXPECT_EQ(verdict.find("chains")->witness->lines[0],
            "n2 and n1 had both applied 7 entries, but not the same ones");
}

TEST(MemberAgreement, TheHashesGivenAtTheEndCountAsWell) {
  const std::string chains =
      "observer info chain {\"node\":\"n1\",\"from\":5,\"hashes\":[\"x\",\"y\",\"z\"]} time=20s\n"
      "observer info chain {\"node\":\"n2\",\"from\":6,\"hashes\":[\"y\",\"q\"]} time=20s\n";
  const Verdict differ = judge(chains);
  EXPECT_EQ(differ.safety, Safety::kInvalid);
  EXPECT_THAT(differ.reason, HasSubstr("index 7"));
  const Verdict sampled = judge(status("n3", "follower", 1, "n1", 6, "other", "1s") + chains);
  EXPECT_THAT(sampled.reason, HasSubstr("index 6"));
}

TEST(MemberAgreement, TwoLeadersInOneTermAreInvalidInTwoTermsLegal) {
  const Verdict legal = judge(status("n1", "leader", 2, "n1", 7, "aa", "1s") +
                              status("n2", "leader", 3, "n2", 7, "aa", "1s"));
  EXPECT_EQ(legal.safety, Safety::kValid);
  EXPECT_EQ(legal.find("election-safety")->reason, "each of 2 terms had one leader");
  const Verdict split = judge(status("n1", "leader", 3, "n1", 7, "aa", "1s") +
                              status("n2", "leader", 3, "n2", 7, "aa", "9s"));
  EXPECT_EQ(split.safety, Safety::kInvalid);
  EXPECT_EQ(split.reason, "term 3 has two leaders");
}

TEST(MemberAgreement, AMemberThatStaysBehindBlocksUnlessTheHostStalled) {
  const std::string behind = kRecovery + status("n1", "leader", 2, "n1", 9, "cc", "11s") +
                             status("n3", "follower", 2, "n1", 9, "cc", "11s") +
                             status("n2", "follower", 2, "n1", 7, "aa", "15s");
  const std::string end = "observer info phase {\"phase\":\"end\"} time=17s\n";
  const Verdict blocked = judge(behind + end);
  EXPECT_EQ(blocked.word(), Word::kBlocked);
  EXPECT_THAT(blocked.reason, HasSubstr("n2 has applied 7 of 9"));
  const Verdict stalled =
      judge(behind + "observer info host {\"stall\":2300000000} time=16400ms\n" + end);
  EXPECT_EQ(stalled.word(), Word::kUnknown);
  EXPECT_THAT(stalled.reason, HasSubstr("host stalled 2.3 s at 14.1 s"));
  EXPECT_EQ(judge(behind).word(), Word::kUnknown);  // cut short: who knows what it would have done
}

TEST(MemberAgreement, NothingComparedIsVacuous) {
  EXPECT_EQ(judge(status("n1", "leader", 2, "n1", 7, "aa", "1s")).word(), Word::kVacuous);
  EXPECT_EQ(judge("0 invoke read k\n0 ok read k 1\n").word(), Word::kVacuous);
}

// A leader without terms, and no fault after which they must become one.
TEST(MemberAgreement, WhereNothingCouldDisagreeNothingIsMissing) {
  const Verdict verdict = judge(
      R"(observer info status {"node":"n1","role":"leader","leader":"n1","applied":7} time=1s
observer info status {"node":"n2","role":"follower","leader":"n1","applied":7} time=1s
)");
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
  EXPECT_THAT(verdict.facts, Contains(Pair("not tested", HasSubstr("one leader per term"))));
}

TEST(MemberAgreement, TargetsWithoutChainsSayThatTheyWereNotCompared) {
  const Verdict verdict =
      judge("observer info status {\"node\":\"n1\",\"role\":\"leader\",\"term\":4} time=1s\n");
  EXPECT_EQ(verdict.word(), Word::kValid);
  EXPECT_EQ(verdict.find("chains"), nullptr);
  EXPECT_THAT(verdict.facts, Contains(Pair("not tested", HasSubstr("no chain hash"))));
}

}  // namespace
}  // namespace assay
