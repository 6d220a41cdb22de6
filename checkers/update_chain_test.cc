#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::update_chain {
namespace {

using testing_verdicts::headline_of;
using testing::HasSubstr;
using testing::SizeIs;

Verdict judge(std::string_view script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(update_chain_checker(), script, header);
}

constexpr std::string_view kFirst =
    "0 invoke write k 1 expected=0\n0 ok write k 1 revision=2 at=2\n";

TEST(UpdateChain, AcceptsOnePathAlsoOverADelete) {
  const Verdict verdict =
      judge(std::string(kFirst) +
            "1 invoke write k 2 expected=2 @n1\n2 invoke write k 3 expected=2 @n2\n"
            "1 ok write k 2 revision=3 at=3\n2 fail write k error=conflict current=3\n"
            "1 invoke delete k expected=3\n1 ok delete k revision=0 at=4\n"
            "1 invoke write k 4 expected=0\n1 ok write k 4 revision=5 at=5\n");
  EXPECT_EQ(verdict.safety, Safety::kValid) << verdict.reason << headline_of(verdict);
  EXPECT_EQ(verdict.counts[0].second, 4);
  EXPECT_THAT(verdict.counts, testing::Contains(testing::Pair("updates lost", 0)));
}

TEST(UpdateChain, CountsEveryAcceptedWriteThatReplacedWhatItsAuthorHadNotRead) {
  // Of four writes over revision 2 three replace what they have not seen; the last one has seen it.
  const std::string script =
      std::string(kFirst) +
      "1 invoke write k 2 expected=2\n2 invoke write k 3 expected=2\n3 invoke write k 4 expected=2\n"
      "1 ok write k 2 revision=3 at=3\n2 ok write k 3 revision=4 at=4\n"
      "3 ok write k 4 revision=5 at=5\n"
      "1 invoke write k 5 expected=2\n1 ok write k 5 revision=6 at=6\n"
      "2 invoke write k 6 expected=6\n2 ok write k 6 revision=7 at=7\n";
  for (const char* token : {"orderable", "opaque"}) {
    const Verdict verdict = judge(script, std::string(R"({"token":")") + token + R"("})");
    EXPECT_THAT(verdict.counts, testing::Contains(testing::Pair("updates lost", 3))) << token;
  }
  const Verdict created = judge(std::string(kFirst) +
                                "1 invoke write k 2 expected=0\n1 ok write k 2 revision=3 at=3\n");
  EXPECT_THAT(created.counts, testing::Contains(testing::Pair("updates lost", 1)))
      << "it was to be absent";
}

TEST(UpdateChain, TwoWritesAcceptedOverOneStateAreALostUpdateWhateverTheTokensAre) {
  for (const char* token : {"orderable", "opaque"}) {
    const Verdict verdict =
        judge(std::string(kFirst) +
                  "1 invoke write k 2 expected=2 intent=a @n1\n2 invoke write k 3 expected=2 @n2\n"
                  "1 ok write k 2 revision=3 at=3\n2 ok write k 3 revision=4 at=4\n",
              std::string(R"({"token":")") + token + R"("})");
    EXPECT_EQ(verdict.safety, Safety::kInvalid);
    EXPECT_EQ(verdict.reason, "lost update of k");
    EXPECT_THAT(headline_of(verdict), HasSubstr("p1 (intent a) and p2 both had a write accepted on "
                                             "condition that revision 2 was current"));
    EXPECT_THAT(verdict.children[0].witness->operations, SizeIs(2));
  }
}

// Tokens as the revision of a creation and a version, for equality only.
constexpr const char* kOpaque = R"({"token":"opaque","token_kind":"key-version"})";

TEST(UpdateChain, OpaqueTokensOfAKeyMadeAnewArePartOfOnePath) {
  const std::string script =
      "0 invoke write k 1 expected=0\n0 ok write k 1 revision=\"2.1\"\n"
      "0 invoke delete k expected=\"2.1\"\n0 ok delete k revision=0\n"
      "1 invoke write k 1 expected=0\n1 ok write k 1 revision=\"4.1\"\n"
      "1 invoke write k 2 expected=\"4.1\"\n1 ok write k 2 revision=\"4.2\"\n";
  EXPECT_EQ(judge(script, kOpaque).safety, Safety::kValid) << headline_of(judge(script, kOpaque));
  const Verdict twice = judge(script + "2 invoke write k 3 expected=\"4.1\"\n2 ok write k 3 revision=\"4.3\"\n", kOpaque);
  EXPECT_EQ(twice.reason, "lost update of k");
  const Verdict nobodys = judge(script + "2 invoke write k 3 expected=\"9.1\"\n2 ok write k 3 revision=\"9.2\"\n", kOpaque);
  EXPECT_EQ(nobodys.reason, "guard on a state that nobody made of k");
}

TEST(UpdateChain, AStateMayBeOfAnAcceptedWriteThatCameWithoutAToken) {
  const std::string script =
      "0 invoke write k 1\n0 ok write k 1\n"
      "1 invoke read k\n1 ok read k 1 revision=\"2.1\"\n"
      "1 invoke write k 2 expected=\"2.1\"\n1 ok write k 2 revision=\"2.2\"\n";
  EXPECT_EQ(judge(script, kOpaque).safety, Safety::kValid) << headline_of(judge(script, kOpaque));
  // One such write makes one state.
  EXPECT_EQ(judge(script + "2 invoke write k 3 expected=\"7.1\"\n2 ok write k 3 revision=\"7.2\"\n", kOpaque).safety,
            Safety::kInvalid);
}

TEST(UpdateChain, ATxnWhoseKeysHaveTokensOfTheirOwnMakesTheirStates) {
  const std::string script =
      R"(0 invoke txn [["w","a",1],["w","b",1]] guards=[["a",0],["b",0]])" "\n"
      R"(0 ok txn [["w","a",1],["w","b",1]] revisions=[["a","2.1"],["b","2.1"]])" "\n"
      R"(1 invoke txn [["w","a",2]] guards=[["a","2.1"],["b","2.1"]])" "\n"
      R"(1 ok txn [["w","a",2]] revisions=[["a","2.2"]])" "\n";
  EXPECT_EQ(judge(script, kOpaque).safety, Safety::kValid) << headline_of(judge(script, kOpaque));
  EXPECT_EQ(judge(script + R"(2 invoke txn [["w","a",3]] guards=[["a","2.1"]])" "\n"
                           R"(2 ok txn [["w","a",3]] revisions=[["a","2.3"]])" "\n", kOpaque).reason,
            "lost update of a");
}

TEST(UpdateChain, AGuardOnAStateThatHadBeenReplacedIsALostUpdate) {
  const std::string script = std::string(kFirst) +
                             "1 invoke write k 2\n1 ok write k 2 revision=3 at=3\n"
                             "2 invoke write k 3 expected=2\n2 ok write k 3 revision=4 at=4\n";
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.reason, "lost update of k");
  EXPECT_THAT(headline_of(verdict), HasSubstr("over revision 3 of p1"));
  EXPECT_EQ(judge(script, R"({"token":"opaque"})").safety, Safety::kValid) << "equality alone";
}

TEST(UpdateChain, AStateThatWasOnlyReadOrADeleteLiesBetweenToo) {
  EXPECT_THAT(headline_of(judge(std::string(kFirst) +
                             "1 invoke write k 2 expected=2\n1 info write k error=timeout\n"
                             "3 invoke read k\n3 ok read k 2 revision=3 at=3\n"
                             "2 invoke write k 3 expected=2\n2 ok write k 3 revision=4 at=4\n")),
              HasSubstr("over revision 3"));
  EXPECT_THAT(headline_of(judge(std::string(kFirst) +
                             "1 invoke delete k\n1 ok delete k revision=0 at=3\n"
                             "2 invoke write k 3 expected=2\n2 ok write k 3 revision=4 at=4\n")),
              HasSubstr("over revision 3"));
}

TEST(UpdateChain, ATokenMustHaveBeenGivenByAWriteOrMayBeOfOneUnknownWrite) {
  const std::string use = "2 invoke write k 3 expected=7\n2 ok write k 3 revision=8\n";
  const Verdict nobodys = judge(std::string(kFirst) + use);
  EXPECT_EQ(nobodys.reason, "guard on a state that nobody made of k");
  EXPECT_THAT(judge(std::string(kFirst) + "1 invoke write k 2\n1 fail write k error=refused\n" + use)
                  .children[0]
                  .facts,
              testing::Contains(testing::Pair("rests on", HasSubstr("definite failure"))));
  const std::string unknown = "1 invoke write k 2\n1 info write k error=timeout\n";
  EXPECT_EQ(judge(std::string(kFirst) + unknown + use).safety, Safety::kValid);
  EXPECT_EQ(judge(std::string(kFirst) + use + unknown).safety, Safety::kInvalid) << "not yet";
  EXPECT_EQ(judge(std::string(kFirst) + unknown + "3 invoke read k\n3 ok read k 9 revision=7\n" + use)
                .safety,
            Safety::kInvalid)
      << "another value was read with it";
  EXPECT_EQ(judge(std::string(kFirst) + unknown + use +
                  "4 invoke write k 5 expected=9\n4 ok write k 5 revision=10\n")
                .safety,
            Safety::kInvalid)
      << "one unknown write makes one state";
}

TEST(UpdateChain, WithoutTokensAnUpdateIsLostOverAWriteThatItsAuthorCannotHaveSeen) {
  const std::string read = "1 invoke read k intent=a\n1 ok read k 1\n";
  const std::string other = "2 invoke write k 2 intent=b\n2 ok write k 2\n";
  const std::string write = "1 invoke write k 3 intent=a\n1 ok write k 3\n";
  const Verdict lost = judge(read + other + write, "{}");
  EXPECT_EQ(lost.reason, "lost update of k");
  EXPECT_THAT(headline_of(lost), HasSubstr("p1 (intent a) wrote 3 over what p2 (intent b) had written"));
  EXPECT_THAT(lost.children[0].witness->operations, SizeIs(3));
  EXPECT_EQ(judge(read + write + other, "{}").safety, Safety::kValid);
  EXPECT_EQ(judge(other + read + write, "{}").safety, Safety::kValid);
  EXPECT_EQ(judge("1 invoke read k intent=a\n2 invoke write k 2 intent=b\n1 ok read k 1\n"
                  "2 ok write k 2\n" + write, "{}")
                .safety,
            Safety::kValid)
      << "it may have been seen";
}

TEST(UpdateChain, NoGuardedWriteAcceptedIsVacuous) {
  const Verdict none = judge("0 invoke write k 1 expected=3\n0 fail write k error=conflict current=0\n");
  EXPECT_EQ(none.safety, Safety::kVacuous);
  EXPECT_FALSE(update_chain_checker().applies(history_of("0 invoke write k 1\n0 ok write k 1\n")));
}

TEST(UpdateChain, AnExhaustedBudgetIsUnknown) {
  EXPECT_EQ(testing_verdicts::without_time(update_chain_checker(), kFirst).safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::update_chain
