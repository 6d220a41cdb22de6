#include <map>

#include "targets/raft/replica/testing_replicas.h"

namespace assay::raft {
namespace {

// --- Writes -------------------------------------------------------------------------------------

TEST_F(ReplicaTest, AWriteIsAnsweredWhenItIsApplied) {
  elect(1);
  Waiting write;
  isolated_ = {2, 3};
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  EXPECT_FALSE(write.answer.has_value());
  isolated_.clear();
  run(4);
  ASSERT_TRUE(write.is(Fate::kDone));
  EXPECT_EQ(write.response().revision, kv::Revision{2});
  EXPECT_EQ(write.answer->index, LogIndex{2});
}

TEST_F(ReplicaTest, AForwardedWriteIsAnsweredWhereItCameIn) {
  elect(1);
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());
  settle();
  ASSERT_TRUE(write.is(Fate::kDone));
  EXPECT_EQ(write.response().revision, kv::Revision{2});
  EXPECT_EQ((*this)[2].marks().count(ReplicaMark::kWriteForwarded), 1u);
}

TEST_F(ReplicaTest, WithoutALeaderRequestsAreRefused) {
  Waiting write;
  Waiting read;
  (*this)[1].propose(put("k", "v"), write.done());
  (*this)[1].read(get("k"), read.done());
  EXPECT_TRUE(write.is(Fate::kRefused, Reason::kNoLeader));
  EXPECT_TRUE(read.is(Fate::kRefused, Reason::kNoLeader));
}

TEST_F(ReplicaTest, ErrorsOfTheRequestItselfAreAnswers) {
  elect(1);
  Waiting empty;
  (*this)[1].propose(put("", "v"), empty.done());
  ASSERT_TRUE(empty.is(Fate::kDone));
  EXPECT_EQ(std::get<kv::Error>(empty.answer->result), kv::kEmptyKey);
  Waiting large;
  (*this)[2].propose(put("k", std::string(2'000'000, 'x')), large.done());
  ASSERT_TRUE(large.is(Fate::kDone));
  EXPECT_EQ(std::get<kv::Error>(large.answer->result), kv::kRequestTooLarge);
  Waiting compaction;
  (*this)[1].propose(kv::CompactionRequest{{99}}, compaction.done());
  settle();
  ASSERT_TRUE(compaction.is(Fate::kDone));
  EXPECT_EQ(std::get<kv::Error>(compaction.answer->result), kv::kFutureRevision);
}

TEST_F(ReplicaTest, AForwardedWriteIsUnknownAsSoonAsATermIsNew) {
  elect(1);
  isolated_ = {1};
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());  // lost on its way
  settle();
  EXPECT_FALSE(write.answer.has_value());
  elect(3);
  EXPECT_TRUE(write.is(Fate::kUnknown, Reason::kLeaderChanged));
}

TEST_F(ReplicaTest, ADeposedLeadersWriteIsUnknownEvenIfItsEntrySurvives) {
  elect(1);
  Waiting write;
  host(1).disk_stalls = true;
  (*this)[1].propose(put("k", "v"), write.done());
  (*this)[1].pump();
  // Its entry reaches the others, their answers are lost.
  for (const Packet& packet : std::exchange(wire_, {})) deliver(packet);
  wire_.clear();
  isolated_ = {1};
  host(1).disk_stalls = false;
  run(25);
  EXPECT_TRUE(write.is(Fate::kUnknown, Reason::kLeaderChanged));
  isolated_.clear();
  run(60);
  EXPECT_EQ((*this)[1].status().revision, kv::Revision{2}) << "it happened all the same";
}

TEST_F(ReplicaTest, ARequestWithoutEndIsUnknownOrRefusedAtItsDeadline) {
  elect(1);
  isolated_ = {1};
  Waiting write;
  Waiting read;
  (*this)[2].propose(put("k", "v"), write.done());
  (*this)[2].read(get("k"), read.done());
  settle();
  now_ += std::chrono::seconds(6);
  tick(2);
  EXPECT_TRUE(write.is(Fate::kUnknown, Reason::kTimeout));
  EXPECT_TRUE(read.is(Fate::kRefused, Reason::kTimeout));
}

TEST_F(ReplicaTest, ARepeatedForwardIsAppendedOnce) {
  elect(1);
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());
  const Packet forward = wire_.back();
  wire_.clear();
  deliver(forward);
  deliver(forward);
  settle();
  deliver(forward);
  settle();
  EXPECT_EQ((*this)[2].status().revision, kv::Revision{2});
  EXPECT_EQ((*this)[1].marks().count(ReplicaMark::kForwardRepeated), 2u);
}

TEST_F(ReplicaTest, ANodeThatDoesNotLeadRefusesAForwardForCertain) {
  elect(1);
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());
  const Packet forward = wire_.back();
  wire_.clear();
  isolated_ = {1};
  while ((*this)[1].status().role == Role::kLeader) tick(1);  // without quorum it steps down
  ASSERT_EQ((*this)[1].status().term, Term{1});
  wire_.clear();
  isolated_.clear();
  deliver(forward);
  ASSERT_EQ(wire_.size(), 1u);
  const Packet refusal = wire_.back();
  wire_.clear();
  deliver(refusal);
  EXPECT_TRUE(write.is(Fate::kRefused, Reason::kNotLeader));
  deliver(forward);
  EXPECT_TRUE(wire_.empty()) << "and never appends it later";
}

// The process that may have appended the first copy is gone: the new one cannot know.
TEST_F(ReplicaTest, ARestartedLeaderDoesNotRefuseForwardsOfItsEarlierTerm) {
  elect(1);
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());
  const Packet forward = wire_.back();
  deliver(forward);  // appended, and sent on
  wire_.clear();
  start(1);
  deliver(forward);
  EXPECT_TRUE(wire_.empty());
  EXPECT_EQ((*this)[1].marks().count(ReplicaMark::kForwardRefusalUncertain), 1u);
  EXPECT_FALSE(write.answer.has_value());
}

TEST_F(ReplicaTest, ALateForwardIsNotAppendedInALaterTerm) {
  elect(1);
  Waiting write;
  (*this)[2].propose(put("k", "v"), write.done());
  const Packet forward = wire_.back();
  settle();
  ASSERT_TRUE(write.is(Fate::kDone));
  start(1);  // and forgets which forwards it has seen
  elect(1);
  deliver(forward);
  settle();
  EXPECT_EQ((*this)[2].status().revision, kv::Revision{2});
}

TEST_F(ReplicaTest, ARequestOfAnEarlierProcessIsNotTakenForANewOne) {
  elect(1);
  Waiting lost;
  (*this)[2].propose(put("k", "old"), lost.done());  // the first request of this process
  const Packet forward = wire_.back();
  wire_.clear();
  start(2);
  run(4);
  Waiting write;
  (*this)[2].propose(put("k", "new"), write.done());  // the first of the next
  wire_.clear();
  deliver(forward);
  settle();
  EXPECT_EQ((*this)[2].status().revision, kv::Revision{2}) << "the old one was applied";
  EXPECT_FALSE(write.answer.has_value());
  EXPECT_FALSE(lost.answer.has_value());
}

TEST_F(ReplicaTest, TooManyWaitingRequestsAreRefused) {
  adjust_ = [](ReplicaOptions& options) { options.pending_requests_max = 2; };
  restart_all();
  elect(1);
  isolated_ = {2, 3};
  std::vector<Waiting> writes(3);
  for (Waiting& write : writes) (*this)[1].propose(put("k", "v"), write.done());
  EXPECT_FALSE(writes[1].answer.has_value());
  EXPECT_TRUE(writes[2].is(Fate::kRefused, Reason::kOverloaded));
  Waiting read;
  (*this)[1].read(get("k"), read.done());
  EXPECT_TRUE(read.is(Fate::kRefused, Reason::kOverloaded));
}

// --- Reads --------------------------------------------------------------------------------------

TEST_F(ReplicaTest, ReadsSeeWhatWasAcknowledgedOnEveryNode) {
  elect(1);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  for (int id = 1; id <= 3; ++id) {
    Waiting read;
    (*this)[id].read(get("k"), read.done());
    settle();
    ASSERT_TRUE(read.is(Fate::kDone)) << id;
    EXPECT_EQ(read.value(), "v");
  }
}

TEST_F(ReplicaTest, AnIsolatedLeaderAnswersNoReadButASerializableOne) {
  elect(1);
  isolated_ = {1};
  Waiting read;
  Waiting stale;
  (*this)[1].read(get("k"), read.done());
  kv::RangeRequest serializable = get("k");
  serializable.serializable = true;
  (*this)[1].read(serializable, stale.done());
  EXPECT_TRUE(stale.is(Fate::kDone));
  run(21);
  EXPECT_TRUE(read.is(Fate::kRefused, Reason::kLeaderChanged));
}

TEST_F(ReplicaTest, AFollowersReadWaitsUntilItHasAppliedTheIndex) {
  elect(1);
  isolated_ = {2};
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  isolated_.clear();
  Waiting read;
  (*this)[2].read(get("k"), read.done());
  pump(2);
  const Packet ask = wire_.back();
  wire_.clear();
  deliver(ask);
  // Only the protocol's heartbeats and the answer travel; no entries.
  for (int round = 0; round < 3; ++round) {
    for (const Packet& packet : std::exchange(wire_, {})) {
      const auto decoded = decode(packet.bytes, NodeId{static_cast<uint64_t>(packet.to)});
      const auto* message = std::get_if<Message>(&*decoded);
      if (message == nullptr || message->entries.empty()) deliver(packet);
    }
  }
  EXPECT_EQ((*this)[2].marks().count(ReplicaMark::kReadWaitedForApply), 1u);
  EXPECT_FALSE(read.answer.has_value());
  run(6);
  ASSERT_TRUE(read.is(Fate::kDone));
  EXPECT_EQ(read.value(), "v");
}

TEST_F(ReplicaTest, ManyReadsAskForOneIndex) {
  elect(1);
  std::vector<Waiting> reads(50);
  for (Waiting& read : reads) (*this)[2].read(get("k"), read.done());
  pump(2);
  EXPECT_EQ(wire_.size(), 1u);
  settle();
  for (const Waiting& read : reads) EXPECT_TRUE(read.is(Fate::kDone));
}

TEST_F(ReplicaTest, AnIndexNamedToAnEarlierProcessGrantsNothing) {
  elect(1);
  Waiting lost;
  (*this)[2].read(get("k"), lost.done());
  pump(2);
  deliver(std::exchange(wire_, {}).back());
  Packet reply;
  settle_until([&](const Packet& packet) {
    const bool found = packet.from == 1 && packet.to == 2 &&
                       std::holds_alternative<ForwardReadReply>(*decode(packet.bytes, NodeId{2}));
    if (found) reply = packet;
    return found;
  });
  start(2);
  run(4);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  isolated_ = {2};
  Waiting read;
  (*this)[2].read(get("k"), read.done());  // under the id that the earlier process used first
  pump(2);
  deliver(reply);
  EXPECT_FALSE(read.answer.has_value());
}

TEST_F(ReplicaTest, ANodeThatDoesNotLeadRefusesToNameAnIndex) {
  elect(1);
  Waiting read;
  (*this)[2].read(get("k"), read.done());
  pump(2);
  const Packet ask = wire_.back();
  wire_.clear();
  start(1);
  deliver(ask);
  settle();
  EXPECT_TRUE(read.is(Fate::kRefused, Reason::kNotLeader));
}

// --- Disk and restart ---------------------------------------------------------------------------

TEST_F(ReplicaTest, AFollowerSaysNothingBeforeItsDiskDoes) {
  elect(1);
  isolated_ = {3};
  host(2).disk_stalls = true;
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  EXPECT_FALSE(write.answer.has_value());
  host(2).disk_.do_all();
  settle();
  EXPECT_TRUE(write.is(Fate::kDone));
}

TEST_F(ReplicaTest, ARestartedClusterHasEverythingAndEqualChains) {
  elect(1);
  for (int i = 0; i < 20; ++i) {
    Waiting write;
    (*this)[1 + i % 3].propose(put("k", std::to_string(i)), write.done());
    settle();
    ASSERT_TRUE(write.is(Fate::kDone));
  }
  const ReplicaStatus before = (*this)[1].status();
  SimRandom random(1, "");
  for (int id = 1; id <= 3; ++id) {
    host(id).replica_.reset();
    host(id).disk_.lose_power(random);
  }
  restart_all();
  EXPECT_EQ((*this)[1].status().applied, LogIndex{0});
  elect(2);
  run(4);
  for (int id = 1; id <= 3; ++id) {
    EXPECT_EQ((*this)[id].status().revision, before.revision);
    EXPECT_EQ((*this)[id].status().state_hash, before.state_hash);
    EXPECT_EQ((*this)[id].chain_at(before.applied), before.chain);
    EXPECT_EQ((*this)[id].status().chain, (*this)[1].status().chain);
  }
}

TEST_F(ReplicaTest, RefusesToStartFromACorruptLog) {
  elect(1);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  host(1).replica_.reset();
  host(1).disk_.files().begin()->second.bytes[70] ^= 1;
  std::string error;
  ReplicaOptions options;
  options.raft.id = NodeId{1};
  options.raft.voters = {NodeId{1}, NodeId{2}, NodeId{3}};
  EXPECT_EQ(Replica::open(options, host(1), error), nullptr);
  EXPECT_NE(error.find("corrupt at byte"), std::string::npos) << error;
}

TEST_F(ReplicaTest, AFailedSyncEndsTheProcess) {
  elect(1);
  Waiting write;
  host(1).disk_stalls = true;
  (*this)[1].propose(put("k", "v"), write.done());
  (*this)[1].pump();
  EXPECT_THROW(host(1).disk_.do_next(true), std::runtime_error);
}

TEST_F(ReplicaTest, ChainsAreKnownAtRecentIndicesOnly) {
  elect(1);
  EXPECT_EQ((*this)[1].chain_at(LogIndex{0}), 0u);
  EXPECT_EQ((*this)[1].chain_at(LogIndex{1}), (*this)[1].status().chain);
  EXPECT_EQ((*this)[1].chain_at(LogIndex{2}), std::nullopt);
  Chain chain;
  for (uint64_t i = 1; i <= Chain::kRemembered + 5; ++i) {
    chain.extend({Term{1}, LogIndex{i}, EntryKind::kNoop, nullptr});
  }
  EXPECT_EQ(chain.at(LogIndex{5}), std::nullopt);
  EXPECT_TRUE(chain.at(LogIndex{6}).has_value());
  EXPECT_EQ(chain.at(chain.index()), chain.value());
}

TEST_F(ReplicaTest, MalformedMessagesAreDropped) {
  elect(1);
  const std::string foreign = encode(ForwardRead{NodeId{9}, 1, ReadId{1}});
  const std::string garbage_command = encode(ForwardWrite{Term{1}, "garbage"});
  const std::string invalid =
      encode(ForwardWrite{Term{1}, encode_command({NodeId{2}, 1, 1}, kv::PutRequest{})});
  for (const std::string& bytes :
       {std::string(), std::string("x"), foreign, garbage_command, invalid}) {
    (*this)[1].on_message(bytes);
  }
  EXPECT_EQ((*this)[1].marks().count(ReplicaMark::kMalformedMessage), 5u);
  pump(1);
  EXPECT_EQ((*this)[1].status().last_index, LogIndex{1});
}

TEST_F(ReplicaTest, TellsWhatItApplies) {
  std::map<uint64_t, int64_t> revisions;
  adjust_ = [&](ReplicaOptions& options) {
    options.on_applied = [&](const Entry& entry, const kv::Service& service) {
      revisions[entry.index.value] = service.revision().value;
    };
  };
  restart_all();
  elect(1);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  EXPECT_EQ(revisions, (std::map<uint64_t, int64_t>{{1, 1}, {2, 2}}));
}

// --- Canaries: each is right while nothing goes wrong, and wrong in its own way when it does
// -------

TEST_F(ReplicaTest, TheLocalReadCanaryReadsWithoutAnybody) {
  canary_.wrong_local_reads_from_any_node = true;
  restart_all();
  elect(1);
  isolated_ = {3};
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  ASSERT_TRUE(write.is(Fate::kDone));
  Waiting fresh;
  Waiting stale;
  (*this)[1].read(get("k"), fresh.done());
  (*this)[3].read(get("k"), stale.done());
  ASSERT_TRUE(fresh.is(Fate::kDone));
  ASSERT_TRUE(stale.is(Fate::kDone));
  EXPECT_EQ(fresh.value(), "v");
  EXPECT_EQ(stale.value(), "(absent)");
}

TEST_F(ReplicaTest, TheEarlyAcknowledgementCanaryAnswersAfterTheLocalAppend) {
  canary_.wrong_acknowledge_before_commit = true;
  restart_all();
  elect(1);
  Waiting before;
  (*this)[2].propose(put("k", "forwarded"), before.done());
  settle();
  isolated_ = {1};
  host(1).disk_stalls = true;
  Waiting write;
  (*this)[1].propose(kv::PutRequest{"k", "v", true}, write.done());
  pump(1);
  EXPECT_FALSE(write.answer.has_value()) << "not before its own disk has it";
  host(1).disk_stalls = false;
  pump(1);
  ASSERT_TRUE(write.is(Fate::kDone));
  EXPECT_EQ(write.response().revision, kv::Revision{3});
  EXPECT_EQ(std::get<kv::PutResponse>(write.response().body).prev_kv->value, "forwarded");
  EXPECT_EQ((*this)[1].status().commit, LogIndex{2});
}

TEST_F(ReplicaTest, TheEarlyAcknowledgementCanarysReadsSeeWhatWasAnswered) {
  canary_.wrong_acknowledge_before_commit = true;
  restart_all();
  elect(1);
  for (int i = 0; i < 20; ++i) {
    Waiting write;
    (*this)[1].propose(put("k", std::to_string(i)), write.done());
    pump(1);
    ASSERT_TRUE(write.is(Fate::kDone)) << "before any message is delivered";
    ASSERT_EQ(write.response().revision, kv::Revision{2 + i});
    Waiting read;
    (*this)[1].read(get("k"), read.done());
    pump(1);
    EXPECT_FALSE(read.answer.has_value());
    settle();
    ASSERT_TRUE(read.is(Fate::kDone));
    ASSERT_EQ(read.value(), std::to_string(i));
  }
}

TEST_F(ReplicaTest, TheBufferCanaryLosesAnAcknowledgedWriteWhenAllAreKilled) {
  canary_.wrong_acknowledge_from_process_buffer = true;
  restart_all();
  elect(1);
  run(20);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  ASSERT_TRUE(write.is(Fate::kDone));
  for (int id = 1; id <= 3; ++id) host(id).disk_.lose_process();
  restart_all();
  elect(2);
  EXPECT_EQ((*this)[2].status().revision, kv::Revision{1});
}

TEST_F(ReplicaTest, TheBufferCanaryKeepsAWriteThatHadItsTime) {
  canary_.wrong_acknowledge_from_process_buffer = true;
  restart_all();
  elect(1);
  Waiting write;
  (*this)[1].propose(put("k", "v"), write.done());
  settle();
  run(20);  // 200 ms
  for (int id = 1; id <= 3; ++id) host(id).disk_.lose_process();
  restart_all();
  elect(2);
  EXPECT_EQ((*this)[2].status().revision, kv::Revision{2});
}

}  // namespace
}  // namespace assay::raft
