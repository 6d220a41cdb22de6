#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"
#include "checkers/run_script.h"

namespace assay {
namespace {

using run_script::Script;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

const std::vector<std::string> kNodes = {"n1", "n2", "n3"};
const std::vector<std::string> kMajority = {"n1", "n2"};
constexpr std::string_view kKilled = R"({"victims":["n3"],"installed":true,"bit":true})";

std::string header(const std::string& more = "") {
  return R"({"workload":"register","nodes":["n1","n2","n3"],"faults":["kill"])" + more + "}";
}

Verdict judge(const Script& script, const std::string& header_json) {
  return non_vacuity_checker().check(history_of(script.text(), header_json), Budget{});
}

// A run of 20 s in which n3 is down from 5 s to 10 s, and everything that K17 asks for happens.
Script good_run() {
  Script script;
  script.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 10'000, std::string(kKilled))
      .load(5100, 40, 100, kMajority)
      .op(5200, 5300, "read", "n3", "fail", "error=refused")
      .load(10'100, 40, 100, kNodes)
      .observe(16'000, "phase", R"({"phase":"final"})")
      .op(16'100, 16'101, "read", "n1", "ok", "phase=final");
  return script;
}

std::vector<std::string> missing(const Verdict& verdict) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : verdict.facts) {
    if (name == "missing") texts.push_back(text);
  }
  return texts;
}

TEST(NonVacuity, ARunThatExercisedEverythingIsValid) {
  const Verdict verdict = judge(good_run(), header());
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
  EXPECT_THAT(missing(verdict), IsEmpty());
  EXPECT_THAT(verdict.facts, Contains(Pair("threshold ok_per_f", "10")));
  EXPECT_THAT(verdict.counts, Contains(Pair("kill bit", 1)));
}

TEST(NonVacuity, IsNotAskedOfForeignHistories) {
  const History foreign = history_of("0 invoke read k\n0 ok read k 1\n");
  EXPECT_FALSE(non_vacuity_checker().applies(foreign));
  EXPECT_EQ(non_vacuity_checker().check(foreign, Budget{}).word(), Word::kValid);
}

TEST(NonVacuity, EachKindOfOperationMustHaveBeenOk) {
  Script script = good_run();
  script.op(17'000, 17'001, "delete", "n1", "fail", "error=refused");
  const Verdict verdict = judge(script, header());
  EXPECT_EQ(verdict.word(), Word::kVacuous);
  EXPECT_THAT(missing(verdict), Contains("delete: 0 ok of 10 needed"));
  EXPECT_THAT(verdict.facts, Contains(Pair("remedy", HasSubstr("`--time-limit"))));
}

TEST(NonVacuity, ThresholdsOfTheHeaderDecide) {
  Script script;
  script.load(100, 40, 6, kNodes);
  const std::string no_fault = R"({"workload":"script","nodes":["n1"])";
  EXPECT_EQ(judge(script, no_fault + "}").word(), Word::kVacuous);
  const Verdict set = judge(script, no_fault + R"(,"thresholds":{"ok_per_f":2}})");
  EXPECT_EQ(set.word(), Word::kValid) << set.reason;
  EXPECT_THAT(set.facts, Contains(Pair("threshold ok_per_f", "2")));
}

TEST(NonVacuity, AClaimedFaultMustHaveBeenInstalledHaveBittenAndBeHealed) {
  Script never;
  never.load(100, 40, 100, kNodes);
  EXPECT_THAT(missing(judge(never, header())), Contains("kill: installed 0 of 1 needed"));

  Script not_installed;
  not_installed.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 6000, R"({"victims":["n3"],"installed":false,"bit":false})");
  EXPECT_THAT(missing(judge(not_installed, header())),
              Contains("kill: installed 0 of 1 needed, 1 tried"));

  Script no_bite;
  no_bite.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 6000, R"({"victims":["n3"],"installed":true,"bit":false})");
  EXPECT_THAT(missing(judge(no_bite, header())), Contains("kill: observed to bite 0 of 1 needed"));

  Script no_heal;
  no_heal.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 6000, std::string(kKilled), R"({"healed":false})");
  EXPECT_THAT(missing(judge(no_heal, header())), Contains("kill: healed 0 of 1 needed"));
}

TEST(NonVacuity, SomethingMustHaveGoneDifferentlyBecauseOfTheFault) {
  Script script;
  script.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 10'000, std::string(kKilled))
      .load(5100, 40, 300, kMajority);
  EXPECT_THAT(missing(judge(script, header())),
              Contains("kill: no operation and no sample went differently because of it"));
  // A node that does not answer the observer is enough.
  script.observe(4000, "status", R"({"node":"n3","role":"follower","term":1})")
      .observe(6000, "status", R"({"node":"n3","role":"down"})");
  EXPECT_EQ(judge(script, header()).word(), Word::kValid);
}

TEST(NonVacuity, ProgressIsNeededUnderAFaultWhereAMajorityStood) {
  Script script;
  script.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 10'000, std::string(kKilled))
      .op(5200, 5300, "read", "n3", "fail", "error=refused")
      .load(5400, 40, 5, kMajority)
      .load(10'100, 40, 100, kNodes);
  EXPECT_THAT(missing(judge(script, header())),
              Contains("kill: 5 ok of 20 needed on the majority during a fault"));
  // Without a majority nothing is demanded.
  Script all;
  all.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 10'000, R"({"victims":["n1","n2","n3"],"installed":true,"bit":true})")
      .op(5200, 5300, "read", "n3", "fail", "error=refused")
      .load(10'100, 40, 100, kNodes);
  EXPECT_EQ(judge(all, header()).word(), Word::kValid);
}

TEST(NonVacuity, ProgressIsNeededAfterAHealWhereAMajorityStood) {
  Script script;
  script.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 10'000, std::string(kKilled))
      .load(5100, 40, 100, kMajority)
      .op(5200, 5300, "read", "n3", "fail", "error=refused")
      .load(10'100, 1000, 4, kNodes);
  EXPECT_THAT(missing(judge(script, header())),
              Contains("kill: 4 ok of 20 needed within 5 s after a heal"));
  // The next fault leaves no majority for 5 s: not demanded.
  script.fault("kill", 12'000, 14'000, R"({"victims":["n1","n2"],"installed":true,"bit":false})");
  EXPECT_THAT(missing(judge(script, header())),
              Not(Contains(HasSubstr("within 5 s after a heal"))));
}

TEST(NonVacuity, OneFaultThatWasNeverHealedIsMissedThoughOthersWere) {
  Script script;
  script.load(100, 40, 100, kNodes)
      .fault("kill", 5000, 6000, std::string(kKilled))
      .op(5200, 5300, "read", "n3", "fail", "error=refused")
      .load(5100, 40, 100, kMajority)
      .fault("kill", 9500, 10'000, std::string(kKilled),
             R"({"healed":false,"error":"no such file"})")
      .load(10'100, 40, 100, kNodes);
  EXPECT_THAT(missing(judge(script, header())),
              Contains("kill: 1 of 2 never healed (no such file)"));
}

// What it does to operations is the store's matter; that it bit is not.
TEST(NonVacuity, AFaultOfTheStoresOwnNeedNotBeFelt) {
  const std::string own =
      R"({"workload":"register","nodes":["n1","n2","n3"],"faults":["compact"],"own_faults":["compact"]})";
  const std::string others =
      R"({"workload":"register","nodes":["n1","n2","n3"],"faults":["compact"]})";
  const auto run = [](const char* bit) {
    Script script;
    script.load(100, 40, 100, kNodes)
        .fault("compact", 5000, 5001,
               std::string(R"({"victims":["n3"],"installed":true,"bit":)") + bit + "}")
        .load(5100, 40, 300, kNodes);
    return script;
  };
  EXPECT_EQ(judge(run("true"), own).word(), Word::kValid);
  EXPECT_THAT(missing(judge(run("false"), own)),
              Contains("compact: observed to bite 0 of 1 needed"));
  EXPECT_THAT(missing(judge(run("true"), others)), Contains(HasSubstr("went differently")));
}

TEST(NonVacuity, GuardedWritesMustMeetConflicts) {
  Script script;
  script.load(100, 40, 100, kNodes);
  for (int i = 0; i < 100; ++i) {
    script.op(5000 + i * 10, 5001 + i * 10, "cas", "n1", "ok", "expected=7");
  }
  const std::string no_fault = R"({"workload":"cas-versioned","nodes":["n1"]})";
  EXPECT_THAT(missing(judge(script, no_fault)),
              Contains("conflicts: 0 of 100 guarded writes, 2 % needed"));
}

TEST(NonVacuity, TheFinalPhaseMustHaveBeenAnswered) {
  Script script;
  script.load(100, 40, 100, kNodes)
      .observe(16'000, "phase", R"({"phase":"final"})")
      .op(16'100, 16'101, "read", "n1", "info", "phase=final");
  EXPECT_THAT(missing(judge(script, R"({"workload":"register","nodes":["n1"]})")),
              Contains("final operations: 0 ok of 1 needed"));
}

}  // namespace
}  // namespace assay
