#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::conflicts {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(conflicts_checker(), script, header);
}

const std::string kTwo =
    "0 invoke write k 1 expected=0\n0 ok write k 1 revision=2 at=2\n"
    "0 invoke write k 2 expected=2\n0 ok write k 2 revision=3 at=3\n";
constexpr const char* kTokens[] = {R"({"token":"orderable"})", R"({"token":"opaque"})"};

TEST(Conflicts, OfATokenThatHadBeenReplacedIsRight) {
  for (const char* tokens : kTokens) {
    const Verdict verdict =
        judge(kTwo + "1 invoke write k 9 expected=2\n1 fail write k error=conflict current=3\n",
              tokens);
    EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
    EXPECT_EQ(verdict.counts[1].second, 1);
  }
}

TEST(Conflicts, OfATokenThatWasCurrentThroughoutIsWithoutCause) {
  for (const char* tokens : kTokens) {
    const Verdict verdict =
        judge(kTwo + "1 invoke write k 9 expected=3 @n1\n1 fail write k error=conflict\n", tokens);
    EXPECT_EQ(verdict.reason, "refused without cause of k");
    EXPECT_THAT(headline_of(verdict), HasSubstr("p1 was refused although revision 3"));
    EXPECT_THAT(verdict.children[0].facts,
                testing::Contains(testing::Pair("rests on", HasSubstr("definite failure"))));
  }
}

TEST(Conflicts, MayBeOfAnUnknownWriteUnlessTheTokenIsSeenAgain) {
  const std::string unknown = "5 invoke write k 7\n5 info write k error=timeout\n";
  const std::string conflict = "1 invoke write k 9 expected=3\n1 fail write k error=conflict\n";
  const std::string again = "2 invoke read k\n2 ok read k 2 revision=3 at=3\n";
  for (const char* tokens : kTokens) {
    EXPECT_EQ(judge(kTwo + unknown + conflict, tokens).safety, Safety::kValid);
    EXPECT_EQ(judge(kTwo + conflict + unknown, tokens).safety, Safety::kInvalid);
    EXPECT_EQ(judge(kTwo + unknown + conflict + again, tokens).safety, Safety::kInvalid);
  }
}

// A reader that is late, though reads are claimed to be of the latest state: that is no refusal's fault.
TEST(Conflicts, AReadThatIsSeenToBeOfThePastProvesNothingWhateverTheTokensAre) {
  for (const char* tokens : kTokens) {
    const std::string late = "2 invoke read k\n2 ok read k 1 revision=2 at=2\n";
    const std::string conflict = "1 invoke write k 9 expected=2\n1 fail write k error=conflict current=3\n";
    EXPECT_EQ(judge(kTwo + conflict + late, tokens).safety, Safety::kValid);
  }
}

TEST(Conflicts, OfTokensOfKeyVersionsAreJudgedByEquality) {
  const char* opaque = R"({"token":"opaque","token_kind":"key-version"})";
  const std::string made_anew =
      "0 invoke write k 1 expected=0\n0 ok write k 1 revision=\"2.1\"\n"
      "0 invoke delete k expected=\"2.1\"\n0 ok delete k revision=0\n"
      "0 invoke write k 1 expected=0\n0 ok write k 1 revision=\"4.1\"\n";
  const auto refused = [&](const char* token, const char* current) {
    return judge(made_anew + "1 invoke write k 9 expected=\"" + token + "\"\n1 fail write k error=conflict current=\"" +
                     current + "\"\n",
                 opaque);
  };
  EXPECT_EQ(refused("2.1", "4.1").safety, Safety::kValid);
  EXPECT_EQ(refused("4.1", "4.1").reason, "refused without cause of k");
  EXPECT_EQ(refused("2.1", "8.1").reason, "refused for a state that nobody made of k");
  EXPECT_EQ(judge(made_anew + "1 invoke write k 9 expected=\"2.1\"\n1 ok write k 9 revision=\"4.2\"\n", opaque).reason,
            "accepted with an old token of k");
}

TEST(Conflicts, AReadThatNeedNotBeOfTheLatestStateProvesNothing) {
  EXPECT_EQ(judge(kTwo + "5 invoke write k 7\n5 info write k error=timeout\n"
                         "1 invoke write k 9 expected=3\n1 fail write k error=conflict\n"
                         "2 invoke read k stale=true\n2 ok read k 2 revision=3 at=3\n")
                .safety,
            Safety::kValid);
}

TEST(Conflicts, AReadOfThePastConvictsNoRefusal) {
  EXPECT_EQ(judge(kTwo + "5 invoke write k 7 expected=3\n5 ok write k 7 revision=4 at=4\n"
                         "1 invoke write k 9 expected=3\n1 fail write k error=conflict\n"
                         "2 invoke read k\n2 ok read k 2 revision=3 at=3\n")
                .safety,
            Safety::kValid);
}

TEST(Conflicts, AnAnswerThatNamesTheTokenComparedRefutesItself) {
  EXPECT_THAT(headline_of(judge("1 invoke write k 9 expected=3\n2 invoke write k 4\n"
                                "1 fail write k error=conflict current=3\n")),
              HasSubstr("although what its answer names as current"));
}

TEST(Conflicts, TheCurrentTokenMustBeThatOfSomeWrite) {
  const std::string conflict = "1 invoke write k 9 expected=2\n1 fail write k error=conflict current=8\n";
  EXPECT_EQ(judge(kTwo + conflict).reason, "refused for a state that nobody made of k");
  EXPECT_EQ(judge(kTwo + "5 invoke write k 7\n5 info write k error=timeout\n" + conflict).safety,
            Safety::kValid);
  EXPECT_EQ(judge(kTwo + "1 invoke write k 9 expected=2\n"
                         "1 fail write k error=conflict current=0 at=3\n")
                .reason,
            "refused for an absence that was none of k");
}

TEST(Conflicts, ACreationIsRefusedOnlyWhereTheKeyMayHaveBeenThere) {
  const std::string create = "1 invoke write k 9 expected=0\n1 fail write k error=conflict\n";
  const std::string gone = "0 invoke delete k\n0 ok delete k revision=0 at=4\n";
  EXPECT_EQ(judge(kTwo + create).safety, Safety::kValid);
  EXPECT_EQ(judge(kTwo + gone + create).reason, "refused without cause of k");
  EXPECT_EQ(judge("5 invoke write k 7\n" + kTwo + gone + create).safety, Safety::kValid);
}

TEST(Conflicts, AGuardIsNotAcceptedOnATokenThatHadBeenReplaced) {
  const std::string late = "1 invoke write k 9 expected=2\n1 ok write k 9 revision=4 at=4\n";
  for (const char* tokens : kTokens) {
    const Verdict verdict = judge(kTwo + late, tokens);
    EXPECT_EQ(verdict.reason, "accepted with an old token of k");
  }
  const std::string guards = R"( guards=[["k",2]])";
  const std::string txn = "1 invoke txn [[\"w\",\"other\",1]]" + guards +
                          "\n1 ok txn [[\"w\",\"other\",1]] revision=5 at=5\n";
  EXPECT_EQ(judge(kTwo + txn).reason, "accepted with an old token of k");
}

TEST(Conflicts, AGuardedDeleteOfAKeyThatHadChangedOrWasGoneIsWrong) {
  const std::string over_another = "0 invoke delete k expected=2\n0 ok delete k revision=0 at=3\n";
  EXPECT_EQ(judge(kTwo + over_another).reason, "accepted with an old token of k");
  const std::string gone = "1 invoke delete k\n1 ok delete k revision=0 at=4\n";
  const std::string again = "0 invoke delete k expected=3\n0 ok delete k revision=0 at=4\n";
  EXPECT_EQ(judge(kTwo + gone + again).reason, "accepted with an old token of k");
  EXPECT_EQ(judge(kTwo + again + gone).safety, Safety::kValid);
}

// Versions of a key of its own, beside the store's revision: 2 comes after the delete at 11.
TEST(Conflicts, WhereTheKeysRevisionsAreNotTheStoresADeleteHasNoPlaceAmongThem) {
  EXPECT_EQ(judge("0 invoke write k 1\n0 ok write k 1 revision=1 at=10\n"
                  "0 invoke delete k expected=1\n0 ok delete k revision=0 at=11\n"
                  "0 invoke write k 2\n0 ok write k 2 revision=2 at=12\n")
                .safety,
            Safety::kValid);
}

TEST(Conflicts, ARefusalOfSeveralGuardsIsNotJudgedAndNoGuardAtAllIsVacuous) {
  const Verdict several =
      judge(kTwo + "1 invoke txn [[\"w\",\"a\",1]] guards=[[\"k\",3],[\"a\",0]]\n"
                   "1 fail txn [[\"w\",\"a\",1]] error=conflict\n");
  EXPECT_EQ(several.safety, Safety::kValid) << headline_of(several);
  EXPECT_THAT(several.facts, testing::Contains(testing::Pair("not tested", HasSubstr("at once"))));
  EXPECT_EQ(judge("1 invoke write k 9 expected=3\n1 info write k error=timeout\n").safety,
            Safety::kVacuous);
  EXPECT_EQ(testing_verdicts::without_time(conflicts_checker(), kTwo).safety, Safety::kUnknown);
}

}  // namespace
}  // namespace assay::conflicts
