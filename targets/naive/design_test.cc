// Each design works while nothing goes wrong, and fails under the schedule that its text tells.
#include "targets/naive/design.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "targets/kv/http/error_table.h"
#include "targets/naive/testing_cluster.h"

namespace assay::naive {
namespace {

using testing::Each;
using testing::ElementsAre;

// --- All of them ---------------------------------------------------------------------------------

class EveryDesign : public testing::TestWithParam<DesignName> {};
INSTANTIATE_TEST_SUITE_P(All, EveryDesign, testing::ValuesIn(kDesigns), [](const auto& param) {
  std::string name(param.param.name);
  std::erase(name, '-');
  return name;
});

TEST_P(EveryDesign, AnswersAlikeOnAllNodesWhileNothingGoesWrong) {
  Cluster cluster(GetParam().name, 3);
  EXPECT_THAT(cluster.read_all("replicas"), Each("-"));
  int64_t last = 0;
  for (int round = 0; round < 12; ++round) {
    const int node = round % 3 + 1;
    const std::string value = std::to_string(round);
    ASSERT_TRUE(cluster.write(node, "replicas", value));
    cluster.run_for(100);
    EXPECT_THAT(cluster.read_all("replicas"), Each(value));
    for (int i = 1; i <= 3; ++i) EXPECT_GT(cluster.token(i, "replicas"), last);
    last = cluster.token(node, "replicas");
    EXPECT_TRUE(cluster.one_history()) << round;
  }
  ASSERT_TRUE(cluster.remove(2, "replicas"));
  cluster.run_for(100);
  EXPECT_THAT(cluster.read_all("replicas"), Each("-"));
  EXPECT_TRUE(cluster.one_history());
}

TEST_P(EveryDesign, HonoursGuardsWhileClientsTakeTurns) {
  Cluster cluster(GetParam().name, 3);
  ASSERT_TRUE(cluster.write_if(1, "a", 0, "1"));
  cluster.run_for(100);
  const int64_t token = cluster.token(2, "a");
  EXPECT_TRUE(cluster.write_if(2, "a", token, "2"));
  cluster.run_for(100);
  EXPECT_FALSE(cluster.write_if(3, "a", token, "3"));
  EXPECT_THAT(cluster.read_all("a"), Each("2"));
}

TEST_P(EveryDesign, WithoutGuardsWritesOverWhateverIsThere) {
  Cluster cluster(GetParam().name, 3, {.guards = false});
  ASSERT_TRUE(cluster.write(1, "a", "1"));
  cluster.run_for(100);
  EXPECT_TRUE(cluster.write_if(2, "a", 0, "2"));
  cluster.run_for(100);
  EXPECT_THAT(cluster.read_all("a"), Each("2"));
}

TEST_P(EveryDesign, KeepsWhatItHasAnsweredOverARestartOfAllNodes) {
  Cluster cluster(GetParam().name, 3);
  ASSERT_TRUE(cluster.write(1, "a", "1"));
  cluster.run_for(100);
  ASSERT_TRUE(cluster.write(2, "b", "2"));
  cluster.run_for(100);
  ASSERT_TRUE(cluster.remove(3, "a"));
  cluster.run_for(100);
  const Status before = cluster.status(2);
  const uint64_t state = cluster.state_hash(2);
  for (int i = 1; i <= 3; ++i) cluster.restart(i);
  cluster.run_for(1000);
  EXPECT_THAT(cluster.read_all("a"), Each("-"));
  EXPECT_THAT(cluster.read_all("b"), Each("2"));
  EXPECT_EQ(cluster.status(2).applied, before.applied);
  EXPECT_EQ(cluster.status(2).chain, before.chain);
  EXPECT_EQ(cluster.state_hash(2), state);
}

TEST_P(EveryDesign, SurvivesMessagesThatAreNone) {
  Cluster cluster(GetParam().name, 2);
  struct Quiet : Env {
    int64_t now_ms() override { return 0; }
    int64_t wall_ms() override { return 0; }
    void send(NodeId, std::string) override {}
    void save(std::string_view) override { ADD_FAILURE() << "saved what is no message"; }
  } env;
  const auto design = GetParam().make({.self = NodeId{1}, .members = {NodeId{1}, NodeId{2}}}, env);
  std::string bytes;
  for (const char* text : {"", "n", "s\xff\xff", "\x02\x09zz", "\x02\x01\x01\x01\x01"})
    design->on_message(text);
  EXPECT_EQ(design->status().applied, 0u);
}

TEST_P(EveryDesign, CarriesEveryKindOfAnswerToWhoeverAsked) {
  Cluster cluster(GetParam().name, 3);
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(cluster.write(1, key, key));
    cluster.run_for(60);
  }
  const auto body_of = [&](kv::Request request) {
    const auto answer = cluster.ask(2, std::move(request));
    cluster.run_for(60);
    EXPECT_TRUE(Cluster::is_ok(answer));
    return std::get<kv::Response>(*answer).body;
  };
  const auto range = std::get<kv::RangeResponse>(
      body_of(kv::RangeRequest{.key = "a", .range_end = "z", .limit = 2}));
  EXPECT_EQ(range.kvs.size(), 2u);
  EXPECT_TRUE(range.more);
  EXPECT_EQ(range.count, 3);
  const auto put =
      std::get<kv::PutResponse>(body_of(kv::PutRequest{.key = "a", .value = "x", .prev_kv = true}));
  EXPECT_EQ(put.prev_kv->value, "a");
  const auto removed = std::get<kv::DeleteRangeResponse>(
      body_of(kv::DeleteRangeRequest{.key = "a", .range_end = "c", .prev_kv = true}));
  EXPECT_EQ(removed.deleted, 2);
  EXPECT_EQ(removed.prev_kvs.size(), 2u);
  kv::TxnRequest txn;
  txn.success.push_back({kv::RangeRequest{.key = "c"}});
  txn.success.push_back({kv::PutRequest{.key = "d", .value = "d"}});
  const auto both = std::get<kv::TxnResponse>(body_of(txn));
  EXPECT_TRUE(both.succeeded);
  EXPECT_EQ(both.responses.size(), 2u);
  const auto error = cluster.ask(2, kv::RangeRequest{.key = "a", .revision = {99}});
  EXPECT_EQ(std::get<kv::Error>(*error), kv::kFutureRevision);
}

// --- Replicated memory ---------------------------------------------------------------------------

TEST(BroadcastCopies, OneDroppedDeliveryMakesThreeMachinesGiveTwoAnswers) {
  Cluster cluster("broadcast-copies", 3);
  cluster.drop_next(1, 3);
  EXPECT_TRUE(cluster.write(1, "deployment", "exists"));
  cluster.run_for(10'000);
  EXPECT_THAT(cluster.read_all("deployment"), ElementsAre("exists", "exists", "-"));
}

TEST(BroadcastCopies, WhatOneSideOfAPartitionAcceptedTheOtherNeverLearns) {
  Cluster cluster("broadcast-copies", 3);
  cluster.split({1, 2}, {3});
  EXPECT_TRUE(cluster.write(1, "a", "left"));
  EXPECT_TRUE(cluster.write(3, "a", "right"));
  cluster.heal();
  cluster.run_for(10'000);
  EXPECT_THAT(cluster.read_all("a"), ElementsAre("left", "left", "right"));
}

TEST(BroadcastCopies, ANodeThatCrashesCostsNothing) {
  Cluster cluster("broadcast-copies", 3);
  ASSERT_TRUE(cluster.write(1, "replicas", "3"));
  cluster.run_for(50);
  cluster.pause(2);
  EXPECT_TRUE(cluster.write(1, "replicas", "5"));
  cluster.run_for(50);
  EXPECT_EQ(cluster.read(3, "replicas"), "5");
}

// --- Both sides accept ---------------------------------------------------------------------------

class BothSides : public testing::TestWithParam<Merge> {};
INSTANTIATE_TEST_SUITE_P(Merges, BothSides,
                         testing::Values(Merge::kLongest, Merge::kNewestClock, Merge::kUnion));

TEST_P(BothSides, GrowApartWhileTheyAreCutOffAndAreOneAfterTheHeal) {
  Cluster cluster("both-sides-accept", 5, {.merge = GetParam()});
  ASSERT_TRUE(cluster.write(1, "shared", "0"));
  cluster.run_for(100);
  cluster.split({1, 2, 3}, {4, 5});
  EXPECT_TRUE(cluster.write(1, "left", "1"));
  cluster.run_for(20);
  EXPECT_TRUE(cluster.write(2, "shared", "left"));
  cluster.run_for(20);
  EXPECT_TRUE(cluster.write(4, "shared", "right"));
  cluster.run_for(100);
  EXPECT_EQ(cluster.read(3, "shared"), "left");
  EXPECT_EQ(cluster.read(5, "shared"), "right");
  cluster.heal();
  cluster.run_for(3000);
  for (const char* key : {"shared", "left"})
    EXPECT_THAT(cluster.read_all(key), Each(cluster.read(1, key))) << key;
  for (int i = 2; i <= 5; ++i) {
    EXPECT_EQ(cluster.status(i).applied, cluster.status(1).applied) << i;
    EXPECT_EQ(cluster.status(i).chain, cluster.status(1).chain) << i;
  }
}

// One order reaches two of three notebooks; the third goes on by itself.
struct Notebooks : Cluster {
  explicit Notebooks(Merge merge) : Cluster("both-sides-accept", 3, {.merge = merge}) {
    write(1, "order-1", "open");
    run_for(100);
    split({1, 2}, {3});
    write(1, "order-2", "open");
    run_for(20);
    remove(2, "order-1");
    run_for(20);
    write(1, "order-3", "open");
    run_for(20);
    write(3, "order-4", "open");
    run_for(20);
  }
  void reconnect() {
    heal();
    run_for(3000);
  }
};

TEST(BothSidesAccept, TheLongestHistoryThrowsTheOtherSidesOrderAway) {
  Notebooks notebooks(Merge::kLongest);
  notebooks.reconnect();
  EXPECT_THAT(notebooks.read_all("order-4"), Each("-"));
  EXPECT_THAT(notebooks.read_all("order-3"), Each("open"));
}

TEST(BothSidesAccept, AUnionBringsBackWhatOneSideHasDeleted) {
  Notebooks notebooks(Merge::kUnion);
  EXPECT_EQ(notebooks.read(1, "order-1"), "-");
  notebooks.reconnect();
  EXPECT_THAT(notebooks.read_all("order-1"), Each("open"));
  EXPECT_THAT(notebooks.read_all("order-4"), Each("open"));
}

TEST(BothSidesAccept, TheNewestClockBelievesAClockThatIsAhead) {
  Cluster cluster("both-sides-accept", 3, {.merge = Merge::kNewestClock});
  cluster.set_clock_ahead(3, 60'000);
  cluster.split({1, 2}, {3});
  ASSERT_TRUE(cluster.write(3, "a", "older"));
  cluster.run_for(500);
  ASSERT_TRUE(cluster.write(1, "a", "newer"));
  cluster.heal();
  cluster.run_for(3000);
  EXPECT_THAT(cluster.read_all("a"), Each("older"));
}

TEST_P(BothSides, AcceptTwoGuardedWritesWithOnePredecessor) {
  Cluster cluster("both-sides-accept", 3, {.merge = GetParam()});
  ASSERT_TRUE(cluster.write(1, "a", "0"));
  cluster.run_for(100);
  const int64_t token = cluster.token(1, "a");
  cluster.split({1, 2}, {3});
  EXPECT_TRUE(cluster.write_if(1, "a", token, "left"));
  EXPECT_TRUE(cluster.write_if(3, "a", token, "right"));
}

TEST(BothSidesAccept, ASideThatOnlyMissedChangesGetsThemAll) {
  Cluster cluster("both-sides-accept", 3);
  cluster.split({1, 2}, {3});
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(cluster.write(1, key, key));
  cluster.heal();
  cluster.run_for(2000);
  EXPECT_EQ(cluster.read(3, "a") + cluster.read(3, "b") + cluster.read(3, "c"), "abc");
}

TEST(BothSidesAccept, ADroppedDeliveryIsMadeGood) {
  Cluster cluster("both-sides-accept", 3);
  cluster.drop_next(1, 3);
  ASSERT_TRUE(cluster.write(1, "a", "1"));
  ASSERT_TRUE(cluster.write(1, "b", "2"));
  cluster.run_for(2000);
  EXPECT_THAT(cluster.read_all("a"), Each("1"));
  EXPECT_THAT(cluster.read_all("b"), Each("2"));
}

// --- Two leaders ---------------------------------------------------------------------------------

TEST(TimeoutFailover, TheNextNodeTakesOverFromOneThatDied) {
  Cluster cluster("timeout-failover", 3);
  ASSERT_TRUE(cluster.write(2, "a", "1"));
  EXPECT_EQ(cluster.leader(3), 1);
  cluster.run_for(100);
  cluster.pause(1);
  cluster.run_for(900);
  EXPECT_EQ(cluster.leader(2), 2);
  EXPECT_EQ(cluster.leader(3), 2);
  EXPECT_EQ(cluster.status(3).epoch, 2u);
  EXPECT_EQ(cluster.read(3, "a"), "1");
}

TEST(TimeoutFailover, TheOneAfterNextTakesOverWhenTwoDied) {
  Cluster cluster("timeout-failover", 3);
  cluster.pause(1);
  cluster.pause(2);
  cluster.run_for(1500);
  EXPECT_EQ(cluster.leader(3), 3);
  EXPECT_TRUE(cluster.write(3, "a", "1"));
}

TEST(TimeoutFailover, TheFailoverTimeIsItsOption) {
  Cluster cluster("timeout-failover", 3, {.failover_ms = 2000});
  cluster.pause(1);
  cluster.run_for(1500);
  EXPECT_EQ(cluster.leader(2), 1);
  cluster.run_for(1000);
  EXPECT_EQ(cluster.leader(2), 2);
}

TEST(TimeoutFailover, AnIsolatedPrimaryGoesOnServingAndItsAnswersAreLost) {
  Cluster cluster("timeout-failover", 3);
  cluster.split({1}, {2, 3});
  cluster.run_for(900);
  EXPECT_TRUE(cluster.status(1).leads);
  EXPECT_TRUE(cluster.status(2).leads);
  EXPECT_TRUE(cluster.write(1, "a", "old"));
  EXPECT_TRUE(cluster.write(3, "a", "new"));
  EXPECT_EQ(cluster.read(1, "a"), "old");
  cluster.heal();
  cluster.run_for(1000);
  EXPECT_FALSE(cluster.status(1).leads);
  EXPECT_THAT(cluster.read_all("a"), Each("new"));
  EXPECT_TRUE(cluster.one_history());
}

TEST(TimeoutFailover, APausedPrimaryAnswersAsIfNothingHadHappenedUntilItHearsOfTheNext) {
  Cluster cluster("timeout-failover", 3);
  ASSERT_TRUE(cluster.write(1, "a", "0"));
  cluster.run_for(100);
  cluster.pause(1);
  cluster.run_for(900);
  ASSERT_TRUE(cluster.write(2, "a", "new"));
  // What it was sent it has not yet read.
  EXPECT_EQ(cluster.status(1).leader, NodeId{1});
  cluster.resume(1);
  EXPECT_EQ(cluster.read(1, "a"), "0");
  EXPECT_TRUE(cluster.write(1, "b", "lost"));
  cluster.run_for(1000);
  EXPECT_THAT(cluster.read_all("a"), Each("new"));
  EXPECT_THAT(cluster.read_all("b"), Each("-"));
}

TEST(TimeoutFailover, WhatThePrimaryAnsweredAndNobodyHasDiesWithIt) {
  Cluster cluster("timeout-failover", 3);
  cluster.drop_next(1, 2);
  cluster.drop_next(1, 3);
  EXPECT_TRUE(cluster.write(1, "a", "1"));
  cluster.pause(1);
  cluster.run_for(1500);
  EXPECT_EQ(cluster.read(2, "a"), "-");
}

TEST(TimeoutFailover, ACopyThatWasDroppedComesWithTheNextBeat) {
  Cluster cluster("timeout-failover", 3);
  cluster.drop_next(1, 3);
  ASSERT_TRUE(cluster.write(1, "a", "1"));
  ASSERT_TRUE(cluster.write(1, "b", "2"));
  cluster.run_for(300);
  EXPECT_TRUE(cluster.one_history());
}

// --- When majority disappears --------------------------------------------------------------------

TEST(ReachableGroup, TheFirstOfThoseThatAreReachedCoordinates) {
  Cluster cluster("reachable-group", 5);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(cluster.leader(i), 1);
  cluster.split({1, 2}, {3, 4, 5});
  cluster.run_for(500);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(cluster.leader(i), 1);
  for (int i = 3; i <= 5; ++i) EXPECT_EQ(cluster.leader(i), 3);
  EXPECT_NE(cluster.status(1).epoch, cluster.status(3).epoch);
}

TEST(ReachableGroup, AnswersWhenAllThatAreReachedHaveIt) {
  Cluster cluster("reachable-group", 3);
  cluster.pause(3);
  const auto start = cluster.status(1).applied;
  EXPECT_TRUE(cluster.write(1, "a", "1")) << "once the paused one is reached no more";
  EXPECT_EQ(cluster.status(2).applied, start + 1);
  EXPECT_EQ(cluster.status(3).applied, start);
}

TEST(ReachableGroup, BothSidesOfASplitGoOnAndTheShorterHistoryIsThrownAway) {
  Cluster cluster("reachable-group", 5);
  ASSERT_TRUE(cluster.write(5, "a", "0"));
  cluster.split({1, 2}, {3, 4, 5});
  cluster.run_for(500);
  EXPECT_TRUE(cluster.write(2, "a", "two"));
  EXPECT_TRUE(cluster.write(5, "a", "three"));
  EXPECT_TRUE(cluster.write(4, "b", "three"));
  EXPECT_EQ(cluster.read(1, "a"), "two");
  EXPECT_EQ(cluster.read(3, "a"), "three");
  cluster.heal();
  cluster.run_for(1500);
  EXPECT_THAT(cluster.read_all("a"), Each("three"));
  EXPECT_THAT(cluster.read_all("b"), Each("three"));
  EXPECT_TRUE(cluster.one_history());
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(cluster.leader(i), 1);
}

TEST(ReachableGroup, OfTwoEquallyLongHistoriesOneSurvivesOnAllNodes) {
  Cluster cluster("reachable-group", 4);
  cluster.split({1, 2}, {3, 4});
  cluster.run_for(500);
  EXPECT_TRUE(cluster.write(1, "a", "left"));
  EXPECT_TRUE(cluster.write(3, "a", "right"));
  cluster.heal();
  cluster.run_for(1500);
  EXPECT_TRUE(cluster.one_history());
  EXPECT_THAT(cluster.read_all("a"), Each(cluster.read(1, "a")));
}

TEST(ReachableGroup, ANodeAloneDecidesAlone) {
  Cluster cluster("reachable-group", 3);
  cluster.split({3}, {1, 2});
  cluster.run_for(500);
  EXPECT_TRUE(cluster.write(3, "a", "alone"));
  EXPECT_EQ(cluster.read(1, "a"), "-");
}

TEST(ReachableGroup, NobodyDecidesBeforeItHasListened) {
  Cluster cluster("reachable-group", 3);
  cluster.restart(1);
  const auto answer = cluster.ask(1, kv::PutRequest{.key = "a", .value = "1"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<kv::Error>(*answer), kv::kNoLeader);
}

}  // namespace
}  // namespace assay::naive
