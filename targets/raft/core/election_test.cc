#include <gtest/gtest.h>

#include <set>

#include "targets/raft/core/testing_cluster.h"

namespace assay::raft {
namespace {

TEST(Election, OneOfThreeIsElectedByTimeAlone) {
  TestingCluster cluster(3);
  cluster.run(60);
  int leaders = 0;
  for (int id = 1; id <= 3; ++id) {
    leaders += cluster[id].role() == Role::kLeader ? 1 : 0;
    EXPECT_EQ(cluster[id].leader(), cluster[1].leader());
    EXPECT_EQ(cluster[id].commit(), LogIndex{1}) << "the entry that opens the term is committed";
  }
  EXPECT_EQ(leaders, 1);
}

TEST(Election, ASingleNodeElectsItselfOnlyAfterItsVoteIsDurable) {
  TestingCluster cluster(1);
  cluster.member(1).disk_stalls = true;
  cluster.tick(1, 20);
  EXPECT_EQ(cluster[1].role(), Role::kCandidate);
  cluster.sync(1);
  EXPECT_EQ(cluster[1].role(), Role::kLeader);
  cluster.pump(1);
  EXPECT_EQ(cluster[1].commit(), LogIndex{0}) << "its own copy is not durable yet";
  cluster.sync(1);
  EXPECT_EQ(cluster[1].commit(), LogIndex{1});
}

TEST(Election, TimeoutsAreDrawnFromTheWholeRange) {
  std::set<int> seen;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    TestingCluster cluster(1, [seed](Config& config) { config.seed = seed; });
    int ticks = 0;
    while (cluster[1].role() == Role::kFollower) {
      cluster[1].tick();
      ++ticks;
    }
    seen.insert(ticks);
  }
  EXPECT_EQ(*seen.begin(), 10);
  EXPECT_EQ(*seen.rbegin(), 20);
  EXPECT_EQ(seen.size(), 11u);
}

// Whose log is newer: candidate's last (index, term) against the voter's.
struct LogComparison {
  std::vector<uint64_t> candidate;
  std::vector<uint64_t> voter;
  bool granted;
};

class VoteComparesLogs : public ::testing::TestWithParam<LogComparison> {};

TEST_P(VoteComparesLogs, ByTermThenByIndex) {
  const LogComparison& param = GetParam();
  for (bool pre_vote : {true, false}) {
    TestingCluster cluster(3, [&](Config& config) { config.pre_vote = pre_vote; });
    cluster.restart_with(1, 5, param.candidate);
    cluster.restart_with(2, 5, param.voter);
    cluster.isolate(3);
    cluster[1].campaign();
    cluster.settle();
    EXPECT_EQ(cluster[1].role() == Role::kLeader, param.granted) << "pre-vote " << pre_vote;
    if (!param.granted) {
      const Mark mark = pre_vote ? Mark::kPreVoteRefused : Mark::kVoteRefused;
      EXPECT_EQ(cluster[2].marks().count(mark), 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, VoteComparesLogs,
                         ::testing::Values(LogComparison{{}, {}, true},
                                           LogComparison{{1}, {1}, true},
                                           LogComparison{{1, 1}, {1}, true},
                                           LogComparison{{1}, {1, 1}, false},
                                           LogComparison{{}, {1}, false},
                                           // A later term wins over a longer log, and only so.
                                           LogComparison{{1, 1, 1, 1}, {1, 1, 2}, false},
                                           LogComparison{{1, 1, 2}, {1, 1, 1, 1}, true},
                                           LogComparison{{2}, {1, 1, 1}, true}));

TEST(Election, OneVotePerTermIsKeptOverARestart) {
  TestingCluster cluster(3, [](Config& config) { config.pre_vote = false; });
  cluster.isolate(2);
  cluster[1].campaign();
  cluster.pump(1);
  Message request = cluster.take(MessageType::kVote).back();  // to node 3
  cluster.deliver(request);
  EXPECT_EQ(cluster.take(MessageType::kVoteReply).size(), 1u);
  cluster.restart(3);
  EXPECT_EQ(cluster[3].vote(), NodeId{1});
  request.from = NodeId{2};
  cluster.deliver(request);
  const auto replies = cluster.take(MessageType::kVoteReply);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].reject);
  request.from = NodeId{1};
  cluster.deliver(request);
  EXPECT_FALSE(cluster.take(MessageType::kVoteReply).at(0).reject) << "the same one may ask again";
}

TEST(Election, AVoteWaitsForTheDiskAndAPreVoteDoesNot) {
  TestingCluster cluster(3);
  cluster.member(2).disk_stalls = true;
  cluster.member(3).disk_stalls = true;
  cluster[1].campaign();
  cluster.settle();
  EXPECT_EQ(cluster[1].role(), Role::kCandidate);
  EXPECT_EQ(cluster[2].vote(), NodeId{1});
  cluster.sync(2);
  cluster.settle();
  EXPECT_EQ(cluster[1].role(), Role::kLeader);
}

TEST(Election, AVoteRequestWaitsForTheCandidatesOwnDisk) {
  TestingCluster cluster(3, [](Config& config) { config.pre_vote = false; });
  cluster.member(1).disk_stalls = true;
  cluster[1].campaign();
  cluster.pump(1);
  EXPECT_TRUE(cluster.wire().empty());
  cluster.sync(1);
  EXPECT_EQ(cluster.take(MessageType::kVote).size(), 2u);
}

TEST(Election, RepeatedVotesOfOneVoterCountOnce) {
  TestingCluster cluster(5, [](Config& config) { config.pre_vote = false; });
  cluster[1].campaign();
  cluster.pump(1);
  const Message request = cluster.take(MessageType::kVote).front();
  cluster.deliver(request);
  const Message reply = cluster.take(MessageType::kVoteReply).front();
  for (int i = 0; i < 5; ++i) cluster.deliver(reply);
  EXPECT_EQ(cluster[1].role(), Role::kCandidate);
}

TEST(Election, VotesOfAnEarlierTermDoNotCount) {
  TestingCluster cluster(3, [](Config& config) { config.pre_vote = false; });
  cluster[1].campaign();
  cluster.pump(1);
  for (Message& request : cluster.take(MessageType::kVote)) cluster.deliver(request);
  const auto replies = cluster.take(MessageType::kVoteReply);
  cluster[1].campaign();
  cluster.pump(1);
  cluster.wire().clear();
  for (const Message& reply : replies) cluster.deliver(reply);
  EXPECT_EQ(cluster[1].role(), Role::kCandidate);
  EXPECT_EQ(cluster[1].term(), Term{2});
}

TEST(Election, AMemberThatWasCutOffDoesNotUnseatTheLeader) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(3);
  cluster.run(100);
  EXPECT_EQ(cluster[3].role(), Role::kPreCandidate);
  EXPECT_EQ(cluster[3].term(), Term{1}) << "pre-votes change no term";
  cluster.heal();
  cluster.run(40);
  EXPECT_EQ(cluster[1].role(), Role::kLeader);
  EXPECT_EQ(cluster[1].term(), Term{1});
  EXPECT_EQ(cluster[3].leader(), NodeId{1});
}

TEST(Election, ARequestIsIgnoredWhileALeaderIsHeard) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster[3].campaign();
  cluster.settle();
  EXPECT_EQ(cluster[1].role(), Role::kLeader);
  EXPECT_GT(cluster[2].marks().count(Mark::kVoteIgnoredWithLeader), 0u);
}

TEST(Election, ALeaderWithoutQuorumStepsDown) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(1);
  cluster.run(21);
  EXPECT_NE(cluster[1].role(), Role::kLeader);
  EXPECT_EQ(cluster[1].marks().count(Mark::kQuorumLost), 1u);
  EXPECT_EQ(cluster[1].leader(), kNobody);
}

TEST(Election, ALeaderThatSteppedDownVotesForNobodyElseInItsTerm) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(1);
  cluster.run(21);
  ASSERT_EQ(cluster[1].term(), Term{1});
  Message request;
  request.type = MessageType::kVote;
  request.from = NodeId{3};
  request.to = NodeId{1};
  request.term = Term{1};
  request.index = LogIndex{100};
  request.log_term = Term{1};
  cluster.wire().clear();
  cluster.deliver(request);
  const auto replies = cluster.take(MessageType::kVoteReply);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].reject);
}

TEST(Election, ALeaderKeepsLeadingWithABareQuorum) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.isolate(3);
  cluster.run(100);
  EXPECT_EQ(cluster[1].role(), Role::kLeader);
  EXPECT_EQ(cluster[1].term(), Term{1});
}

// etcd-io/etcd#8501: a node whose term ran ahead while it could not win must not stay stuck.
TEST(Election, ANodeOfAHigherTermIsTakenBack) {
  TestingCluster cluster(3);
  cluster.elect(1);
  cluster.restart_with(3, 9, {});
  cluster.run(100);
  EXPECT_EQ(cluster[3].leader(), cluster[1].leader());
  EXPECT_GE(cluster[1].term(), Term{10});
  EXPECT_EQ(cluster[3].log().last_index(), cluster[1].log().last_index());
}

TEST(Election, ARefusedCandidateBecomesFollower) {
  TestingCluster cluster(3, [](Config& config) { config.pre_vote = false; });
  cluster.restart_with(2, 1, {1});
  cluster.restart_with(3, 1, {1});
  cluster.restart_with(1, 1, {});
  cluster[1].campaign();
  cluster.settle();
  EXPECT_EQ(cluster[1].role(), Role::kFollower);
  EXPECT_EQ(cluster[1].marks().count(Mark::kElectionLost), 1u);
}

}  // namespace
}  // namespace assay::raft
