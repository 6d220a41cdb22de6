#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"
#include "checkers/run_script.h"

namespace assay {
namespace {

using run_script::Script;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

const std::vector<std::string> kNodes = {"n1", "n2", "n3"};
const std::string kHeader = R"({"workload":"register","nodes":["n1","n2","n3"],)"
                            R"("timing":{"election_timeout_min":300000000}})";
const std::string kAllDown = R"({"victims":["n1","n2","n3"],"installed":true,"bit":true})";
const std::string kOneDown = R"({"victims":["n3"],"installed":true,"bit":true})";

Verdict judge(const Script& script, const std::string& header = kHeader) {
  return availability_checker().check(history_of(script.text(), header), Budget{});
}

TEST(Availability, ProgressThroughoutIsOk) {
  Script script;
  script.load(100, 100, 200, kNodes)
      .fault("kill", 5000, 8000, kOneDown)
      .op(21'000, 21'001, "read", "n1", "ok", "phase=final")
      .op(21'000, 21'002, "read", "n2", "ok", "phase=final");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kValid) << verdict.reason;
  EXPECT_EQ(verdict.progress, Progress::kOk);
  EXPECT_THAT(verdict.reason, HasSubstr("longest gap 1 ms"));
  EXPECT_THAT(verdict.reason, HasSubstr("first ok 91 ms after the last heal"));
  EXPECT_THAT(verdict.reason, HasSubstr("final operations ok on 2 nodes"));
  EXPECT_THAT(verdict.counts, Contains(Pair("heal to first ok ms", 91)));
}

TEST(Availability, ALongGapWhileAMajorityStandsIsBlocked) {
  Script script;
  script.load(100, 100, 50, kNodes)
      .fault("kill", 5200, 15'000, kOneDown)
      .op(6000, 14'000, "read", "n1", "info")
      .load(15'100, 100, 20, kNodes);
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kBlocked);
  EXPECT_THAT(verdict.reason, HasSubstr("although a connected live majority stood"));
  EXPECT_THAT(verdict.counts, Contains(Pair("longest gap ms", 9010)));
}

TEST(Availability, OnlyWhoAsksTheMajorityIsOwedAnAnswer) {
  const std::string one_cut = R"({"victims":["n3"],"cut":[["n1","n3"],["n3","n1"],["n2","n3"],)"
                              R"(["n3","n2"]],"installed":true,"bit":true})";
  const auto word = [&](const std::string& node) {
    Script script;
    script.load(100, 100, 50, kNodes)
        .fault("partition", 5200, 15'000, one_cut)
        .op(6000, 14'000, "read", node, "info")
        .load(15'100, 100, 20, kNodes);
    return judge(script).word();
  };
  EXPECT_EQ(word("n3"), Word::kValid);
  EXPECT_EQ(word("n1"), Word::kBlocked);
}

TEST(Availability, WithoutAMajorityNothingIsDue) {
  Script script;
  script.load(100, 100, 50, kNodes)
      .fault("kill", 5200, 15'000, kAllDown)
      .op(6000, 14'000, "read", "n1", "info")
      .load(15'100, 100, 20, kNodes);
  EXPECT_EQ(judge(script).word(), Word::kValid);
}

TEST(Availability, AGapInWhichNobodyWaitedIsNone) {
  Script script;
  script.load(100, 100, 10, kNodes).load(20'000, 100, 10, kNodes);
  // From 1 s to 20 s nothing was invoked.
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.progress, Progress::kOk) << verdict.reason;
}

TEST(Availability, TheThresholdOfTheHeaderDecides) {
  Script script;
  script.load(100, 100, 50, kNodes).op(5200, 8000, "read", "n1", "info").load(8100, 100, 5, kNodes);
  EXPECT_EQ(judge(script).word(), Word::kValid);
  const std::string strict =
      R"({"workload":"register","nodes":["n1","n2","n3"],"thresholds":{"gap_ms_max":2000}})";
  EXPECT_EQ(judge(script, strict).word(), Word::kBlocked);
}

TEST(Availability, WhatBrokenClientProgramsKeptFromHappeningIsUnknown) {
  const auto answered = [](const char* other) {
    Script script;
    script.load(100, 100, 10, kNodes);
    for (int64_t at = 1200; at < 9000; at += 100)
      script.op(at, at + 50, "read", "n1", "info", "error=client-lied");
    script.op(5000, 5050, "read", "n2", "info", std::string("error=") + other);
    return judge(script).word();
  };
  EXPECT_EQ(answered("client-ended"), Word::kUnknown);
  EXPECT_EQ(answered("timeout"), Word::kBlocked);
}

TEST(Availability, AStalledHostMakesItUnknown) {
  Script script;
  script.load(100, 100, 50, kNodes)
      .op(6000, 14'000, "read", "n1", "info")
      .observe(10'000, "host", R"({"stall":2300000000})")
      .load(15'100, 100, 20, kNodes);
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kUnknown);
  EXPECT_THAT(verdict.reason, HasSubstr("host stalled 2.3 s at 7.7 s"));

  Script short_stall;
  short_stall.load(100, 100, 50, kNodes)
      .op(6000, 14'000, "read", "n1", "info")
      .observe(10'000, "host", R"({"stall":200000000})")
      .load(15'100, 100, 20, kNodes);
  EXPECT_EQ(judge(short_stall).word(), Word::kBlocked);
}

TEST(Availability, ProgressThatWasSeenIsNotDegradedByAStall) {
  Script script;
  script.load(100, 100, 200, kNodes).observe(10'000, "host", R"({"stall":2300000000})");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.progress, Progress::kOk);
  EXPECT_THAT(verdict.reason, HasSubstr("host stalled 2.3 s at 7.7 s"));  // but it is told
}

// It may be the fault that keeps the node from answering.
TEST(Availability, UnderAFaultThatNeverEndedASilentNodeIsUnknown) {
  const auto ending = [](const char* end) {
    Script script;
    script.load(100, 100, 50, kNodes)
        .fault("full", 6000, 7000, R"({"victims":["n2"],"installed":true,"bit":true})", end)
        .observe(8'000, "phase", R"({"phase":"final"})")
        .op(8'100, 8'200, "read", "n1", "ok", "phase=final")
        .op(8'300, 9'300, "read", "n2", "info", "phase=final")
        .op(8'400, 8'500, "read", "n3", "ok", "phase=final")
        .observe(14'000, "phase", R"({"phase":"end"})");
    return judge(script).word();
  };
  EXPECT_EQ(ending(R"({"healed":true})"), Word::kBlocked);
  EXPECT_EQ(ending(R"({"healed":false})"), Word::kUnknown);
}

TEST(Availability, ANodeThatWasNotAskedToTheEndDoesNotBlock) {
  Script script;
  script.load(100, 100, 50, kNodes)
      .observe(6'000, "phase", R"({"phase":"final"})")
      .op(6'100, 6'200, "read", "n1", "ok", "phase=final")
      .op(6'300, 7'300, "read", "n2", "info", "phase=final")
      .observe(7'400, "phase", R"({"phase":"end","why":"the run was interrupted"})");
  EXPECT_EQ(judge(script).word(), Word::kUnknown) << judge(script).reason;
}

TEST(Availability, NoProgressBeforeTheFirstFaultIsBlocked) {
  Script script;
  script.op(100, 1100, "read", "n1", "info")
      .op(200, 1200, "write", "n2", "info")
      .fault("kill", 4000, 6000, kOneDown)
      .load(6100, 100, 50, kNodes);
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kBlocked) << verdict.reason;
}

TEST(Availability, NoProgressAtAllIsBlocked) {
  Script script;
  for (int i = 0; i < 50; ++i) script.op(100 + 100 * i, 1100 + 100 * i, "read", "n1", "info");
  EXPECT_EQ(judge(script).word(), Word::kBlocked);
}

TEST(Availability, NoProgressAfterTheLastHealIsBlocked) {
  Script script;
  script.load(100, 100, 40, kNodes)
      .fault("kill", 5000, 6000, kAllDown)
      .op(6100, 7100, "read", "n1", "info");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kBlocked);
  EXPECT_EQ(verdict.reason, "no operation was ok after the last heal");
}

TEST(Availability, ANodeThatDoesNotAnswerInTheEndBlocks) {
  Script script;
  script.load(100, 100, 60, kNodes)
      .op(8000, 8001, "read", "n1", "ok", "phase=final")
      .op(8000, 9000, "read", "n2", "info", "phase=final")
      .op(9100, 9101, "read", "n2", "ok", "phase=final")
      .op(8000, 9000, "read", "n3", "info", "phase=final")
      .op(9000, 10'000, "read", "n3", "fail", "phase=final");
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.word(), Word::kBlocked);
  EXPECT_EQ(verdict.reason, "n3 did not answer within 5 s after the recovery");
}

TEST(Availability, ANodeThatSaysThatAnotherOneLeadsHasAnswered) {
  const auto ending = [](const char* n1, const char* error) {
    Script script;
    script.load(100, 100, 60, kNodes)
        .op(8000, 8001, "read", "n1", n1, "phase=final")
        .op(8000, 8001, "read", "n2", "ok", "phase=final")
        .op(8000, 8001, "read", "n3", "fail", std::string("phase=final error=") + error);
    return judge(script).word();
  };
  EXPECT_EQ(ending("ok", "not-leader"), Word::kValid);
  EXPECT_EQ(ending("ok", "unavailable"), Word::kBlocked);
}

TEST(Availability, IsNotAskedWhereNobodySaysWhichNodesThereAre) {
  EXPECT_FALSE(availability_checker().applies(history_of("0 invoke read k\n0 ok read k 1\n")));
}

}  // namespace
}  // namespace assay
