#include "targets/raft/replica/snapshot_stream.h"

#include "targets/kv/service/service.h"
#include "targets/raft/replica/testing_wal.h"

namespace assay::raft {
namespace {

// A sender and a receiver, and what is on its way between them.
class SnapshotStream : public WalTest {
 protected:
  SnapshotStream() {
    for (int i = 0; i < 60; ++i) {
      service_.apply(kv::PutRequest{"k" + std::to_string(i % 9), std::string(20, 'x'), false});
    }
  }
  void begin() {
    SnapshotChunk stream;
    stream.from = NodeId{1};
    stream.term = Term{3};
    stream.stream = ++streams_;
    sender_.emplace(limits_, stream, SnapshotWriter({{LogIndex{61}, Term{2}}, 7}, service_.store()),
                    [this](const SnapshotChunk& chunk) { chunks_.push_back(chunk); });
  }
  // All chunks on their way arrive, as `order` says; then what is acknowledged comes back.
  void exchange() {
    for (SnapshotChunk& chunk : std::exchange(chunks_, {})) {
      ++taken_[receiver_.on_chunk(std::move(chunk))];
      disk_.do_all();
    }
    hear();
  }
  void hear() {
    for (const SnapshotAck& ack : std::exchange(acks_, {})) {
      if (ack.stream != sender_->stream()) continue;
      ack.unknown ? begin() : static_cast<void>(sender_->on_ack(ack.taken));
    }
  }
  bool arrived() const { return arrived_ > 0; }

  kv::Service service_;
  StreamLimits limits_{.chunk_bytes = 100, .window = 3, .resend_ticks = 2};
  uint64_t streams_ = 0;
  std::optional<SnapshotSender> sender_;
  std::vector<SnapshotChunk> chunks_;
  std::vector<SnapshotAck> acks_;
  std::map<SnapshotReceiver::Taken, int> taken_;
  int arrived_ = 0;
  uint64_t arrived_hash_ = 0;
  SnapshotReceiver receiver_{env_,
                             NodeId{2},
                             {},
                             [this](NodeId to, const SnapshotAck& ack) {
                               EXPECT_EQ(to, NodeId{1});
                               acks_.push_back(ack);
                             },
                             [this](const SnapshotHead& head, const kv::Store& store, size_t) {
                               ++arrived_;
                               EXPECT_EQ(head.last, (LogPosition{LogIndex{61}, Term{2}}));
                               EXPECT_EQ(head.chain, 7u);
                               arrived_hash_ = store.state_hash();
                             }};
};

TEST_F(SnapshotStream, ArrivesWholeAndOnDisk) {
  begin();
  EXPECT_EQ(chunks_.size(), 1u) << "the first one goes alone";
  exchange();
  EXPECT_EQ(chunks_.size(), 3u);
  while (!arrived() && !chunks_.empty()) exchange();
  ASSERT_EQ(arrived_, 1);
  EXPECT_EQ(arrived_hash_, service_.state_hash());
  SnapshotRecovery recovery;
  EXPECT_EQ(SnapshotRecovery::recover(disk_, {}, recovery), "");
  EXPECT_EQ(recovery.head.last.index, LogIndex{61});
  EXPECT_TRUE(disk_.files().begin()->second.name_durable);
}

TEST_F(SnapshotStream, NothingIsAcknowledgedBeforeItIsOnDisk) {
  begin();
  receiver_.on_chunk(chunks_.front());
  EXPECT_TRUE(acks_.empty());
  disk_.do_all();
  ASSERT_EQ(acks_.size(), 1u);
  EXPECT_EQ(acks_[0].taken, chunks_.front().bytes.size());
}

TEST_F(SnapshotStream, WhatIsLostIsSentAgain) {
  begin();
  chunks_.clear();
  EXPECT_FALSE(sender_->on_tick());
  EXPECT_TRUE(sender_->on_tick());
  ASSERT_EQ(chunks_.size(), 1u);
  exchange();
  chunks_.erase(chunks_.begin());  // of three
  exchange();
  EXPECT_EQ(taken_[SnapshotReceiver::Taken::kAhead], 2);
  sender_->on_tick();
  sender_->on_tick();
  while (!arrived() && !chunks_.empty()) exchange();
  EXPECT_TRUE(arrived());
}

TEST_F(SnapshotStream, GoesOnWhereItWas) {
  begin();
  for (int i = 0; i < 5; ++i) exchange();
  chunks_.clear();
  const auto before = taken_[SnapshotReceiver::Taken::kTaken];
  sender_->send_again();
  while (!arrived() && !chunks_.empty()) exchange();
  EXPECT_TRUE(arrived());
  EXPECT_GT(before, 5);
  EXPECT_EQ(streams_, 1u);
  EXPECT_EQ(taken_[SnapshotReceiver::Taken::kRepeated], 0);
}

TEST_F(SnapshotStream, AReceiverThatKnowsNothingOfItAsksForANewOne) {
  begin();
  exchange();
  receiver_.abandon();
  EXPECT_EQ(disk_.files().size(), 1u);
  disk_.do_all();
  EXPECT_TRUE(disk_.files().empty());
  exchange();
  EXPECT_EQ(streams_, 2u);
  while (!arrived() && !chunks_.empty()) exchange();
  EXPECT_TRUE(arrived());
}

TEST_F(SnapshotStream, AFirstChunkThatComesLateDoesNotDisturbTheNextStream) {
  begin();
  const SnapshotChunk late = chunks_.front();
  begin();
  chunks_.erase(chunks_.begin());
  exchange();
  EXPECT_EQ(receiver_.on_chunk(late), SnapshotReceiver::Taken::kIgnored);
  while (!arrived() && !chunks_.empty()) exchange();
  EXPECT_TRUE(arrived());
  EXPECT_EQ(streams_, 2u);
}

TEST_F(SnapshotStream, ArrivesOverANetworkThatLosesRepeatsAndReorders) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimRandom random(seed, "network");
    limits_.chunk_bytes = static_cast<size_t>(random.between(1, 400));
    limits_.window = static_cast<size_t>(random.between(1, 5));
    arrived_ = 0;
    chunks_.clear();
    acks_.clear();
    begin();
    for (int step = 0; !arrived() && step < 20'000; ++step) {
      if (!chunks_.empty() && random.chance(600)) {
        const size_t at = random.below(chunks_.size());
        const SnapshotChunk chunk = chunks_[at];
        if (!random.chance(100)) chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(at));
        if (!random.chance(100)) receiver_.on_chunk(chunk);
      }
      if (random.chance(700)) disk_.do_next();
      if (random.chance(20)) acks_.clear();
      if (random.chance(300)) hear();
      if (random.chance(100)) sender_->on_tick();
    }
    ASSERT_EQ(arrived_, 1) << "seed " << seed;
    ASSERT_EQ(arrived_hash_, service_.state_hash());
    chunks_.clear();
    acks_.clear();
    disk_.do_all();
  }
}

}  // namespace
}  // namespace assay::raft
