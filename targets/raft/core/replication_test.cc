#include <gtest/gtest.h>

#include "targets/raft/core/testing_cluster.h"

namespace assay::raft {
namespace {

std::vector<uint64_t> terms_of(const Core& core) {
  std::vector<uint64_t> terms;
  for (LogIndex i = core.log().first_index(); i <= core.log().last_index(); ++i) {
    terms.push_back(core.log().term_at(i).value);
  }
  return terms;
}

TEST(Replication, ProposalsAreAppliedByAllInOrder) {
  TestingCluster cluster(3);
  cluster.elect(1);
  for (const char* bytes : {"a", "b", "c"}) cluster.propose(1, bytes);
  cluster.settle();
  for (int id = 1; id <= 3; ++id) {
    EXPECT_EQ(cluster.member(id).applied, (std::vector<std::string>{"", "a", "b", "c"})) << id;
  }
}

TEST(Replication, OnlyALeaderTakesProposals) {
  TestingCluster cluster(3);
  cluster.elect(1);
  EXPECT_FALSE(cluster[2].propose(text("x")).has_value());
  EXPECT_FALSE(cluster[2].read_index(ReadId{1}));
}

TEST(Replication, ProposalsBetweenTwoReadysTravelInOneAppend) {
  TestingCluster cluster(3);
  cluster.elect(1);
  for (int i = 0; i < 50; ++i) cluster.propose(1, "x");
  cluster.pump(1);
  const auto appends = cluster.take(MessageType::kAppend);
  ASSERT_EQ(appends.size(), 2u);
  EXPECT_EQ(appends[0].entries.size(), 50u);
}

TEST(Replication, BatchesRespectTheLimitsAndSkipNothing) {
  TestingCluster cluster(3, [](Config& config) {
    config.append_bytes_max = 100;
    config.append_entries_max = 4;
    config.appends_in_flight_max = 2;
  });
  cluster.elect(1);
  const std::vector<size_t> sizes{90, 20, 500, 10, 10, 10, 10, 10, 10, 99, 1, 1};
  for (size_t size : sizes) cluster.propose(1, std::string(size, 'x'));
  cluster.pump(1);
  for (const Message& append : cluster.wire()) {
    if (append.type != MessageType::kAppend) continue;
    size_t bytes = 0;
    for (const Entry& entry : append.entries) bytes += entry.bytes().size();
    EXPECT_TRUE(bytes <= 100 || append.entries.size() == 1) << bytes;
    EXPECT_LE(append.entries.size(), 4u);
  }
  EXPECT_EQ(cluster.take(MessageType::kAppend).size(), 4u) << "two in flight to each of two";
  EXPECT_GT(cluster[1].marks().count(Mark::kAppendWindowFull), 0u);
  cluster.run(10);
  for (int id = 1; id <= 3; ++id) ASSERT_EQ(cluster.member(id).applied.size(), sizes.size() + 1);
}

TEST(Replication, TheLeaderSendsInParallelToItsOwnSyncAndCountsItselfAfterIt) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.member(1).disk_stalls = true;
  cluster.isolate(3);
  cluster.propose(1, "a");
  cluster.pump(1);
  EXPECT_FALSE(cluster.wire().empty());
  cluster.settle();
  EXPECT_EQ(cluster[2].log().last_index(), LogIndex{2});
  EXPECT_EQ(cluster[1].commit(), LogIndex{1});
  cluster.sync(1);
  EXPECT_EQ(cluster[1].commit(), LogIndex{2});
}

TEST(Replication, AMajorityOfOthersCommitsBeforeTheLeadersOwnSync) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.member(1).disk_stalls = true;
  cluster.propose(1, "a");
  cluster.settle();
  EXPECT_EQ(cluster[1].commit(), LogIndex{2});
}

TEST(Replication, AFollowerAnswersAnAppendOnlyAfterItsSync) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(3);
  cluster.member(2).disk_stalls = true;
  cluster.propose(1, "a");
  cluster.settle();
  EXPECT_EQ(cluster[1].commit(), LogIndex{1});
  cluster.sync(2);
  cluster.settle();
  EXPECT_EQ(cluster[1].commit(), LogIndex{2});
}

// The terms of a follower's log and of the leader's: afterwards the follower's equals it.
struct Conflict {
  std::vector<uint64_t> follower;
  std::vector<uint64_t> leader;
  size_t refusals_max;
};

class ConflictingLogs : public ::testing::TestWithParam<Conflict> {};

TEST_P(ConflictingLogs, AreRepairedWithFewRefusals) {
  const Conflict& param = GetParam();
  TestingCluster cluster(3);
  cluster.restart_with(1, 9, param.leader);
  cluster.restart_with(2, 9, param.follower);
  cluster.restart_with(3, 9, param.leader);
  cluster.cut(1, 2);
  cluster.cut(2, 3);
  cluster.elect(1);
  cluster.heal();
  cluster.run(6);
  EXPECT_EQ(terms_of(cluster[2]), terms_of(cluster[1]));
  EXPECT_EQ(cluster[2].commit(), cluster[1].commit());
  EXPECT_LE(cluster[2].marks().count(Mark::kConflictHinted), param.refusals_max);
}

// The seven logs of the Raft paper's figure 7, and deep conflicts.
INSTANTIATE_TEST_SUITE_P(
    Figure7, ConflictingLogs,
    ::testing::Values(
        Conflict{{1, 1, 1, 4, 4, 5, 5, 6, 6}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 1},
        Conflict{{1, 1, 1, 4}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 1},
        Conflict{{1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 1},
        Conflict{{1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 1},
        Conflict{{1, 1, 1, 4, 4, 4, 4}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 2},
        Conflict{{1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3}, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 2},
        Conflict{{}, {1, 1, 1}, 1},
        Conflict{{2, 2, 2, 2, 2, 2, 2, 2}, {1, 3, 3, 3, 3, 3, 3, 3, 3}, 2},
        Conflict{{1, 2, 3, 4}, {5}, 1}));

TEST(Replication, ALateShortAppendDoesNotCutALongerOne) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(3);
  cluster.propose(1, "a");
  cluster.pump(1);
  const Message late = cluster.take(MessageType::kAppend).front();
  ASSERT_EQ(late.to, NodeId{2});
  cluster.propose(1, "b");
  cluster.pump(1);
  const Message longer = cluster.take(MessageType::kAppend).front();
  cluster.deliver(late);
  cluster.deliver(longer);
  ASSERT_EQ(cluster[2].log().last_index(), LogIndex{3});
  cluster.deliver(late);
  EXPECT_EQ(cluster[2].log().last_index(), LogIndex{3});
}

TEST(Replication, AFollowerCommitsOnlyWhatWasChecked) {
  TestingCluster cluster(3);
  cluster.restart_with(2, 4, {1, 2, 2, 2});  // a tail that the leader of term 4 never had
  Message empty;
  empty.type = MessageType::kAppend;
  empty.from = NodeId{1};
  empty.to = NodeId{2};
  empty.term = Term{4};
  empty.index = LogIndex{1};
  empty.log_term = Term{1};
  empty.commit = LogIndex{4};
  cluster.deliver(empty);
  EXPECT_EQ(cluster[2].commit(), LogIndex{1});
  EXPECT_EQ(cluster[2].log().last_index(), LogIndex{4});
  const auto replies = cluster.take(MessageType::kAppendReply);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].index, LogIndex{1}) << "nor does it acknowledge more";
}

// What lies above the commit index may differ from this leader's log.
TEST(Replication, AnAppendBelowTheCommitIndexIsAnsweredWithTheCommitIndex) {
  TestingCluster cluster(3);
  cluster.restart_with(2, 4, {1, 2, 2, 2});
  Message append;
  append.type = MessageType::kAppend;
  append.from = NodeId{1};
  append.to = NodeId{2};
  append.term = Term{4};
  append.index = LogIndex{2};
  append.log_term = Term{2};
  append.commit = LogIndex{2};
  cluster.deliver(append);
  ASSERT_EQ(cluster[2].commit(), LogIndex{2});
  cluster.wire().clear();
  append.index = LogIndex{1};
  append.log_term = Term{1};
  cluster.deliver(append);
  const auto replies = cluster.take(MessageType::kAppendReply);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_FALSE(replies[0].reject);
  EXPECT_EQ(replies[0].index, LogIndex{2});
}

TEST(Replication, MalformedAppendsAreDropped) {
  TestingCluster cluster(3);
  Message append;
  append.type = MessageType::kAppend;
  append.from = NodeId{1};
  append.to = NodeId{2};
  append.term = Term{4};
  append.entries = {entry(1, 3, "a"), entry(3, 3, "b")};  // a gap
  cluster.deliver(append);
  append.entries = {entry(1, 3, "a"), entry(2, 2, "b")};  // a term that decreases
  cluster.deliver(append);
  append.entries = {entry(1, 5, "a")};  // a term after the leader's
  cluster.deliver(append);
  EXPECT_EQ(cluster[2].log().last_index(), LogIndex{0});
  EXPECT_TRUE(cluster.wire().empty());
}

TEST(Replication, EntriesOfAnOlderTermAreNotCommittedByCounting) {
  // Figure 8 of the Raft paper: two of three hold the entry of term 2; the leader of term 4 must
  // not commit it before an entry of its own.
  TestingCluster cluster(3, [](Config& config) {
    config.append_entries_max = 1;
    config.appends_in_flight_max = 1;
  });
  cluster.restart_with(1, 3, {1, 2});
  cluster.restart_with(2, 3, {1});
  cluster.restart_with(3, 3, {1});
  cluster.isolate(3);
  cluster[1].campaign();
  cluster.pump_all();
  // Until node 2 holds the entry of term 2, and not yet that of term 4.
  while (cluster[2].log().last_index() < LogIndex{2}) {
    ASSERT_FALSE(cluster.wire().empty());
    const Message message = cluster.wire().front();
    cluster.wire().erase(cluster.wire().begin());
    if (message.to != NodeId{3}) cluster.deliver(message);
  }
  const auto replies = cluster.take(MessageType::kAppendReply);
  ASSERT_EQ(replies.size(), 1u);
  cluster.deliver(replies[0]);
  EXPECT_EQ(cluster[1].commit(), LogIndex{0});
  EXPECT_EQ(cluster[1].marks().count(Mark::kCommitCounted), 1u);
  cluster.settle();
  EXPECT_EQ(cluster[1].commit(), LogIndex{3});
}

TEST(Replication, LostAppendsAreSentAgain) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.propose(1, "a");
  cluster.pump(1);
  cluster.wire().clear();
  cluster.propose(1, "b");
  cluster.pump(1);
  cluster.wire().clear();
  cluster.run(10);
  EXPECT_EQ(cluster[1].commit(), LogIndex{3});
  EXPECT_EQ(cluster.member(2).applied.size(), 3u);
}

TEST(Replication, AFullWindowOfLostAppendsIsFilledAgain) {
  TestingCluster cluster(3, [](Config& config) {
    config.append_entries_max = 1;
    config.appends_in_flight_max = 2;
  });
  cluster.elect(1);
  for (int i = 0; i < 9; ++i) cluster.propose(1, "x");
  cluster.pump(1);
  cluster.wire().clear();
  cluster.run(30);
  EXPECT_EQ(cluster.member(3).applied.size(), 10u);
}

TEST(Replication, TheCommitIndexReachesFollowersWithoutAHeartbeat) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.propose(1, "a");
  cluster.settle();  // no tick
  EXPECT_EQ(cluster[2].commit(), LogIndex{2});
}

TEST(Replication, ProposalsBeyondTheLimitAreRefusedUntilSomeCommit) {
  TestingCluster cluster(3, [](Config& config) { config.uncommitted_bytes_max = 10; });
  cluster.elect(1);
  cluster.propose(1, std::string(30, 'x'));  // one may exceed it
  EXPECT_FALSE(cluster[1].propose(text("y")).has_value());
  EXPECT_EQ(cluster[1].marks().count(Mark::kProposalRefused), 1u);
  cluster.settle();
  EXPECT_TRUE(cluster[1].propose(text("y")).has_value());
}

TEST(Replication, EntriesAreHandedOutForApplyingInBoundedBatches) {
  TestingCluster cluster(1, [](Config& config) { config.apply_bytes_max = 10; });
  cluster.elect(1);
  cluster.member(1).disk_stalls = true;
  for (int i = 0; i < 5; ++i) cluster.propose(1, std::string(4, 'x'));
  cluster.pump(1);
  for (Message& message : std::exchange(cluster.member(1).waiting_for_sync, {})) {
    cluster[1].step(message);
  }
  Ready first = cluster[1].ready();
  EXPECT_EQ(first.committed.size(), 2u);
  EXPECT_TRUE(cluster[1].ready().committed.empty()) << "not before the advance";
  cluster[1].advance(first.committed.back().index);
  EXPECT_EQ(cluster[1].ready().committed.size(), 2u);
}

TEST(Replication, ARestartedMemberAppliesItsLogOnceTheCommitIsKnown) {
  TestingCluster cluster(3);
  cluster.elect(1);
  for (int i = 0; i < 5; ++i) cluster.propose(1, "x");
  cluster.settle();
  cluster.restart(2);
  EXPECT_EQ(cluster[2].commit(), LogIndex{0});
  cluster.run(4);
  EXPECT_EQ(cluster.member(2).applied.size(), 6u);
}

TEST(ReplicationDeathTest, AMemberThatLostAcknowledgedEntriesDoesNotGoOn) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.propose(1, "a");
  cluster.settle();
  cluster.member(2).disk_log.clear();
  cluster.restart(2);
  EXPECT_DEATH(cluster.run(10), "its disk has lost entries");
}

TEST(ReplicationDeathTest, TwoLeadersInOneTermAreNoticed) {
  TestingCluster cluster(3);
  cluster.elect(1);
  Message append;
  append.type = MessageType::kAppend;
  append.from = NodeId{3};
  append.to = NodeId{2};
  append.term = cluster[1].term();
  EXPECT_DEATH(cluster[2].step(append), "leads the same term");
}

}  // namespace
}  // namespace assay::raft
