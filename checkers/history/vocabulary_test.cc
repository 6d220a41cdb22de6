#include "checkers/history/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kFive = R"({"nodes":["n1","n2","n3","n4","n5"]})";

std::vector<std::string> names(const std::vector<Symbol>& symbols) {
  std::vector<std::string> texts;
  for (Symbol s : symbols) texts.emplace_back(s.text());
  return texts;
}

TEST(Vocabulary, NamesOfStartsAndStopsGoBothWays) {
  EXPECT_EQ(started_fault(start_of("kill")), "kill");
  EXPECT_EQ(stopped_fault(stop_of("partition")), "partition");
  EXPECT_EQ(started_fault(stop_of("kill")), "");
  EXPECT_EQ(stopped_fault(Symbol("read")), "");
}

TEST(FaultIntervals, AreCertainFromTheCompletionOfTheStartToTheInvocationOfTheStop) {
  const History history = history_of(R"(
    nemesis info start-partition {"shape":"one"} time=1s
    nemesis info start-partition {"shape":"one","victims":["n2"],"cut":[["n1","n2"],["n2","n1"]],"installed":true,"bit":false,"evidence":"2 rules"} time=2s
    nemesis info stop-partition time=5s
    nemesis info stop-partition {"healed":true,"bit":true} time=6s
  )");
  const auto faults = fault_intervals(history);
  ASSERT_THAT(faults, SizeIs(1));
  const FaultInterval& fault = faults[0];
  EXPECT_EQ(fault.kind, "partition");
  EXPECT_EQ(fault.shape, "one");
  EXPECT_THAT(names(fault.victims), ElementsAre("n2"));
  EXPECT_THAT(fault.cut, SizeIs(2));
  EXPECT_TRUE(fault.installed);
  EXPECT_TRUE(fault.bit) << "seen at the stop";
  EXPECT_TRUE(fault.healed);
  EXPECT_EQ(fault.evidence, "2 rules");
  EXPECT_EQ(fault.asked, seconds(1));
  EXPECT_EQ(fault.begin, seconds(2));
  EXPECT_EQ(fault.end, seconds(5));
  EXPECT_EQ(fault.healed_at, seconds(6));
}

TEST(FaultIntervals, KindsOverlapAndAFailedStopLeavesItInForce) {
  const History history = history_of(R"(
    nemesis info start-kill {"shape":"one"} time=1s
    nemesis info start-kill {"victims":["n1"],"installed":true,"bit":true} time=2s
    nemesis info start-pause {"shape":"one"} time=3s
    nemesis info start-pause {"victims":["n2"],"installed":true,"bit":true} time=4s
    nemesis info stop-kill time=5s
    nemesis info stop-kill {"healed":false,"error":"it does not answer"} time=6s
    nemesis info stop-pause time=7s
    nemesis info stop-pause {"healed":true} time=8s
    nemesis info stop-kill time=9s
    nemesis info stop-kill {"healed":true} time=10s
  )");
  const auto faults = fault_intervals(history);
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].healed_at, seconds(10));
  EXPECT_EQ(faults[0].evidence, "it does not answer");
  EXPECT_EQ(faults[1].healed_at, seconds(8));
}

TEST(FaultIntervals, AStopThatNamesANodeHealsThatNodeAlone) {
  const History history = history_of(R"(
    nemesis info start-kill {"node":"n1"} time=1s
    nemesis info start-kill {"victims":["n1"],"installed":true,"bit":true} time=2s
    nemesis info start-kill {"node":"n2"} time=3s
    nemesis info start-kill {"victims":["n2","n3"],"installed":true,"bit":true} time=4s
    nemesis info stop-kill {"node":"n2"} time=5s
    nemesis info stop-kill {"healed":true} time=6s
    nemesis info stop-kill {"node":"n1"} time=7s
    nemesis info stop-kill {"healed":false} time=8s
    nemesis info stop-kill {"victims":["n3"]} time=9s
    nemesis info stop-kill {"healed":true} time=10s
    nemesis info stop-kill time=11s
    nemesis info stop-kill {"healed":true} time=12s
  )",
                                     kFive);
  const auto faults = fault_intervals(history);
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].healed_at, seconds(12));
  EXPECT_EQ(faults[1].end, seconds(9));
  EXPECT_EQ(faults[1].healed_at, seconds(10));
  EXPECT_EQ(faults[1].healed_at_of(Symbol("n2")), seconds(6));
  EXPECT_EQ(faults[1].healed_at_of(Symbol("n3")), seconds(10));
}

TEST(FaultIntervals, WithoutCompletionNothingIsCertain) {
  const History history = history_of("nemesis info start-kill {\"shape\":\"one\"} time=1s", kFive);
  const auto faults = fault_intervals(history);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_FALSE(faults[0].completed);
  EXPECT_EQ(faults[0].begin, kNever);
  EXPECT_THAT(connected_majority(history.header(), faults, seconds(2), seconds(3)), IsEmpty());
  EXPECT_THAT(connected_majority(history.header(), faults, Nanos{0}, milliseconds(999)), SizeIs(5));
}

TEST(Outages, HoldTheUnexpectedExitsUntilTheNodeAnswers) {
  const History history = history_of(R"(
    observer info exit {"node":"n3","code":1,"signal":0,"expected":false} time=1s
    observer info exit {"node":"n4","code":-1,"signal":9,"expected":true} time=2s
    observer info status {"node":"n3","role":"down"} time=3s
    observer info status {"node":"n3","role":"follower"} time=4s
  )",
                                     kFive);
  const auto faults = outages(history);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].kind, "exit");
  EXPECT_EQ(faults[0].asked, seconds(1));
  EXPECT_EQ(faults[0].healed_at, seconds(4));
}

TEST(Observations, AreReadWithWhatTheyLackAbsent) {
  const History history = history_of(R"(
    observer info status {"node":"n1","role":"leader","term":3,"leader":"n1","commit":7,"applied":6,"chain":"ab","at":9} time=1s
    observer info status {"node":"n2","role":"down","why":"refused"} time=1s
    observer info chain {"node":"n1","from":5,"hashes":["x","y"]} time=2s
    observer info exit {"node":"n1","code":-1,"signal":9,"expected":true} time=3s
    observer info log {"node":"n2","line":"panic: no","finding":"panic"} time=4s
    observer info phase {"phase":"faults"} time=5s
  )");
  const auto samples = status_samples(history);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].role, "leader");
  EXPECT_EQ(samples[0].term, 3);
  EXPECT_EQ(samples[0].leader.text(), "n1");
  EXPECT_EQ(samples[0].commit, 7);
  EXPECT_EQ(samples[0].applied, 6);
  EXPECT_EQ(samples[0].chain.text(), "ab");
  EXPECT_EQ(samples[0].at, 9);
  EXPECT_TRUE(samples[0].reachable());
  EXPECT_FALSE(samples[1].reachable());
  EXPECT_EQ(samples[1].term, -1);
  EXPECT_TRUE(samples[1].leader.empty());
  ASSERT_THAT(chain_lines(history), SizeIs(1));
  EXPECT_EQ(chain_lines(history)[0].from, 5);
  EXPECT_THAT(names(chain_lines(history)[0].hashes), ElementsAre("x", "y"));
  ASSERT_THAT(node_exits(history), SizeIs(1));
  EXPECT_EQ(node_exits(history)[0].signal, 9);
  EXPECT_TRUE(node_exits(history)[0].expected);
  ASSERT_THAT(log_lines(history), SizeIs(1));
  EXPECT_EQ(log_lines(history)[0].finding, "panic");
  ASSERT_THAT(phase_changes(history), SizeIs(1));
  EXPECT_EQ(phase_changes(history)[0].phase, "faults");
}

TEST(Observations, OfPhasesOfClientsStandOnTheInvocation) {
  const History history = history_of(R"(
    0 invoke read k phase=final
    0 ok read k 1
    0 invoke read k
  )");
  EXPECT_EQ(phase_of(history[0]), "final");
  EXPECT_EQ(phase_of(history[1]), "");
}

TEST(Header, ClaimsLinearizableReadsUnlessItSaysOtherwise) {
  for (const char* header : {"", "{}", R"({"claims":{}})", R"({"claims":{"durable":"none"}})"}) {
    EXPECT_EQ(read_claim(history_of("", header).header()), "linearizable") << header;
  }
  EXPECT_EQ(read_claim(history_of("", R"({"claims":{"read":"stale"}})").header()), "stale");
}

TEST(Header, GivesTimingAndThresholds) {
  const History history = history_of(
      "", R"({"timing":{"election_timeout_min":300000000},"thresholds":{"ok_per_f":3}})");
  EXPECT_EQ(timing_of(history.header()).election_timeout_min, milliseconds(300));
  EXPECT_EQ(timing_of(history.header()).load, Nanos{0});
  EXPECT_EQ(threshold_of(history.header(), "ok_per_f", 10), 3);
  EXPECT_EQ(threshold_of(history.header(), "ok_before_heal", 20), 20);
}

TEST(HostStalls, EndAtTheirLineAndComeLongestFirst) {
  const History history = history_of(R"(
    observer info host {"stall":100000000} time=1s
    observer info host {"stall":400000000} time=2s
    observer info host {"stall":900000000} time=3s
  )");
  const auto stalls = host_stalls(history, milliseconds(300));
  ASSERT_THAT(stalls, SizeIs(2));
  EXPECT_EQ(stalls[0].begin, milliseconds(2100));
  EXPECT_EQ(stalls[0].end, seconds(3));
  EXPECT_EQ(stalls[1].begin, milliseconds(1600));
}

struct MajorityCase {
  std::string name;
  std::string victims;
  std::string cut;
  std::vector<std::string> expected;
};

class ConnectedMajority : public testing::TestWithParam<MajorityCase> {};

TEST_P(ConnectedMajority, IsALargestCliqueOfMoreThanHalf) {
  const History history = history_of(
      "nemesis info start-x {} time=1s\nnemesis info start-x {\"victims\":" + GetParam().victims +
          ",\"cut\":" + GetParam().cut + ",\"installed\":true} time=2s\n",
      kFive);
  const auto faults = fault_intervals(history);
  EXPECT_EQ(names(connected_majority(history.header(), faults, seconds(3), seconds(4))),
            GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConnectedMajority,
    testing::Values(MajorityCase{"nothing", "[]", "[]", {"n1", "n2", "n3", "n4", "n5"}},
                    MajorityCase{"one_killed", R"(["n2"])", "[]", {"n1", "n3", "n4", "n5"}},
                    MajorityCase{"three_killed", R"(["n2","n3","n4"])", "[]", {}},
                    // One direction of a link is enough to lose it.
                    MajorityCase{"one_way",
                                 R"(["n1"])",
                                 R"([["n2","n1"],["n3","n1"],["n4","n1"],["n5","n1"]])",
                                 {"n2", "n3", "n4", "n5"}},
                    // Each sees a majority, no three see each other.
                    MajorityCase{"ring",
                                 R"([])",
                                 R"([["n1","n3"],["n1","n4"],["n2","n4"],["n2","n5"],["n3","n5"]])",
                                 {}},
                    // n3 sees both halves.
                    MajorityCase{"bridge",
                                 R"([])",
                                 R"([["n1","n4"],["n1","n5"],["n2","n4"],["n2","n5"]])",
                                 {"n1", "n2", "n3"}}),
    [](const auto& info) { return info.param.name; });

// What is slow is not cut, nor are its victims down; but a leader may find it too slow.
TEST(SlowLinks, AreNoneForAConnectedMajority) {
  const History history = history_of(R"(
    nemesis info start-delay {} time=1s
    nemesis info start-delay {"victims":["n1","n2"],"delayed":[["n1","n2"],["n2","n1"]],"installed":true} time=2s
  )",
                                     kFive);
  const auto faults = fault_intervals(history);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_THAT(faults[0].delayed, SizeIs(2));
  EXPECT_TRUE(faults[0].cut.empty());
  EXPECT_THAT(connected_majority(history.header(), faults, seconds(3), seconds(4)), SizeIs(4));
}

TEST(MajoritySpans, CutTheRunWhereFaultsBeginAndEnd) {
  const History history = history_of(R"(
    nemesis info start-kill {} time=2s
    nemesis info start-kill {"victims":["n1","n2","n3"],"installed":true} time=3s
    nemesis info stop-kill time=5s
    nemesis info stop-kill {"healed":true} time=6s
    nemesis info start-pause {} time=7s
    nemesis info start-pause {"victims":["n5"],"installed":true} time=8s
    observer info phase {"phase":"end"} time=10s
  )",
                                     kFive);
  const auto spans = majority_spans(history.header(), fault_intervals(history), history.end_time());
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_EQ(spans[0].end, seconds(2));
  EXPECT_EQ(spans[1].begin, seconds(6));
  EXPECT_EQ(spans[1].end, seconds(7));
  EXPECT_EQ(names(spans[2].members), (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(spans[2].end, seconds(10));
}

TEST(MajoritySpans, ANodeThatIsBackCountsAgainAndTheOthersDoNot) {
  const History history = history_of(R"(
    nemesis info start-kill {} time=2s
    nemesis info start-kill {"victims":["n1","n2","n3"],"installed":true} time=3s
    nemesis info stop-kill {"node":"n2"} time=5s
    nemesis info stop-kill {"healed":true} time=6s
    observer info phase {"phase":"end"} time=10s
  )",
                                     kFive);
  const auto spans = majority_spans(history.header(), fault_intervals(history), history.end_time());
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].end, seconds(2));
  EXPECT_EQ(spans[1].begin, seconds(6));
  EXPECT_EQ(spans[1].end, seconds(10));
  EXPECT_EQ(names(spans[1].members), (std::vector<std::string>{"n2", "n4", "n5"}));
}

}  // namespace
}  // namespace assay
