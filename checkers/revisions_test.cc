#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::revisions {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(revisions_checker(), script, header);
}
std::string write(int value, int revision, int process = 0) {
  const std::string p = std::to_string(process), v = std::to_string(value);
  return p + " invoke write k " + v + "\n" + p + " ok write k " + v +
         " revision=" + std::to_string(revision) + " at=" + std::to_string(revision) + "\n";
}
const std::string kDelete = "0 invoke delete k\n0 ok delete k revision=0 at=4\n";

TEST(Revisions, AcceptsANewTokenForEachStateAlsoOfTheSameValueAndAfterADelete) {
  const Verdict verdict =
      judge(write(1, 2) + write(1, 3) + kDelete + write(1, 5) +
            "1 invoke txn [[\"w\",\"a\",1],[\"w\",\"b\",2]]\n"
            "1 ok txn [[\"w\",\"a\",1],[\"w\",\"b\",2]] revision=6 at=6\n"
            "1 invoke read k\n1 ok read k 1 revision=5 at=6\n");
  EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
  ASSERT_NE(verdict.find("tokens"), nullptr);
  EXPECT_EQ(verdict.find("header-revision")->counts[0].second, 6);
}

TEST(Revisions, ATokenIsNeverUsedAgain) {
  for (const char* tokens : {R"({"token":"orderable"})", R"({"token":"opaque"})"}) {
    EXPECT_EQ(judge(write(1, 2) + write(2, 3) + write(1, 2, 1), tokens).find("tokens")->reason,
              "a state that came back has its old token of k");
    EXPECT_EQ(judge(write(1, 2) + write(3, 2, 1), tokens).find("tokens")->reason,
              "one token for two states of k");
    EXPECT_THAT(headline_of(judge(write(1, 2) + kDelete + write(3, 2, 1), tokens)),
                HasSubstr("the key having been deleted between them"));
  }
}

TEST(Revisions, OfKeyVersionsTheCreationTellsAKeyMadeAnewFromTheOldOne) {
  const char* opaque = R"({"token":"opaque","token_kind":"key-version"})";
  const auto made = [](const char* token) {
    return std::string("0 invoke write k 1\n0 ok write k 1 revision=\"") + token + "\"\n";
  };
  const std::string gone = "0 invoke delete k\n0 ok delete k revision=0\n";
  const Verdict sound = judge(made("2.1") + gone + made("4.1") + made("4.2"), opaque);
  EXPECT_EQ(sound.safety, Safety::kValid) << headline_of(sound);
  EXPECT_EQ(sound.find("header-revision"), nullptr) << "there is none to judge";
  const Verdict again = judge(made("1") + gone + made("1"), opaque);
  EXPECT_EQ(again.find("tokens")->reason, "a state that came back has its old token of k");
}

TEST(Revisions, OneTokenIsOneValue) {
  EXPECT_THAT(headline_of(judge(write(1, 2) + "1 invoke read k\n1 ok read k 7 revision=2 at=2\n")),
              HasSubstr("revision 2 is 1 to one, and 7 to another"));
}

TEST(Revisions, ALaterStateHasAHigherTokenWhereTheyAreOrdered) {
  const std::string fell = write(1, 5) + write(2, 4, 1);
  EXPECT_EQ(judge(fell).find("tokens")->reason, "a later state has a lower token of k");
  EXPECT_EQ(judge(fell, R"({"token":"opaque"})").safety, Safety::kValid);
  EXPECT_EQ(judge("1 invoke write k 2\n" + write(1, 5) + "1 ok write k 2 revision=4 at=5\n")
                .find("tokens")
                ->safety,
            Safety::kValid)
      << "they overlapped";
}

TEST(Revisions, OneRevisionOfTheStoreIsOneChange) {
  EXPECT_EQ(judge(write(1, 2) + "1 invoke write b 2\n1 ok write b 2 revision=2 at=2\n")
                .find("tokens")
                ->reason,
            "one revision for two changes of b");
  EXPECT_EQ(judge(write(1, 2) + "1 invoke write b 2\n1 ok write b 2 revision=1 at=3\n"
                                "1 invoke write c 2\n1 ok write c 2 revision=1 at=4\n")
                .safety,
            Safety::kValid)
      << "revisions of keys are not the store's";
}

TEST(Revisions, TheStoresRevisionNeverGoesBackOverClientsNodesAndRestarts) {
  const std::string back = write(1, 5) +
                           "observer info exit {\"node\":\"n2\",\"signal\":9}\n"
                           "observer info start {\"node\":\"n2\"}\n"
                           "1 invoke read j @n2\n1 ok read j null @n2 revision=0 at=3\n";
  const Verdict verdict = judge(back);
  EXPECT_EQ(verdict.find("header-revision")->safety, Safety::kInvalid);
  EXPECT_EQ(verdict.find("tokens")->safety, Safety::kValid);
  EXPECT_THAT(headline_of(verdict), HasSubstr("p1 from n2 was answered to read j at revision 3"));
}

TEST(Revisions, ReadsThatNeedNotBeOfTheLatestStateGoBackOnOtherNodesAndInAnotherLife) {
  const std::string stale = R"({"token":"orderable","claims":{"read":"stale"}})";
  const std::string first = "1 invoke read j @n2\n1 ok read j null @n2 revision=0 at=7\n";
  const std::string older = "2 invoke read j @n2\n2 ok read j null @n2 revision=0 at=3\n";
  EXPECT_EQ(judge(first + older, stale).find("header-revision")->safety, Safety::kInvalid);
  EXPECT_EQ(judge(first + "observer info exit {\"node\":\"n2\",\"signal\":9}\n" + older, stale)
                .safety,
            Safety::kVacuous);
  EXPECT_EQ(judge(first + "2 invoke read j @n1\n2 ok read j null @n1 revision=0 at=3\n", stale)
                .find("header-revision")
                ->safety,
            Safety::kValid);
}

TEST(Revisions, TheStoresRevisionIsNoPartWhereNoTwoAnswersCarryIt) {
  const Verdict verdict = judge("1 invoke write k 1\n1 ok write k 1 revision=2\n" + write(2, 3));
  EXPECT_EQ(verdict.safety, Safety::kValid);
  EXPECT_EQ(verdict.find("header-revision"), nullptr) << "it would speak for H4";
  EXPECT_THAT(verdict.facts,
              testing::Contains(testing::Pair("not tested",
                                              "no two answers carry the store's revision")));
}

TEST(Revisions, WithoutTokensStatesCannotBeToldApartWhereThatIsClaimedAndNeeded) {
  const std::string loop =
      "0 invoke read k intent=a\n0 ok read k 1\n0 invoke write k 2 intent=a\n0 ok write k 2\n";
  const Verdict none = judge(loop, R"({"token":"none","claims":{"guarded-write":true}})");
  EXPECT_EQ(none.safety, Safety::kInvalid);
  EXPECT_EQ(none.reason, "no version token: accepted states cannot be told apart");
  EXPECT_FALSE(revisions_checker().applies(history_of(loop)));
  EXPECT_EQ(revisions_checker().check(history_of(loop), Budget{}).safety, Safety::kVacuous);
  EXPECT_EQ(testing_verdicts::without_time(revisions_checker(), write(1, 2)).safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::revisions
