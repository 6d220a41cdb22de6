#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::field_ownership {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(field_ownership_checker(), script, header);
}
std::string object(int replicas, const std::string& label) {
  return "{\"replicas\":" + std::to_string(replicas) + ",\"label\":\"" + label + "\"}";
}
const std::string kCreate = "0 invoke write o " + object(3, "") + "\n0 ok write o " + object(3, "") +
                            " revision=2 at=2\n";
const std::string kRead7 = "7 invoke read o intent=b @n2\n7 ok read o " + object(3, "") +
                           " @n2 revision=2 at=2\n";
const std::string kScale = "3 invoke write o " + object(5, "") + " sets=replicas intent=a @n1\n" +
                           "3 ok write o " + object(5, "") + " @n1 revision=3 at=3\n";
std::string label(int replicas, const std::string& more = "revision=4 at=4") {
  return "7 invoke write o " + object(replicas, "x") + " sets=label intent=b @n2\n7 ok write o " +
         object(replicas, "x") + " @n2 " + more + "\n";
}

TEST(FieldOwnership, AcceptsWritersWhoKeepEachOthersFields) {
  const Verdict verdict = judge(kCreate + kScale + label(5) + "9 invoke read o phase=final\n9 ok read o " +
                                object(5, "x") + " revision=4 at=4\n");
  EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
  EXPECT_EQ(verdict.counts[1].second, 2);
}

TEST(FieldOwnership, AFieldThatIsWrittenBackIsALostUpdateWithAndWithoutTokens) {
  for (const char* tokens : {R"({"token":"orderable"})", "{}"}) {
    const Verdict verdict = judge(kCreate + kRead7 + kScale + label(3), tokens);
    EXPECT_EQ(verdict.reason, "lost update of o");
    EXPECT_THAT(headline_of(verdict), HasSubstr("p3 (intent a) set replicas to 5 ("));
    EXPECT_THAT(headline_of(verdict),
                HasSubstr("); p7 (intent b), who had read the object before, wrote it back to 3 while "
                          "setting label"));
    EXPECT_EQ(verdict.children[0].witness->operations.size(), 3u);
  }
}

TEST(FieldOwnership, OfWritesThatOverlapTheTokensTellWhoWroteBack) {
  const std::string both = kCreate + kRead7 + "3 invoke write o " + object(5, "") +
                           " sets=replicas\n7 invoke write o " + object(3, "x") +
                           " sets=label intent=b\n3 ok write o " + object(5, "") +
                           " revision=3\n7 ok write o " + object(3, "x") + " revision=4\n";
  EXPECT_THAT(headline_of(judge(both)), HasSubstr("wrote it back to 3 while setting label"));
  EXPECT_EQ(judge(both, "{}").safety, Safety::kValid) << "by time alone either order may be";
  EXPECT_EQ(judge(both + "9 invoke read o phase=final\n9 ok read o " + object(3, "x") + "\n",
                  R"({"claims":{"read":"stale"}})")
                .reason,
            "lost update of o")
      << "the final read tells";
}

TEST(FieldOwnership, AnUnknownWriteMayHaveSetItsField) {
  const std::string unknown =
      "4 invoke write o " + object(8, "") + " sets=replicas\n4 info write o error=timeout\n";
  EXPECT_EQ(judge(kCreate + unknown + label(8)).safety, Safety::kValid);
  EXPECT_EQ(judge(kCreate + label(8)).safety, Safety::kInvalid);
}

TEST(FieldOwnership, ReadsThatNeedNotBeOfTheLatestStateAreJudgedInTheEndAlone) {
  const char* stale = R"({"token":"orderable","claims":{"read":"stale"}})";
  const std::string old = " read o " + object(3, "") + " revision=2 at=2\n";
  EXPECT_EQ(judge(kCreate + kScale + "8 invoke read o\n8 ok" + old, stale).safety, Safety::kValid);
  EXPECT_EQ(judge(kCreate + kScale + "8 invoke read o phase=final\n8 ok" + old, stale).safety,
            Safety::kInvalid);
}

TEST(FieldOwnership, WithoutAWriteAcceptedIsVacuous) {
  EXPECT_EQ(judge("3 invoke write o " + object(5, "") + " sets=replicas\n3 fail write o "
                  "error=conflict\n")
                .safety,
            Safety::kVacuous);
  EXPECT_FALSE(field_ownership_checker().applies(history_of(kCreate)));
  EXPECT_EQ(testing_verdicts::without_time(field_ownership_checker(), kCreate + kScale).safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::field_ownership
