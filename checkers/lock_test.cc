#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::lock {
namespace {

using testing::HasSubstr;
using testing_verdicts::headline_of;

Verdict judge(const std::string& script, std::string_view header = R"({"token":"orderable"})") {
  return testing_verdicts::judged_by(lock_checker(), script, header);
}
std::string at(int ms) { return " time=" + std::to_string(ms) + "ms\n"; }
// Process p takes the lock within [from, from + 1] ms.
std::string take(int p, int fence, int from, const std::string& answer = "ok", int ttl = 100) {
  const std::string process = std::to_string(p);
  const std::string record = "{\"holder\":\"h" + process + "\",\"fence\":" + std::to_string(fence) +
                             ",\"ttl_ms\":" + (ttl ? std::to_string(ttl) : "null") + "}";
  return process + " invoke write lock " + record + " expected=1" + at(from) + process + " " + answer +
         " write lock " + (answer == "ok" ? record + " revision=" + std::to_string(fence + 10) : "") +
         (answer == "fail" ? " error=conflict" : "") + at(from + 1);
}
std::string release(int p, int fence, int from) {
  const std::string process = std::to_string(p);
  const std::string record = "{\"holder\":null,\"fence\":" + std::to_string(fence) + "}";
  return process + " invoke write lock " + record + at(from) + process + " ok write lock " + record +
         " revision=" + std::to_string(fence + 11) + at(from + 1);
}
std::string work(int p, int fence, int from, int revision) {
  const std::string process = std::to_string(p), value = " write o " + std::to_string(revision);
  return process + " invoke" + value + " fence=" + std::to_string(fence) + at(from) + process + " ok" +
         value + " revision=" + std::to_string(revision) + at(from + 1);
}

TEST(Lock, HoldersWhoFollowEachOtherAreFine) {
  const Verdict verdict = judge(take(1, 1, 10) + work(1, 1, 20, 100) + release(1, 1, 30) +
                                take(2, 5, 40) + work(2, 5, 50, 101) + release(2, 5, 60));
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason << headline_of(verdict);
  EXPECT_EQ(verdict.counts[0].second, 2);
  EXPECT_EQ(verdict.counts[1].second, 0);
}

TEST(Lock, ALowerFenceNumberAfterAHigherOneIsInvalid) {
  const std::string late = take(1, 1, 10) + take(2, 5, 200) + work(2, 5, 210, 100);
  for (const char* tokens : {R"({"token":"orderable"})", "{}"}) {
    const Verdict verdict = judge(late + work(1, 1, 220, 101), tokens);
    EXPECT_EQ(verdict.reason, "a lower fence number after a higher one of o");
    EXPECT_THAT(headline_of(verdict), HasSubstr("p1 had a write accepted under number 1 of the lock, "
                                                "after p2 had written under number 5"));
  }
}

TEST(Lock, TwoWhoBelieveToHoldAreCountedAndInvalidOnlyWhereExclusionIsClaimed) {
  const std::string both = take(1, 1, 10, "ok", 500) + take(2, 5, 200, "ok", 500);
  const Verdict verdict = judge(both);
  EXPECT_EQ(verdict.safety, Safety::kValid);
  EXPECT_EQ(verdict.counts[1].second, 1);
  EXPECT_THAT(verdict.facts,
              testing::Contains(testing::Pair("belief overlap",
                                              HasSubstr("h1 and h2 both believed that they held"))));
  EXPECT_EQ(judge(both, R"({"claims":{"lock":"exclusive"}})").safety, Safety::kInvalid);
}

TEST(Lock, WhoWritesUnderItsNumberStillBelieves) {
  const std::string paused = take(1, 1, 10) + take(2, 5, 200);
  EXPECT_EQ(judge(paused).counts[1].second, 0) << "its time was up";
  EXPECT_EQ(judge(paused + work(1, 1, 220, 100)).counts[1].second, 1);
}

TEST(Lock, TwoHoldersNeverHaveOneNumber) {
  EXPECT_EQ(judge(take(1, 1, 10, "ok", 5) + take(2, 1, 200)).reason,
            "one fence number for two holders of lock");
}

TEST(Lock, ThatNobodyObtainsAfterItsHolderIsGoneBlocks) {
  const char* header = R"({"token":"orderable","thresholds":{"lock_ms_max":1000}})";
  std::string tries;
  for (int i = 0; i < 20; ++i) tries += take(2, 5, 100 + 100 * i, "fail");
  const Verdict blocked = judge(take(1, 1, 10, "ok", 0) + tries, header);
  EXPECT_EQ(blocked.word(), Word::kBlocked);
  EXPECT_EQ(blocked.reason, "nobody obtained the lock lock for 1.9 s after its holder, h1, was gone");
  EXPECT_EQ(judge(take(1, 1, 10, "ok", 0) + tries + work(1, 1, 2200, 100), header).word(),
            Word::kValid)
      << "it was not gone";
  EXPECT_EQ(judge(take(1, 1, 10) + take(2, 5, 100, "fail") + take(2, 5, 300), header).progress,
            Progress::kOk);
}

TEST(Lock, WhileNoMajorityStandsNobodyIsDueToObtainIt) {
  const char* header =
      R"({"token":"orderable","nodes":["n1","n2","n3"],"thresholds":{"lock_ms_max":1000}})";
  const auto tried = [](int from, int to) {
    std::string tries;
    for (int ms = from; ms < to; ms += 100) tries += take(2, 5, ms, "fail");
    return tries;
  };
  const std::string cut =
      "nemesis info start-kill {}" + at(150) +
      "nemesis info start-kill {\"victims\":[\"n1\",\"n2\"],\"installed\":true,\"bit\":true}" + at(160);
  const std::string healed = "nemesis info stop-kill" + at(1850) +
                             "nemesis info stop-kill {\"healed\":true}" + at(1860);
  const std::string gone = take(1, 1, 10, "ok", 0) + tried(100, 150);
  EXPECT_EQ(judge(gone + cut + tried(200, 1800) + healed + tried(1900, 2000), header).word(),
            Word::kValid);
  EXPECT_EQ(judge(gone + tried(200, 2000), header).word(), Word::kBlocked);
}

TEST(Lock, AHolderIsItsIntentAndItsProcessMayGoOnAsSomebodyElse) {
  const char* header = R"({"token":"orderable","thresholds":{"lock_ms_max":1000}})";
  const std::string taken =
      "1 invoke write lock {\"holder\":7,\"fence\":1,\"ttl_ms\":0} expected=0 intent=7" + at(10) +
      "1 ok write lock {\"holder\":7,\"fence\":1,\"ttl_ms\":0} revision=11" + at(11);
  std::string polls;
  for (int i = 0; i < 20; ++i) {
    polls += "1 invoke read lock intent=8" + at(100 + 100 * i) +
             "1 ok read lock {\"holder\":7,\"fence\":1,\"ttl_ms\":0} revision=11" + at(101 + 100 * i);
  }
  EXPECT_EQ(judge(taken + polls, header).word(), Word::kBlocked);
}

TEST(Lock, NobodyWhoObtainedItIsVacuous) {
  EXPECT_EQ(judge(take(1, 1, 10, "fail")).safety, Safety::kVacuous);
  EXPECT_FALSE(lock_checker().applies(history_of("0 invoke write k 1\n0 ok write k 1\n")));
  EXPECT_EQ(testing_verdicts::without_time(lock_checker(), take(1, 1, 10)).safety, Safety::kUnknown);
}

}  // namespace
}  // namespace assay::lock
