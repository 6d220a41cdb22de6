#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::durable {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(durable_checker(), script, header);
}
// A final read on a node.
std::string last(const std::string& value, const std::string& node = "n1",
                 const std::string& more = "") {
  return "9 invoke read k @" + node + " phase=final\n9 ok read k " + value + " @" + node + " " + more +
         "\n";
}
const std::string kWrites =
    "0 invoke write k 1\n0 ok write k 1 revision=2\n0 invoke write k 5\n0 ok write k 5 revision=3\n";
const std::string kUnknown = "4 invoke write k 7\n4 info write k error=timeout\n";

TEST(Durable, TheLastAcknowledgedWriteOrAnUnknownOneIsThereInTheEnd) {
  EXPECT_EQ(judge(kWrites + last("5") + last("5", "n2")).safety, Safety::kValid);
  EXPECT_EQ(judge(kWrites + kUnknown + last("7")).safety, Safety::kValid);
}

TEST(Durable, AnAcknowledgedWriteThatIsGoneIsLostOnWhicheverNode) {
  const Verdict verdict = judge(kWrites + last("5") + last("1", "n3"));
  EXPECT_EQ(verdict.reason, "lost acknowledged write of k");
  EXPECT_EQ(headline_of(verdict), "n3 has 1 in the end, though 5 of p0 was acknowledged after it");
  EXPECT_EQ(judge(kWrites + last("null")).safety, Safety::kInvalid);
  EXPECT_EQ(judge(kWrites + last("1") + last("5")).safety, Safety::kValid) << "the last read counts";
}

TEST(Durable, WhereReadsMayBeOldOneNodeThatHasItIsEnough) {
  const char* stale = R"({"claims":{"read":"stale"}})";
  EXPECT_EQ(judge(kWrites + last("5") + last("1", "n3"), stale).safety, Safety::kValid);
  EXPECT_EQ(judge(kWrites + last("1") + last("1", "n3"), stale).safety, Safety::kInvalid);
}

TEST(Durable, OfWritesThatOverlapTheTokensTellTheLast) {
  const std::string both =
      "0 invoke write k 1\n1 invoke write k 2\n0 ok write k 1 revision=3\n1 ok write k 2 revision=2\n";
  EXPECT_EQ(judge(both + last("2", "n1", "revision=2")).safety, Safety::kInvalid);
  EXPECT_EQ(judge(both + last("1", "n1", "revision=3")).safety, Safety::kValid);
  EXPECT_EQ(judge(both + last("2", "n1", "revision=2"), "{}").safety, Safety::kValid);
}

TEST(Durable, TokensThatStartAnewAfterADeleteTellNothing) {
  const std::string again = "0 invoke write k 1\n0 ok write k 1 revision=5 at=9\n"
                            "0 invoke delete k\n0 ok delete k revision=0 at=10\n"
                            "0 invoke write k 2\n0 ok write k 2 revision=1 at=11\n";
  EXPECT_EQ(judge(again + last("2", "n1", "revision=1 at=11")).safety, Safety::kValid);
}

TEST(Durable, NothingAppearsThatNobodyWrote) {
  EXPECT_EQ(judge(kWrites + last("8")).reason, "a value that nobody wrote of k");
}

TEST(Durable, AFinalListLacksNoKeyOfASet) {
  const std::string set = "0 invoke write s/1 1\n0 ok write s/1 1\n0 invoke write s/2 2\n"
                          "0 ok write s/2 2\n1 invoke write s/3 3\n1 info write s/3 error=timeout\n";
  const std::string list = "9 invoke list s/ @n2 phase=final\n9 ok list s/ ";
  EXPECT_EQ(judge(set + list + "[[\"s/1\",1,2],[\"s/2\",2,3]] @n2\n").safety, Safety::kValid);
  const Verdict lost = judge(set + list + "[[\"s/1\",1,2],[\"s/3\",3,4]] @n2\n");
  EXPECT_EQ(lost.reason, "lost acknowledged write of s/2");
  EXPECT_EQ(headline_of(lost), "n2 has nothing in the end, though 2 of p0 was acknowledged");
}

TEST(Durable, AListToWhichIntentsAppendKeepsEachElementOnce) {
  const std::string list = "0 invoke write k [1]\n0 ok write k [1]\n0 invoke write k [1,2]\n"
                           "0 ok write k [1,2]\n1 invoke write k [1,2,3]\n1 info write k error=timeout\n";
  EXPECT_EQ(judge(list + last("[1,2]")).safety, Safety::kValid);
  EXPECT_EQ(judge(list + last("[1,2,3]")).safety, Safety::kValid);
  EXPECT_THAT(headline_of(judge(list + last("[2,3]"))), HasSubstr("n1 lacks 1 in the end"));
  EXPECT_THAT(headline_of(judge(list + last("[1,2,2]"))), HasSubstr("has 2 2 times in the end"));
  EXPECT_THAT(headline_of(judge(list + last("[1,2,9]"))), HasSubstr("has 9 in the end"));
}

TEST(Durable, ACounterCountsWhatWasAcknowledgedAndAtMostTheUnknown) {
  const char* header = R"({"workload":"counter"})";
  const std::string counts = "0 invoke write k 0 expected=0\n0 ok write k 0\n"
                             "0 invoke write k 1 intent=a\n0 ok write k 1\n"
                             "1 invoke write k 2 intent=b\n1 ok write k 2\n"
                             "2 invoke write k 3 intent=c\n2 info write k error=timeout\n";
  EXPECT_EQ(judge(counts + last("2"), header).safety, Safety::kValid);
  EXPECT_EQ(judge(counts + last("3"), header).safety, Safety::kValid);
  EXPECT_EQ(judge(counts + last("1"), header).reason, "lost increments of k");
  EXPECT_EQ(judge(counts + last("4"), header).reason, "increments that nobody made of k");
}

TEST(Durable, WithoutAnAnswerInTheEndIsVacuousAndWithoutFinalReadsNotAsked) {
  EXPECT_EQ(judge(kWrites + "9 invoke read k phase=final\n9 info read k error=timeout\n").safety,
            Safety::kVacuous);
  EXPECT_FALSE(durable_checker().applies(history_of(kWrites)));
  EXPECT_EQ(testing_verdicts::without_time(durable_checker(), kWrites + last("5")).safety,
            Safety::kUnknown);
}

}  // namespace
}  // namespace assay::durable
