#include "harness/run/follower.h"

#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "harness/run/fail_fast.h"
#include "harness/run/real_loop.h"
#include "workloads/registry.h"
#include "workloads/simulated_map.h"

namespace assay {
namespace {

constexpr const char* kHeader =
    R"({"model":"cas-register","token":"orderable","checkers":["linearizable","version-order"]})";

HistoryHeader header(const char* json = kHeader) { return history_of("", json).header(); }
Nanos no_time() { return {}; }
bool go_on() { return false; }

Follower follower(FollowerOptions options = {}) { return {header(), no_time, go_on, options}; }

// Looks after every line.
std::optional<ProvenAnomaly> follow(Follower& follower, const std::vector<Op>& lines) {
  for (const Op& line : lines) {
    follower.take(line);
    if (auto proof = follower.look()) return proof;
  }
  return std::nullopt;
}

constexpr std::string_view kStaleRead =
    "0 invoke write k 1\n0 ok write k 1\n0 invoke write k 2\n0 ok write k 2\n"
    "2 invoke write k 9\n1 invoke read k\n1 ok read k 1\n";

TEST(Follower, ConvictsAtTheCompletionThatIsStaleAndNotBefore) {
  const std::vector<Op> lines = ops_of(kStaleRead);
  Follower one = follower();
  for (size_t i = 0; i < lines.size(); ++i) {
    one.take(lines[i]);
    const auto proof = one.look();
    ASSERT_EQ(proof.has_value(), i + 1 == lines.size()) << i;
    if (!proof) continue;
    EXPECT_EQ(proof->index, lines.back().index);
    EXPECT_EQ(proof->time, lines.back().time);
    EXPECT_EQ(proof->key, Symbol("k"));
    EXPECT_EQ(proof->checker, "linearizable");
  }
}

TEST(Follower, NamesTheCompletionWhenItLooksOnlyLater) {
  Follower one = follower();
  for (const Op& line :
       ops_of(std::string(kStaleRead) +
              "1 invoke write k 3\n1 ok write k 3\n1 invoke read k\n1 ok read k 3\n"))
    one.take(line);
  const auto proof = one.look();
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->index, 6);
}

TEST(Follower, AnOpenOperationMayHaveHappened) {
  Follower one = follower();
  EXPECT_FALSE(follow(one, ops_of("0 invoke write k 1\n1 invoke read k\n1 ok read k 1\n"
                                  "1 invoke read k\n1 ok read k 1\n0 info write k 1\n")));
}

TEST(Follower, ReadsThatAreNotClaimedAreJudgedForThinAirAlone) {
  constexpr const char* kStale =
      R"({"model":"cas-register","checkers":["linearizable"],"claims":{"read":"stale"}})";
  Follower one{header(kStale), no_time};
  EXPECT_FALSE(follow(one, ops_of(kStaleRead)));
  Follower other{header(kStale), no_time};
  EXPECT_TRUE(follow(other, ops_of("0 invoke read k\n0 ok read k 7\n")));
}

// What was written and forgotten would seem to come out of thin air when it is read again.
TEST(Follower, ForgetsAnIdleKeyAndJudgesItNeverAgain) {
  const std::string before =
      "0 invoke write k 1\n0 ok write k 1\n"
      "0 invoke write other 1 time=40s\n0 ok write other 1\n";
  const std::string again = "0 invoke read k\n0 ok read k 1\n";
  const std::string thin_air = "0 invoke read k\n0 ok read k 7\n";
  Follower forgetful = follower({.idle_max = seconds(30)});
  EXPECT_FALSE(follow(forgetful, ops_of(before + again + thin_air)));
  EXPECT_EQ(forgetful.lines(), 2u);  // of the other key
  EXPECT_EQ(forgetful.left_out(), 1u);
  Follower patient = follower({.idle_max = seconds(60)});
  EXPECT_FALSE(follow(patient, ops_of(before + again)));
  Follower keen = follower({.idle_max = seconds(60)});
  EXPECT_TRUE(follow(keen, ops_of(before + thin_air)));
}

TEST(Follower, KeepsNoMoreLinesThanItMayAndForgetsTheLongestIdle) {
  const std::string lines =
      "0 invoke write a 1\n0 ok write a 1\n0 invoke write b 1\n0 ok write b 1\n"
      "0 invoke write c 1\n0 ok write c 1\n0 invoke read a\n0 ok read a 1\n";
  Follower small = follower({.lines_max = 5});
  EXPECT_FALSE(follow(small, ops_of(lines)));
  EXPECT_EQ(small.lines(), 4u);
  Follower other = follower({.lines_max = 5});
  const auto proof = follow(other, ops_of(lines + "1 invoke read c\n1 ok read c 5\n"));
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->key, Symbol("c"));
}

TEST(Follower, AKeyOfWhichALineWasLostIsNeverJudged) {
  Follower one = follower();
  EXPECT_FALSE(follow(one, ops_of("0 invoke read k\n0 ok read k null\n")));
  one.lose(Symbol("k"));
  EXPECT_FALSE(follow(one, ops_of("0 invoke read k\n0 ok read k 1\n")));
  EXPECT_TRUE(follow(one, ops_of("0 invoke read l\n0 ok read l 1\n")));
}

TEST(Follower, AKeyThatTakesTooLongIsLeftOut) {
  Nanos now{};
  Follower slow{header(), [&] { return now += seconds(1); }};
  EXPECT_FALSE(follow(slow, ops_of(kStaleRead)));
  EXPECT_EQ(slow.left_out(), 1u);
}

TEST(Follower, WhereSomeOperationsNameNoKeyItSaysNothing) {
  Follower one = follower();
  EXPECT_FALSE(
      follow(one, ops_of("0 invoke write 1\n0 ok write 1\n0 invoke read k\n0 ok read k 1\n")));
}

// --- Against the checks, on runs in virtual time

std::vector<Op> simulated(const char* workload, uint64_t seed, Wrong wrong) {
  WorkloadOptions options{Rng(seed)};
  options.nodes = {"n1", "n2", "n3"};
  options.concurrency = options.group_size = 10;
  options.ops_per_key_min = options.ops_per_key_max = 40;
  auto run = find_workload(workload)->start(options);
  SimulatedMap map({.wrong = wrong, .wrong_of_1000 = 10}, Rng(seed).stream("map"));
  SimulateOptions simulation{.operations_max = 200};
  simulation.latency = drawn_latency(Rng(seed).stream("latency"), milliseconds(5));
  simulation.effect = [&](const Op& op, Worker w) { return map.serve(op, w); };
  const Gen load = (*run)->load();
  std::vector<Op> lines;
  for (const SimulatedEvent& event : simulate(*load, simulation).events) {
    lines.push_back(event.op);
    lines.back().index = static_cast<int64_t>(lines.size()) - 1;
  }
  return lines;
}

bool is_invalid(const std::vector<Op>& lines, size_t count) {
  HistoryBuilder builder;
  builder.set_header(header());
  for (size_t i = 0; i < count; ++i) EXPECT_TRUE(builder.add(lines[i]).ok());
  auto verdict = check_history(builder.build(), {}, Budget{});
  EXPECT_TRUE(verdict.ok());
  return verdict->safety == Safety::kInvalid;
}

class OnSimulatedRuns : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, OnSimulatedRuns, testing::Values("register", "cas-versioned"),
                         [](const auto& param) {
                           return std::string(param.param[0] == 'r' ? "Register" : "CasVersioned");
                         });

TEST_P(OnSimulatedRuns, SaysNothingOfAnyPrefixOfAValidHistory) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Op> lines = simulated(GetParam(), seed, Wrong::kNothing);
    ASSERT_GT(lines.size(), 300u);
    ASSERT_FALSE(is_invalid(lines, lines.size())) << seed;
    Follower one = follower();
    EXPECT_FALSE(follow(one, lines)) << seed;
  }
}

TEST_P(OnSimulatedRuns, ProvesWhatTheCheckFindsAndAtTheFirstLineThatShowsIt) {
  int proven = 0;
  for (const Wrong wrong : {Wrong::kStaleRead, Wrong::kLostWrite, Wrong::kBlindCas}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const std::vector<Op> lines = simulated(GetParam(), seed, wrong);
      Follower one = follower();
      const auto proof = follow(one, lines);
      ASSERT_EQ(proof.has_value(), is_invalid(lines, lines.size())) << seed;
      if (!proof) continue;
      ++proven;
      EXPECT_TRUE(is_invalid(lines, static_cast<size_t>(proof->index) + 1)) << seed;
      EXPECT_FALSE(is_invalid(lines, static_cast<size_t>(proof->index))) << seed;
    }
  }
  EXPECT_GT(proven, 5);
}

// --- The thread

class FailFastTest : public testing::Test {
 protected:
  RealLoop loop_;
  std::vector<ProvenAnomaly> proofs_;
  FailFast fail_fast_{header(),
                      loop_,
                      [this](ProvenAnomaly proof) { proofs_.push_back(std::move(proof)); },
                      {.period = milliseconds(1)}};
};

TEST_F(FailFastTest, TellsTheLoopOnceOfAProof) {
  for (const Op& line : ops_of(kStaleRead)) fail_fast_.take(line);
  ASSERT_TRUE(loop_.run_until([&] { return !proofs_.empty(); }, loop_.now() + seconds(60)));
  EXPECT_EQ(proofs_[0].index, 6);
  for (const Op& line : ops_of(kStaleRead)) fail_fast_.take(line);
  loop_.run_until([&] { return proofs_.size() > 1; }, loop_.now() + milliseconds(50));
  EXPECT_EQ(proofs_.size(), 1u);
}

TEST_F(FailFastTest, AfterItsEndItTellsNothing) {
  fail_fast_.end();
  for (const Op& line : ops_of(kStaleRead)) fail_fast_.take(line);
  EXPECT_FALSE(loop_.run_until([&] { return !proofs_.empty(); }, loop_.now() + milliseconds(50)));
}

TEST(FailFast, WhatItsQueueCannotHoldIsLeftOutByWholeKeys) {
  RealLoop loop;
  bool proven = false;
  FailFast small{header(),
                 loop,
                 [&](const ProvenAnomaly&) { proven = true; },
                 {.period = milliseconds(20), .queue_max = 1}};
  // Where the read were judged without the write, it would be out of thin air.
  for (const Op& line : ops_of("0 invoke write k 1\n0 ok write k 1\n")) small.take(line);
  std::function<void()> tick = [&] { loop.at(loop.now() + milliseconds(5), tick); };
  tick();  // for the loop to look up now and then
  ASSERT_TRUE(loop.run_until([&] { return small.left_out() == 1; }, loop.now() + seconds(60)));
  for (const Op& line : ops_of("0 invoke read k\n0 ok read k 1\n")) small.take(line);
  EXPECT_FALSE(loop.run_until([&] { return proven; }, loop.now() + milliseconds(100)));
}

}  // namespace
}  // namespace assay
