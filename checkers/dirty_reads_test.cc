#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::dirty_reads {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(dirty_reads_checker(), script, header);
}
const std::string kWrites =
    "0 invoke write k 1\n0 ok write k 1 revision=2\n"
    "1 invoke write k 2 expected=1 @n1\n1 fail write k error=conflict current=2\n"
    "2 invoke write k 3\n2 info write k error=timeout\n";
std::string read(const std::string& value) {
  return "3 invoke read k @n2\n3 ok read k " + value + " @n2\n";
}

TEST(DirtyReads, SeesWhatWasAcknowledgedOrMayHaveHappened) {
  const Verdict verdict = judge(kWrites + read("1") + read("3") + read("null"));
  EXPECT_EQ(verdict.safety, Safety::kValid) << headline_of(verdict);
  EXPECT_EQ(verdict.counts[0].second, 2);
}

TEST(DirtyReads, NeverWhatWasRefused) {
  const Verdict verdict = judge(kWrites + read("2"));
  EXPECT_EQ(verdict.reason, "read of an aborted write of k");
  EXPECT_EQ(headline_of(verdict), "p3 from n2 found 2, which p1 had been refused to write");
  EXPECT_EQ(judge(kWrites + "3 invoke list k\n3 ok list k [[\"k\",2,2]]\n").safety,
            Safety::kInvalid);
  EXPECT_EQ(judge(kWrites + "3 invoke watch k {\"prefix\":\"k\"}\n"
                            "3 ok watch k {\"events\":[[3,\"k\",\"put\",2,null]]}\n")
                .safety,
            Safety::kInvalid);
}

TEST(DirtyReads, NorWhatNobodyWroteOrNotYet) {
  EXPECT_EQ(judge(kWrites + read("9")).reason, "read of a value that nobody wrote of k");
  EXPECT_EQ(judge(kWrites + read("9"), R"({"initial":9})").safety, Safety::kValid);
  EXPECT_EQ(judge(kWrites + read("9") + "0 invoke write k 9\n0 ok write k 9\n").reason,
            "read of a value before it was written of k");
}

TEST(DirtyReads, NoGuardStandsOnAWriteThatFailed) {
  EXPECT_EQ(judge("0 invoke write k 1\n0 fail write k error=refused revision=7\n"
                  "1 invoke write k 2 expected=7\n1 ok write k 2 revision=8\n" +
                  std::string("3 invoke read k\n3 ok read k 2 revision=8\n"))
                .reason,
            "guard on an aborted write of k");
}

TEST(DirtyReads, WithoutAValueSeenIsVacuousAndOtherWordsAreNotItsMatter) {
  EXPECT_EQ(judge(kWrites + read("null")).safety, Safety::kVacuous);
  EXPECT_FALSE(dirty_reads_checker().applies(
      history_of("0 invoke add k 1\n0 ok add k 1\n0 invoke read k\n0 ok read k [1]\n")));
  EXPECT_EQ(testing_verdicts::without_time(dirty_reads_checker(), kWrites).safety, Safety::kUnknown);
}

}  // namespace
}  // namespace assay::dirty_reads
