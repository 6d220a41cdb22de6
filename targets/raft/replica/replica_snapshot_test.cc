#include "targets/raft/replica/testing_replicas.h"

namespace assay::raft {
namespace {

class ReplicaSnapshots : public ReplicaTest {
 protected:
  ReplicaSnapshots() {
    adjust_ = [this](ReplicaOptions& options) {
      options.snapshot_entries = snapshot_entries_;
      options.snapshot_keep_entries = keep_;
      options.segment_bytes = 200;
      options.stream.chunk_bytes = chunk_bytes_;
      options.raft.snapshot_ticks = 30;
    };
    restart_all();
    elect(1);
  }
  void write(int node, const std::string& key, const std::string& value) {
    Waiting write;
    (*this)[node].propose(put(key, value), write.done());
    settle();
    ASSERT_TRUE(write.is(Fate::kDone));
  }
  void write_many(int count) {
    for (int i = 0; i < count; ++i) write(1, "k" + std::to_string(i % 5), std::to_string(++wrote_));
  }
  void remove(int node, const std::string& key) {
    Waiting done;
    (*this)[node].propose(kv::DeleteRangeRequest{key, "", false}, done.done());
    settle();
    ASSERT_TRUE(done.is(Fate::kDone));
  }
  uint64_t count(int node, ReplicaMark mark) { return (*this)[node].marks().count(mark); }
  uint64_t count(int node, Mark mark) { return (*this)[node].core().marks().count(mark); }
  void expect_all_equal() {
    for (int id = 2; id <= 3; ++id) {
      const ReplicaStatus status = (*this)[id].status();
      const ReplicaStatus first = (*this)[1].status();
      EXPECT_EQ(status.applied, first.applied) << id;
      EXPECT_EQ(status.chain, first.chain) << id;
      EXPECT_EQ(status.state_hash, first.state_hash) << id;
      EXPECT_EQ(status.compacted, first.compacted) << id;
    }
  }
  std::vector<std::string> files(int node, const std::string& prefix) {
    std::vector<std::string> names;
    for (const auto& [name, file] : host(node).disk_.files()) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }
  // The leader's state as one chunk to member 3, as if it had been sent by a stream.
  SnapshotChunk snapshot_of_leader() {
    const ReplicaStatus status = (*this)[1].status();
    const Term term = (*this)[1].core().log().term_at(status.applied);
    SnapshotWriter writer({{status.applied, term}, status.chain}, (*this)[1].service().store());
    SnapshotChunk chunk;
    chunk.from = NodeId{1};
    chunk.term = status.term;
    chunk.stream = ++streams_;
    chunk.last_index = status.applied;
    chunk.last_term = term;
    while (!writer.done()) chunk.bytes += writer.next(1000);
    chunk.end = true;
    return chunk;
  }
  void give(const SnapshotChunk& chunk) {
    (*this)[3].on_message(encode(chunk));
    pump(3);
  }
  void expect_member_3_has(LogIndex index, uint64_t chain) {
    EXPECT_GE((*this)[3].status().applied, index);
    EXPECT_EQ((*this)[3].chain_at(index), chain);
  }

  uint64_t snapshot_entries_ = 10;
  uint64_t keep_ = 2;
  size_t chunk_bytes_ = 200;
  int wrote_ = 0;
  uint64_t streams_ = 100;
};

TEST_F(ReplicaSnapshots, BoundTheLogInMemoryAndOnDisk) {
  write_many(200);
  for (int id = 1; id <= 3; ++id) {
    const ReplicaStatus status = (*this)[id].status();
    EXPECT_GE(status.snapshot.value, 190u);
    EXPECT_EQ(status.first_index, status.snapshot - keep_ + 1);
    EXPECT_LT(files(id, "wal-").size(), 12u);
    EXPECT_EQ(files(id, "snap-"), std::vector<std::string>{snapshot_file_name(status.snapshot)});
  }
}

TEST_F(ReplicaSnapshots, AreNotTakenWhenTurnedOff) {
  snapshot_entries_ = 0;
  restart_all();
  elect(1);
  write_many(50);
  EXPECT_TRUE(files(1, "snap-").empty());
  EXPECT_EQ((*this)[1].status().first_index, LogIndex{1});
}

TEST_F(ReplicaSnapshots, AreWhatARestartBeginsWith) {
  write_many(45);
  remove(1, "k1");
  const ReplicaStatus before = (*this)[1].status();
  SimRandom random(1, "");
  for (int id = 1; id <= 3; ++id) {
    host(id).replica_.reset();
    host(id).disk_.lose_power(random);
  }
  restart_all();
  EXPECT_GE((*this)[1].status().applied, before.snapshot) << "at once";
  EXPECT_EQ((*this)[1].status().snapshot, before.snapshot);
  elect(2);
  run(4);
  expect_all_equal();
  EXPECT_EQ((*this)[3].status().state_hash, before.state_hash);
  EXPECT_EQ((*this)[3].chain_at(before.applied), before.chain);
}

TEST_F(ReplicaSnapshots, BringAMemberUpThatWasCutOff) {
  write_many(3);
  isolated_ = {3};
  write_many(40);
  remove(1, "k2");
  Waiting compaction;
  (*this)[1].propose(kv::CompactionRequest{(*this)[1].status().revision}, compaction.done());
  settle();
  ASSERT_TRUE(compaction.is(Fate::kDone));
  write_many(40);
  isolated_.clear();
  run(10);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  EXPECT_EQ(count(1, ReplicaMark::kSnapshotStreamed), 1u);
  expect_all_equal();
  // And it goes on like the others, over a restart too.
  write(3, "k", "after");
  const ReplicaStatus before = (*this)[3].status();
  start(3);
  run(6);
  EXPECT_EQ((*this)[3].status().chain, before.chain);
  expect_all_equal();
}

// Row 49: what was deleted meanwhile does not come back.
TEST_F(ReplicaSnapshots, ReplaceTheStateAndMergeNothing) {
  write(1, "gone", "x");
  isolated_ = {3};
  remove(1, "gone");
  Waiting compaction;
  (*this)[1].propose(kv::CompactionRequest{(*this)[1].status().revision}, compaction.done());
  write_many(40);
  isolated_.clear();
  run(10);
  ASSERT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  Waiting read;
  (*this)[3].read(get("gone"), read.done());
  settle();
  ASSERT_TRUE(read.is(Fate::kDone));
  EXPECT_EQ(read.value(), "(absent)");
}

TEST_F(ReplicaSnapshots, AreNotNeededByAMemberThatLagsALittle) {
  keep_ = 30;
  restart_all();
  elect(1);
  write_many(20);
  isolated_ = {3};
  write_many(15);
  isolated_.clear();
  run(10);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 0u);
  expect_all_equal();
}

TEST_F(ReplicaSnapshots, LeaveChainsFromTheirIndexOn) {
  isolated_ = {3};
  write_many(40);
  isolated_.clear();
  run(10);
  write_many(3);
  const LogIndex applied = (*this)[3].status().applied;
  LogIndex first = applied;
  while ((*this)[3].chain_at(first - 1)) first = first - 1;
  EXPECT_GT(first, LogIndex{20});
  for (LogIndex i = first; i <= applied; ++i) {
    EXPECT_EQ((*this)[3].chain_at(i), (*this)[1].chain_at(i));
  }
  EXPECT_EQ((*this)[3].chain_at(LogIndex{0}), std::nullopt);
}

TEST_F(ReplicaSnapshots, MakePendingWritesUnknown) {
  write_many(3);
  Waiting write;
  (*this)[3].propose(put("k", "v"), write.done());
  pump(3);
  const Packet forward = wire_.back();
  wire_.clear();
  isolated_ = {3};
  deliver(forward);
  settle();
  write_many(40);
  EXPECT_FALSE(write.answer.has_value());
  isolated_.clear();
  run(10);
  ASSERT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  EXPECT_TRUE(write.is(Fate::kUnknown, Reason::kInstalled));
  EXPECT_EQ(count(3, ReplicaMark::kWriteLostInInstall), 1u);
  Waiting read;
  (*this)[3].read(get("k"), read.done());
  settle();
  EXPECT_EQ(read.value(), "v") << "it happened all the same";
}

TEST_F(ReplicaSnapshots, LetAPendingReadBeAnsweredFromThem) {
  isolated_ = {3};
  write_many(40);
  isolated_.clear();
  Waiting read;
  (*this)[3].read(get("k4"), read.done());
  run(10);
  ASSERT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  ASSERT_TRUE(read.is(Fate::kDone));
  EXPECT_EQ(read.value(), "40");
}

// Row 32: atomix/copycat#14. Forwards need no memory in the snapshot: who repeats one finds another
// term, or the process that has seen it.
TEST_F(ReplicaSnapshots, DoNotMakeARepeatedForwardHappenTwice) {
  Waiting write;
  (*this)[2].propose(put("once", "v"), write.done());
  pump(2);
  const Packet forward = wire_.back();
  settle();
  ASSERT_TRUE(write.is(Fate::kDone));
  const kv::Revision revision = (*this)[1].status().revision;
  write_many(30);
  deliver(forward);
  settle();
  SimRandom random(1, "");
  for (int id = 1; id <= 3; ++id) {
    host(id).replica_.reset();
    host(id).disk_.lose_power(random);
  }
  restart_all();
  elect(1);
  deliver(forward);
  settle();
  EXPECT_EQ((*this)[1].status().revision, revision + 30);
}

TEST_F(ReplicaSnapshots, AreWrittenInSlicesBetweenOtherWrites) {
  chunk_bytes_ = 30;
  snapshot_entries_ = 20;
  restart_all();
  elect(1);
  while ((*this)[1].status().applied.value < 19) write_many(1);
  for (int id = 1; id <= 3; ++id) host(id).disk_stalls = true;
  Waiting last;
  (*this)[1].propose(put("k", "v"), last.done());
  // One step of each disk at a time: later writes are answered while the snapshot is on its way.
  uint64_t answered_before = 0;
  std::vector<std::unique_ptr<Waiting>> writes;
  while (count(1, ReplicaMark::kSnapshotTaken) == 0) {
    writes.push_back(std::make_unique<Waiting>());
    (*this)[1].propose(put("k", "v"), writes.back()->done());
    settle();
    for (int id = 1; id <= 3; ++id) host(id).disk_.do_next();
    settle();
    answered_before = 0;
    for (const auto& write : writes) answered_before += write->answer.has_value() ? 1 : 0;
    ASSERT_LT(writes.size(), 1000u);
  }
  EXPECT_TRUE(last.answer.has_value());
  EXPECT_GT(answered_before, 2u);
}

// --- A snapshot comes at any time ----------------------------------------------------------------

TEST_F(ReplicaSnapshots, ThatAreOlderAreIgnored) {
  write_many(5);
  const SnapshotChunk old = snapshot_of_leader();
  write_many(5);
  const ReplicaStatus before = (*this)[3].status();
  wire_.clear();
  give(old);
  EXPECT_EQ(count(3, Mark::kSnapshotOlder), 1u);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 0u);
  EXPECT_EQ((*this)[3].status().chain, before.chain);
  EXPECT_FALSE(wire_.empty()) << "the leader is told what is here";
}

TEST_F(ReplicaSnapshots, AreNotTakenFromWhoDoesNotLead) {
  isolated_ = {3};
  write_many(5);
  SnapshotChunk chunk = snapshot_of_leader();
  chunk.from = NodeId{2};
  give(chunk);
  chunk.from = NodeId{1};
  chunk.term = Term{chunk.term.value - 1};
  chunk.last_term = chunk.term;
  give(chunk);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 0u);
  EXPECT_TRUE(files(3, "snap-").empty());
}

TEST_F(ReplicaSnapshots, ThatAreDamagedChangeNothing) {
  isolated_ = {3};
  write_many(5);
  const SnapshotChunk whole = snapshot_of_leader();
  const LogIndex before = (*this)[3].status().applied;
  for (size_t at = 0; at < whole.bytes.size(); ++at) {
    SnapshotChunk chunk = whole;
    chunk.stream = ++streams_;
    chunk.bytes[at] ^= 4;
    give(chunk);
    ASSERT_EQ((*this)[3].status().applied, before) << at;
    ASSERT_TRUE(files(3, "snap-").empty()) << at;
  }
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotChunkBad), whole.bytes.size());
  SnapshotChunk chunk = whole;
  chunk.stream = ++streams_;
  give(chunk);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
}

// The log of member 3 leads up to the snapshot and beyond: it stays.
TEST_F(ReplicaSnapshots, KeepALogThatLeadsBeyondThem) {
  write_many(3);
  for (int i = 0; i < 4; ++i) (*this)[1].propose(put("k", "v"), [](const Answer&) {});
  (*this)[1].pump();
  const auto appends = std::exchange(wire_, {});
  for (const Packet& packet : appends) {
    if (packet.to != 3) deliver(packet);
  }
  isolated_ = {3};
  settle();
  const SnapshotChunk chunk = snapshot_of_leader();
  const uint64_t chain = (*this)[1].status().chain;
  for (const Packet& packet : appends) {
    if (packet.to == 3) deliver(packet);
  }
  ASSERT_LT((*this)[3].status().commit, chunk.last_index);
  ASSERT_EQ((*this)[3].status().last_index, chunk.last_index);
  give(chunk);
  EXPECT_EQ(count(3, Mark::kSnapshotKeptLog), 1u);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  expect_member_3_has(chunk.last_index, chain);
  start(3);
  expect_member_3_has(chunk.last_index, chain);
  EXPECT_EQ(count(3, ReplicaMark::kLogBegunAnew), 0u);
  isolated_.clear();
  run(6);
  expect_all_equal();
}

// While it was being written, the entries came and were committed.
TEST_F(ReplicaSnapshots, ThatAreWholeTooLateAreOnlyFiles) {
  write_many(3);
  isolated_ = {3};
  write_many(4);
  const SnapshotChunk chunk = snapshot_of_leader();
  host(3).disk_stalls = true;
  give(chunk);
  isolated_.clear();
  run(6);
  ASSERT_GE((*this)[3].status().applied, chunk.last_index);
  host(3).disk_stalls = false;
  pump(3);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotTooLate), 1u);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 0u);
  EXPECT_EQ((*this)[3].status().snapshot, chunk.last_index) << "it serves as the own";
  run(2);
  expect_all_equal();
  start(3);
  run(6);
  expect_all_equal();
}

TEST_F(ReplicaSnapshots, OvertakenByAnInstallAreRemoved) {
  snapshot_entries_ = 20;
  restart_all();
  elect(1);
  while ((*this)[1].status().applied.value < 19) write_many(1);
  chunk_bytes_ = 20;
  start(3);
  run(4);
  host(3).disk_stalls = true;
  write_many(2);  // its own snapshot is due
  ASSERT_GE((*this)[3].status().applied, LogIndex{20});
  isolated_ = {3};
  write_many(3);
  const SnapshotChunk chunk = snapshot_of_leader();
  give(chunk);
  ASSERT_EQ(count(3, ReplicaMark::kSnapshotTaken), 0u);
  host(3).disk_stalls = false;
  pump(3);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotInstalled), 1u);
  for (int i = 0; i < 20; ++i) pump(3);
  EXPECT_EQ(count(3, ReplicaMark::kSnapshotOvertaken), 1u);
  EXPECT_EQ(files(3, "snap-"), std::vector<std::string>{snapshot_file_name(chunk.last_index)});
}

// --- Damage --------------------------------------------------------------------------------------

// The process died when the newer snapshot had its name and the older was still there; then the
// newer one was damaged.
TEST_F(ReplicaSnapshots, ADamagedOneIsPassedOverWhileTheOlderAndTheLogAreThere) {
  write_many(12);
  ASSERT_EQ(files(1, "snap-").size(), 1u);
  host(1).disk_stalls = true;
  std::optional<std::map<std::string, SimDisk::File>> moment;
  while (!moment) {
    write_many(1);
    for (int i = 0; i < 40 && !moment && !host(1).disk_.idle(); ++i) {
      host(1).disk_.do_next();
      pump(1);
      if (files(1, "snap-").size() == 2 && files(1, "snap-")[1].size() == 25) {
        moment = host(1).disk_.files();
      }
    }
  }
  const ReplicaStatus before = (*this)[1].status();
  host(1).disk_stalls = false;
  host(1).replica_.reset();
  host(1).disk_.lose_process();
  host(1).disk_.files() = *moment;
  const std::string newest = files(1, "snap-")[1];
  host(1).disk_.files().at(newest).bytes[40] ^= 1;
  start(1);
  EXPECT_EQ(count(1, ReplicaMark::kSnapshotDamaged), 1u);
  EXPECT_EQ(files(1, "snap-").size(), 1u) << "the damaged one is gone";
  run(100);
  EXPECT_EQ((*this)[1].chain_at(before.applied), before.chain);
}

TEST_F(ReplicaSnapshots, WithoutTheOneThatTheLogRestsOnANodeRefusesToStart) {
  write_many(30);
  host(1).replica_.reset();
  const auto names = files(1, "snap-");
  ASSERT_EQ(names.size(), 1u);
  const auto whole = host(1).disk_.files();
  for (const bool gone : {true, false}) {
    host(1).disk_.files() = whole;
    if (gone) {
      host(1).disk_.files().erase(names[0]);
    } else {
      host(1).disk_.files().at(names[0]).bytes.pop_back();
    }
    std::string error;
    ReplicaOptions options;
    options.raft.id = NodeId{1};
    options.raft.voters = {NodeId{1}, NodeId{2}, NodeId{3}};
    EXPECT_EQ(Replica::open(options, host(1), error), nullptr);
    EXPECT_NE(error.find("behind which the log goes on, is missing or damaged"), std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace assay::raft
