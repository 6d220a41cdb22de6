#include <gtest/gtest.h>

#include "targets/raft/core/testing_cluster.h"

namespace assay::raft {
namespace {

// Member 3 was cut off while the others went on and dropped the front of their logs.
class LaggingMember : public ::testing::Test {
 protected:
  explicit LaggingMember(uint64_t kept = 2)
      : cluster_(3, [](Config& config) { config.snapshot_ticks = 8; }) {
    cluster_.elect(1);
    propose("early");
    cluster_.settle();
    cluster_.isolate(3);
    for (int i = 0; i < 10; ++i) propose("x" + std::to_string(i));
    cluster_.run(2);
    compact_all_but(kept);
  }
  void propose(const std::string& bytes) { cluster_.propose(1, bytes); }
  void compact_all_but(uint64_t kept) {
    for (int id : {1, 2}) cluster_.compact(id, cluster_[id].applied().value - kept);
  }
  uint64_t wanted() { return cluster_.member(1).snapshots_wanted.size(); }
  void heal_until_wanted() {
    cluster_.heal();
    run_until_wanted(1);
    ASSERT_EQ(cluster_.member(1).snapshots_wanted[0], 3u);
  }

  void run_until_wanted(uint64_t times) {
    for (int i = 0; i < 20 && wanted() < times; ++i) cluster_.run(1);
    ASSERT_EQ(wanted(), times);
  }

  TestingCluster cluster_;
};

TEST_F(LaggingMember, IsSentASnapshotAndThenTheRestOfTheLog) {
  heal_until_wanted();
  EXPECT_TRUE(cluster_[1].sends_snapshot_to(NodeId{3}));
  EXPECT_EQ(cluster_.member(3).applied.size(), 2u);
  const auto snapshot = cluster_.snapshot_of(1);
  propose("after");
  cluster_.settle();
  ASSERT_TRUE(cluster_.install(3, snapshot));
  cluster_.settle();
  EXPECT_FALSE(cluster_[1].lags(NodeId{3}));
  EXPECT_EQ(cluster_.member(3).applied, cluster_.member(1).applied);
  EXPECT_EQ(cluster_[3].marks().count(Mark::kSnapshotResetLog), 1u);
  EXPECT_EQ(cluster_[3].log().first_index(), snapshot.index + 1);
}

TEST_F(LaggingMember, CountsForTheQuorumOnceItHasTheSnapshot) {
  heal_until_wanted();
  ASSERT_TRUE(cluster_.install(3, cluster_.snapshot_of(1)));
  cluster_.settle();
  cluster_.isolate(2);
  const LogIndex before = cluster_[1].commit();
  propose("with member 3 alone");
  cluster_.run(4);
  EXPECT_EQ(cluster_[1].commit(), before + 1);
}

TEST_F(LaggingMember, IsSentNothingElseWhileASnapshotIsOnItsWay) {
  heal_until_wanted();
  propose("after");
  cluster_.pump(1);
  for (const Message& append : cluster_.take(MessageType::kAppend)) EXPECT_EQ(append.to, NodeId{2});
}

TEST_F(LaggingMember, IsProbedAgainWhenNothingIsHeardOfTheSnapshot) {
  heal_until_wanted();
  cluster_.run(7);
  EXPECT_EQ(cluster_[1].marks().count(Mark::kSnapshotTimedOut), 0u);
  cluster_.tick(1);
  EXPECT_EQ(cluster_[1].marks().count(Mark::kSnapshotTimedOut), 1u);
  EXPECT_FALSE(cluster_[1].sends_snapshot_to(NodeId{3}));
  EXPECT_TRUE(cluster_[1].lags(NodeId{3}));
  run_until_wanted(2);
}

TEST_F(LaggingMember, IsNotProbedWhileTheSnapshotMakesHeadway) {
  heal_until_wanted();
  for (int i = 0; i < 20; ++i) {
    cluster_.run(4);
    cluster_[1].snapshot_moves(NodeId{3});
  }
  EXPECT_EQ(wanted(), 1u);
  EXPECT_EQ(cluster_[1].role(), Role::kLeader) << "it is heard of all the same";
}

// The word that the snapshot is there was lost: no second one is sent.
TEST_F(LaggingMember, IsFoundToHaveTheSnapshotByTheProbe) {
  heal_until_wanted();
  ASSERT_TRUE(cluster_.install(3, cluster_.snapshot_of(1)));
  cluster_.wire().clear();
  cluster_.run(16);
  EXPECT_EQ(wanted(), 1u);
  EXPECT_FALSE(cluster_[1].sends_snapshot_to(NodeId{3}));
  propose("after");
  cluster_.settle();
  EXPECT_EQ(cluster_.member(3).applied, cluster_.member(1).applied);
}

// Row 47: etcd-io/etcd#1763.
TEST_F(LaggingMember, IgnoresALateSnapshotThatIsNotNewer) {
  heal_until_wanted();
  const auto snapshot = cluster_.snapshot_of(1);
  ASSERT_TRUE(cluster_.install(3, snapshot));
  cluster_.settle();
  propose("after");
  cluster_.settle();
  const LogIndex commit = cluster_[3].commit();
  EXPECT_FALSE(cluster_.install(3, snapshot)) << "older than what is committed here";
  EXPECT_FALSE(cluster_.install(3, cluster_.snapshot_of(1))) << "equal to it";
  EXPECT_EQ(cluster_[3].commit(), commit);
  EXPECT_EQ(cluster_[3].log().last_index(), commit);
  EXPECT_EQ(cluster_[3].marks().count(Mark::kSnapshotOlder), 2u);
  const auto replies = cluster_.take(MessageType::kAppendReply);
  ASSERT_FALSE(replies.empty()) << "and says what it has";
  EXPECT_EQ(replies.back().index, commit);
}

TEST_F(LaggingMember, RestartsFromTheSnapshot) {
  heal_until_wanted();
  ASSERT_TRUE(cluster_.install(3, cluster_.snapshot_of(1)));
  cluster_.settle();
  propose("after");
  cluster_.settle();
  const auto applied = cluster_.member(1).applied;
  cluster_.restart(3);
  EXPECT_EQ(cluster_[3].applied().value, applied.size() - 1);
  cluster_.run(6);
  EXPECT_EQ(cluster_.member(3).applied, applied);
}

TEST_F(LaggingMember, MayLeadWithTheSnapshotAlone) {
  heal_until_wanted();
  ASSERT_TRUE(cluster_.install(3, cluster_.snapshot_of(1)));
  cluster_.settle();
  cluster_.elect(3);
  cluster_.propose(3, "of the new leader");
  cluster_.run(4);
  for (int id : {1, 2}) EXPECT_EQ(cluster_.member(id).applied.back(), "of the new leader");
}

// Without the snapshot it must not: its log is behind.
TEST_F(LaggingMember, IsRefusedTheVotesOfThoseThatCompacted) {
  cluster_.heal();
  for (int id : {1, 2}) cluster_.restart(id);
  cluster_[3].campaign();
  cluster_.settle();
  EXPECT_NE(cluster_[3].role(), Role::kLeader);
  cluster_.run(60);
  EXPECT_NE(cluster_[3].role(), Role::kLeader);
  EXPECT_TRUE(cluster_[1].role() == Role::kLeader || cluster_[2].role() == Role::kLeader);
}

// A tail that another leader's members never had lies in the way.
TEST(Install, DropsALogThatDoesNotMatch) {
  TestingCluster cluster(3);
  cluster.restart_with(3, 9, {1, 1, 5, 5, 5, 5});
  cluster.restart_with(1, 9, {1, 1, 7, 7});
  cluster.restart_with(2, 9, {1, 1, 7, 7});
  cluster.isolate(3);
  cluster.elect(1);
  cluster.run(2);
  ASSERT_EQ(cluster[1].applied(), LogIndex{5});
  cluster.compact(1, 5);
  cluster.heal();
  for (int i = 0; i < 20 && cluster.member(1).snapshots_wanted.empty(); ++i) cluster.run(1);
  ASSERT_EQ(cluster.member(1).snapshots_wanted, std::vector<uint64_t>{3});
  ASSERT_TRUE(cluster.install(3, cluster.snapshot_of(1)));
  EXPECT_EQ(cluster[3].log().last_index(), LogIndex{5});
  EXPECT_EQ(cluster[3].marks().count(Mark::kSnapshotResetLog), 1u);
}

TEST(Install, KeepsALogThatMatches) {
  TestingCluster cluster(3);
  cluster.elect(1);
  for (int i = 0; i < 4; ++i) cluster.propose(1, "x");
  cluster.isolate(3);
  cluster.settle();
  const auto snapshot = cluster.snapshot_of(1);
  cluster.propose(1, "tail");
  cluster.pump(1);
  // The entries reach member 3, and no word that they are committed.
  Message append;
  append.type = MessageType::kAppend;
  append.from = NodeId{1};
  append.to = NodeId{3};
  append.term = cluster[1].term();
  append.index = LogIndex{1};
  append.log_term = Term{1};
  for (uint64_t i = 2; i <= 6; ++i) append.entries.push_back(cluster[1].log().at(LogIndex{i}));
  cluster.deliver(append);
  ASSERT_EQ(cluster[3].commit(), LogIndex{1});
  ASSERT_TRUE(cluster.install(3, snapshot));
  EXPECT_EQ(cluster[3].marks().count(Mark::kSnapshotKeptLog), 1u);
  EXPECT_EQ(cluster[3].log().last_index(), LogIndex{6});
  EXPECT_EQ(cluster[3].commit(), snapshot.index);
  const auto replies = cluster.take(MessageType::kAppendReply);
  EXPECT_EQ(replies.back().index, snapshot.index) << "the tail behind it is not vouched for";
}

TEST(Install, IsNothingForALeader) {
  TestingCluster cluster(3);
  cluster.elect(1);
  EXPECT_FALSE(cluster[1].install(LogIndex{100}, Term{1}));
  EXPECT_EQ(cluster[1].log().last_index(), LogIndex{1});
}

TEST_F(LaggingMember, AcknowledgesASnapshotOnlyAfterItsDisk) {
  heal_until_wanted();
  cluster_.wire().clear();
  cluster_.member(3).disk_stalls = true;
  ASSERT_TRUE(cluster_.install(3, cluster_.snapshot_of(1)));
  EXPECT_TRUE(cluster_.take(MessageType::kAppendReply).empty());
  cluster_.sync(3);
  EXPECT_EQ(cluster_.take(MessageType::kAppendReply).size(), 1u);
}

// Members that have the front of the log are served from it, whoever else needs a snapshot.
TEST(Compaction, IsNotNoticedByAMemberThatLagsLessThanWhatIsKept) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.settle();
  cluster.isolate(3);
  for (int i = 0; i < 10; ++i) cluster.propose(1, "x");
  cluster.settle();
  cluster.compact(1, 1);  // the last entry that member 3 has
  cluster.heal();
  cluster.run(6);
  EXPECT_TRUE(cluster.member(1).snapshots_wanted.empty());
  EXPECT_EQ(cluster.member(3).applied, cluster.member(1).applied);
}

TEST(Compaction, UnderAFullWindowProbesAnew) {
  TestingCluster cluster(3, [](Config& config) {
    config.append_entries_max = 1;
    config.appends_in_flight_max = 2;
  });
  cluster.elect(1);
  cluster.cut(1, 3);
  for (int i = 0; i < 10; ++i) cluster.propose(1, "x");
  cluster.settle();
  ASSERT_EQ(cluster[1].applied(), LogIndex{11});
  cluster.compact(1, 10);
  cluster.heal();
  cluster.run(6);
  ASSERT_EQ(cluster.member(1).snapshots_wanted, std::vector<uint64_t>{3});
  ASSERT_TRUE(cluster.install(3, cluster.snapshot_of(1)));
  cluster.run(4);
  EXPECT_EQ(cluster[3].commit(), cluster[1].commit());
}

TEST(CompactionDeathTest, NeverTakesWhatIsNotApplied) {
  TestingCluster cluster(3);
  cluster.elect(1);
  EXPECT_DEATH(cluster[1].compact(LogIndex{2}), "compacts through 2, applied through 1");
}

TEST(CompactionDeathTest, AStateWithoutItsLogIsRefused) {
  Config config;
  config.id = NodeId{1};
  config.voters = {NodeId{1}};
  EXPECT_DEATH(Core(config, Restored{{Term{1}, kNobody}, {}, {}, {}, LogIndex{5}}),
               "a state of entry 5 with a log that ends at 0");
}

}  // namespace
}  // namespace assay::raft
