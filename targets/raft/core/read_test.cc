#include <gtest/gtest.h>

#include "targets/raft/core/testing_cluster.h"

namespace assay::raft {
namespace {

TEST(ReadIndex, IsGrantedAfterOneRoundToAQuorum) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.propose(1, "a");
  cluster.settle();
  cluster.isolate(3);
  ASSERT_TRUE(cluster[1].read_index(ReadId{7}));
  cluster.pump(1);
  EXPECT_TRUE(cluster.member(1).granted_reads.empty());
  cluster.settle();
  EXPECT_EQ(cluster.member(1).granted_reads, (std::map<uint64_t, uint64_t>{{7, 2}}));
}

TEST(ReadIndex, IsNeverGrantedToALeaderWithoutQuorum) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{7}));
  cluster.run(30);
  EXPECT_TRUE(cluster.member(1).granted_reads.empty());
  EXPECT_EQ(cluster.member(1).aborted_reads, std::vector<uint64_t>{7});
}

TEST(ReadIndex, WaitsForAnEntryOfTheOwnTerm) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.propose(1, "a");
  cluster.settle();  // committed at 2 under term 1
  cluster.restart(2);
  cluster.isolate(1);
  cluster.member(3).disk_stalls = true;
  for (int i = 0; i < 10; ++i) cluster[3].tick();
  cluster[2].campaign();
  cluster.settle();
  cluster.sync(3);  // its vote
  cluster.settle();
  ASSERT_EQ(cluster[2].role(), Role::kLeader);
  ASSERT_TRUE(cluster[2].read_index(ReadId{1}));
  cluster.settle();
  EXPECT_TRUE(cluster.member(2).granted_reads.empty());
  EXPECT_EQ(cluster[2].marks().count(Mark::kReadDeferred), 1u);
  cluster.sync(3);  // its copy of the first entry of the new term
  cluster.settle();
  EXPECT_EQ(cluster.member(2).granted_reads.at(1), 3u);
}

TEST(ReadIndex, ReadsBetweenTwoReadysShareARound) {
  TestingCluster cluster(3);
  cluster.elect(1);
  for (uint64_t id = 1; id <= 20; ++id) ASSERT_TRUE(cluster[1].read_index(ReadId{id}));
  cluster.pump(1);
  EXPECT_EQ(cluster.take(MessageType::kHeartbeat).size(), 2u);
}

TEST(ReadIndex, ALaterRoundConfirmsEarlierReads) {
  TestingCluster cluster(3);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.pump(1);
  cluster.wire().clear();  // the first round is lost
  ASSERT_TRUE(cluster[1].read_index(ReadId{2}));
  cluster.settle();
  EXPECT_EQ(cluster.member(1).granted_reads.size(), 2u);
  EXPECT_EQ(cluster[1].marks().count(Mark::kReadsConfirmedTogether), 1u);
}

TEST(ReadIndex, ALostRoundIsRepeatedByTheNextHeartbeat) {
  TestingCluster cluster(3);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.pump(1);
  cluster.wire().clear();
  cluster.run(2);
  EXPECT_EQ(cluster.member(1).granted_reads.size(), 1u);
}

// etcd-io/etcd#20418: an old confirmation must not serve a later read.
TEST(ReadIndex, AnswersToAnEarlierRoundConfirmNothingNew) {
  TestingCluster cluster(3);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.pump(1);
  for (Message& heartbeat : cluster.take(MessageType::kHeartbeat)) cluster.deliver(heartbeat);
  const auto replies = cluster.take(MessageType::kHeartbeatReply);
  ASSERT_EQ(replies.size(), 2u);
  cluster.deliver(replies[0]);
  EXPECT_EQ(cluster.member(1).granted_reads.size(), 1u);
  ASSERT_TRUE(cluster[1].read_index(ReadId{2}));
  cluster.pump(1);
  cluster.wire().clear();
  cluster.deliver(replies[0]);
  cluster.deliver(replies[1]);
  EXPECT_EQ(cluster.member(1).granted_reads.size(), 1u);
}

TEST(ReadIndex, AnswersFromAnEarlierLeadershipConfirmNothing) {
  TestingCluster cluster(3);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.pump(1);
  for (Message& heartbeat : cluster.take(MessageType::kHeartbeat)) cluster.deliver(heartbeat);
  const auto old_replies = cluster.take(MessageType::kHeartbeatReply);
  cluster.elect(2);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{2}));
  cluster.pump(1);
  cluster.wire().clear();
  for (const Message& reply : old_replies) cluster.deliver(reply);
  EXPECT_EQ(cluster.member(1).granted_reads.count(2), 0u);
}

TEST(ReadIndex, OfASingleNodeNeedsNoMessage) {
  TestingCluster cluster(1);
  cluster.elect(1);
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.pump(1);
  EXPECT_EQ(cluster.member(1).granted_reads.at(1), 1u);
}

TEST(ReadIndex, DoesNotWaitForAFollowersDisk) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.member(2).disk_stalls = true;
  cluster.member(3).disk_stalls = true;
  cluster.propose(1, "a");
  ASSERT_TRUE(cluster[1].read_index(ReadId{1}));
  cluster.settle();
  EXPECT_EQ(cluster.member(1).granted_reads.at(1), 1u);
}

}  // namespace
}  // namespace assay::raft
