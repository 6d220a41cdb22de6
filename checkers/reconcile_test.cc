#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::reconcile {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(reconcile_checker(), script, header);
}
int64_t count(const Verdict& verdict, const std::string& name) {
  for (const auto& [key, number] : verdict.counts)
    if (key == name) return number;
  return -1;
}
std::string read(int revision, const std::string& intent = "a") {
  return "1 invoke read k intent=" + intent + "\n1 ok read k 1 revision=" + std::to_string(revision) +
         "\n";
}
std::string write(int expected, const std::string& answer, const std::string& intent = "a",
                  const std::string& more = "") {
  return "1 invoke write k 2 intent=" + intent + " expected=" + std::to_string(expected) + " " + more +
         "\n1 " + answer + "\n";
}
const std::string kRefused = "fail write k error=conflict current=5";
const std::string kOk = "ok write k revision=9";

TEST(Reconcile, WhoIsRefusedReadsAgainAndIsAcceptedOnce) {
  const Verdict verdict = judge(read(2) + write(2, kRefused) + read(5) + write(5, kOk));
  EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
  EXPECT_EQ(count(verdict, "ended ok"), 1);
  EXPECT_EQ(count(verdict, "retries after a conflict"), 1);
  EXPECT_EQ(judge(read(2) + write(2, kRefused) +
                  "1 invoke list k intent=a\n1 ok list k [[\"k\",1,5]]\n" + write(5, kOk))
                .safety,
            Safety::kValid);
}

TEST(Reconcile, ATokenFromBeforeTheRefusalIsNoneToTryAgainWith) {
  const Verdict verdict = judge(read(2) + write(2, kRefused) + write(2, kOk));
  EXPECT_EQ(verdict.reason, "wrote again without looking");
  EXPECT_THAT(headline_of(verdict), HasSubstr("p1 (intent a) was refused to write k, and wrote again "
                                              "on condition that revision 2 was current"));
}

TEST(Reconcile, ThatWhichTheAnswerNamedMayBeTakenAndIsCounted) {
  const Verdict verdict = judge(read(2) + write(2, kRefused) + write(5, kOk));
  EXPECT_EQ(verdict.safety, Safety::kValid);
  EXPECT_EQ(count(verdict, "retries with the token alone"), 1);
}

TEST(Reconcile, AnIntentThatIsRefusedSaysThatItGivesUpOrWasCutOffByTheEnd) {
  const std::string other = read(5, "b") + write(5, kOk, "b");
  EXPECT_EQ(judge(read(2) + write(2, kRefused) + other).reason, "an intent dropped in silence");
  const Verdict given_up = judge(read(2) + write(2, kRefused, "a", "gives_up=true") + other);
  EXPECT_EQ(given_up.safety, Safety::kValid) << headline_of(given_up);
  EXPECT_EQ(count(given_up, "given up"), 1);
  EXPECT_EQ(count(judge(other + read(2) + write(2, kRefused)), "cut off by the end"), 1);
  EXPECT_EQ(count(judge(read(2) + write(2, "info write k error=timeout")), "ended unknown"), 1);
}

TEST(Reconcile, AttemptsAreBoundedWhereTheHeaderSays) {
  const std::string thrice = read(2) + write(2, kRefused) + read(5) + write(5, kRefused) + read(6) +
                             write(6, kOk);
  EXPECT_EQ(judge(thrice, R"({"thresholds":{"attempts_max":3}})").safety, Safety::kValid);
  EXPECT_EQ(judge(thrice, R"({"retry":{"steps":2}})").reason, "too many attempts");
}

TEST(Reconcile, NoIntentIsAppliedTwice) {
  EXPECT_EQ(judge(read(2) + write(2, kOk) + read(9) + write(9, "ok write k revision=10")).reason,
            "an intent applied twice");
  const std::string unknown =
      "1 invoke write k 7 intent=a expected=2\n1 info write k error=timeout\n";
  const std::string seen = "2 invoke read k\n2 ok read k 7 revision=5\n";
  EXPECT_EQ(judge(read(2) + unknown + seen + "3 invoke write k 8 intent=a expected=5\n"
                                             "3 ok write k 8 revision=6\n")
                .reason,
            "an intent applied twice");
  EXPECT_EQ(judge(read(2) + unknown + "3 invoke write k 8 intent=a expected=5\n"
                                      "3 ok write k 8 revision=6\n")
                .safety,
            Safety::kValid);
}

TEST(Reconcile, WithoutAnIntentThatEndedIsVacuous) {
  EXPECT_EQ(judge(read(2)).safety, Safety::kVacuous);
  EXPECT_FALSE(reconcile_checker().applies(history_of("1 invoke read k\n1 ok read k 1\n")));
  EXPECT_EQ(testing_verdicts::without_time(reconcile_checker(), read(2)).safety, Safety::kUnknown);
}

}  // namespace
}  // namespace assay::reconcile
