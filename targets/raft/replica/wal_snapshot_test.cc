#include "targets/raft/replica/testing_wal.h"

namespace assay::raft {
namespace {

// Entries 1 to 10, a segment each.
class LogBehindASnapshot : public WalTest {
 protected:
  LogBehindASnapshot() {
    begin();
    wal_->append(HardState{Term{3}, NodeId{2}});
    for (uint64_t i = 1; i <= 10; ++i) write({entry(i, i < 6 ? 1 : 2, std::to_string(i))});
  }
  void begin(Mutations mutations = {}) {
    start([&](WalOptions& options) {
      options.segment_bytes = 1;
      options.mutations = mutations;
    });
  }
  // A snapshot is durable, entries up to drop_through may go.
  void note(LogPosition snapshot, uint64_t drop_through, std::vector<std::string> older = {}) {
    snapshot_ = snapshot;
    wal_->note_snapshot(snapshot, LogIndex{drop_through}, std::move(older));
    wal_->flush();
    disk_.do_all();
  }
  size_t segments() const {
    size_t count = 0;
    for (const auto& [name, file] : const_cast<SimDisk&>(disk_).files()) {
      count += name.starts_with("wal-") ? 1 : 0;
    }
    return count;
  }
  uint64_t first() { return recover().before_first.index.value + 1; }

  static constexpr LogPosition kAt7{LogIndex{7}, Term{2}};
};

TEST_F(LogBehindASnapshot, LosesTheSegmentsThatAreWhollyInIt) {
  ASSERT_EQ(segments(), 10u);
  note(kAt7, 7);
  EXPECT_EQ(segments(), 4u) << "8, 9, 10 and the mark";
  const WalRecovery recovery = recover();
  EXPECT_EQ(recovery.before_first, kAt7);
  EXPECT_EQ(shown(recovery.entries), "8/2=8 9/2=9 10/2=10 ");
  EXPECT_EQ(recovery.hard_state, (HardState{Term{3}, NodeId{2}}));
  EXPECT_FALSE(recovery.begins_anew);
}

TEST_F(LogBehindASnapshot, KeepsWhatLaggardsMayNeed) {
  note(kAt7, 4);
  const WalRecovery recovery = recover();
  EXPECT_EQ(recovery.before_first, (LogPosition{LogIndex{5}, Term{1}})) << "its term is known";
  EXPECT_EQ(recovery.entries.size(), 5u);
}

TEST_F(LogBehindASnapshot, IsNotDroppedBeforeTheMarkIsDurable) {
  snapshot_ = kAt7;
  wal_->note_snapshot(kAt7, LogIndex{7}, {});
  wal_->flush();
  while (wal_->durable() < wal_->appended()) {
    EXPECT_GE(segments(), 10u);
    disk_.do_next();
  }
  disk_.do_all();
  EXPECT_EQ(segments(), 4u);
}

TEST_F(LogBehindASnapshot, GoesOnAfterARestart) {
  note(kAt7, 7);
  begin();
  write({entry(11, 2, "11")});
  EXPECT_EQ(recover().entries.size(), 4u);
  note({LogIndex{11}, Term{2}}, 11);
  EXPECT_TRUE(recover().entries.empty());
  begin();
  write({entry(12, 3, "12")});
  EXPECT_EQ(shown(recover().entries), "12/3=12 ");
  EXPECT_EQ(first(), 12u);
}

TEST_F(LogBehindASnapshot, RefusesToStartWithoutTheSnapshot) {
  note(kAt7, 7);
  snapshot_ = {};
  EXPECT_NE(recovery_error().find("the snapshot of entry 7"), std::string::npos);
  snapshot_ = {LogIndex{6}, Term{2}};
  EXPECT_NE(recovery_error().find("is missing or damaged"), std::string::npos);
  snapshot_ = {LogIndex{9}, Term{2}};  // a newer one will do
  EXPECT_EQ(recovery_error(), "");
}

TEST_F(LogBehindASnapshot, RefusesToStartWithoutASegmentThatTheMarkNames) {
  note(kAt7, 7);
  disk_.files().erase(disk_.files().begin());
  EXPECT_EQ(recovery_error(), "log segment 8 is missing");
}

// Removals are not synced: a power loss may bring any of the files back.
TEST_F(LogBehindASnapshot, SegmentsThatComeBackAreRemovedAgain) {
  const auto before = disk_.files();
  note(kAt7, 7);
  const std::string expected = shown(recover().entries);
  const auto after = disk_.files();
  for (unsigned which = 0; which < 128; ++which) {
    disk_.files() = after;
    unsigned bit = 0;
    for (const auto& [name, file] : before) {
      if (!after.contains(name) && ((which >> bit++) & 1) != 0) disk_.files()[name] = file;
    }
    const WalRecovery recovery = recover();
    ASSERT_TRUE(shown(recovery.entries).ends_with(expected)) << which;
    ASSERT_LE(recovery.before_first.index, kAt7.index);
    ASSERT_EQ(segments(), 4u);
  }
}

TEST_F(LogBehindASnapshot, RemovesTheFilesThatTheSnapshotReplaces) {
  disk_.files()["snap-old"].name_durable = true;
  note(kAt7, 0, {"snap-old"});
  EXPECT_FALSE(disk_.files().contains("snap-old"));
  EXPECT_EQ(segments(), 11u);
}

// An installed snapshot that lies beyond the log.
TEST_F(LogBehindASnapshot, BeginsAnewAfterAReset) {
  const LogPosition at20{LogIndex{20}, Term{3}};
  wal_->reset(at20);
  note(at20, 5);
  write({entry(21, 3, "21")});
  const WalRecovery recovery = recover();
  EXPECT_EQ(recovery.before_first, at20);
  EXPECT_EQ(shown(recovery.entries), "21/3=21 ");
  snapshot_ = kAt7;
  EXPECT_NE(recovery_error().find("the snapshot of entry 20"), std::string::npos)
      << "the older one leads nowhere";
}

// The process died when the snapshot was durable and the log did not know of it yet.
TEST_F(LogBehindASnapshot, BeginsAnewWhenTheLogDoesNotLeadToIt) {
  const auto files = disk_.files();
  for (const LogPosition snapshot :
       {LogPosition{LogIndex{20}, Term{3}}, LogPosition{LogIndex{7}, Term{3}}}) {
    disk_.files() = files;
    snapshot_ = snapshot;
    const WalRecovery recovery = recover();
    EXPECT_TRUE(recovery.begins_anew);
    EXPECT_EQ(recovery.before_first, snapshot);
    EXPECT_TRUE(recovery.entries.empty());
    begin();
    write({entry(snapshot.index.value + 1, 3, "next")});
    EXPECT_EQ(recover().entries.size(), 1u);
    EXPECT_FALSE(recover().begins_anew);
  }
}

TEST_F(LogBehindASnapshot, RefusesAGapBehindIt) {
  note(kAt7, 7);
  write({entry(11, 2, "11")});
  begin();
  note({LogIndex{9}, Term{2}}, 9);
  snapshot_ = {LogIndex{9}, Term{2}};
  EXPECT_EQ(recovery_error(), "");
  EXPECT_EQ(first(), 10u);
}

// What is left at the front may have been replaced later on: from index 8 on by another leader.
TEST_F(LogBehindASnapshot, MayBeginWithEntriesThatWereReplaced) {
  for (uint64_t i = 8; i <= 9; ++i) write({entry(i, 3, "new" + std::to_string(i))});
  note({LogIndex{8}, Term{3}}, 8);  // takes the first 8, and leaves the old 9 and 10
  const WalRecovery recovery = recover();
  EXPECT_FALSE(recovery.begins_anew);
  EXPECT_EQ(recovery.before_first, (LogPosition{LogIndex{8}, Term{3}}));
  EXPECT_EQ(shown(recovery.entries), "9/3=new9 ");
}

// Row 51: RedisLabs/redisraft#43.
TEST_F(LogBehindASnapshot, NoticesThatTooMuchWasDropped) {
  begin(Mutation::kLogDroppedTooFar);
  note(kAt7, 7);
  write({entry(11, 2, "11")});
  EXPECT_EQ(recovery_error(), "the entries from 8 to 9 are missing");
}

TEST_F(LogBehindASnapshot, RandomCrashesKeepWhatWasDurable) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimRandom random(seed, "snapshots");
    disk_ = SimDisk();
    snapshot_ = {};
    uint64_t written = 0;
    for (int crash = 0; crash < 4; ++crash) {
      start([&](WalOptions& options) { options.segment_bytes = 300; });
      WalRecovery recovery = recover();
      const uint64_t kept = recovery.before_first.index.value + recovery.entries.size();
      ASSERT_GE(kept, snapshot_.index.value) << "seed " << seed;
      written = kept;
      uint64_t durable = kept;
      std::deque<std::pair<Wal::Position, uint64_t>> waiting;
      for (int step = 0; step < 40; ++step) {
        if (random.chance(400)) {
          wal_->append({entry(++written, 1, std::string(random.below(200), 'x'))});
          waiting.emplace_back(wal_->appended(), written);
          wal_->flush();
        } else if (random.chance(150) && durable > snapshot_.index.value) {
          snapshot_ = {LogIndex{durable}, Term{1}};
          wal_->note_snapshot(snapshot_, LogIndex{durable - random.below(3) % durable}, {});
          wal_->flush();
        } else {
          disk_.do_next();
          while (!waiting.empty() && waiting.front().first <= wal_->durable()) {
            durable = waiting.front().second;
            waiting.pop_front();
          }
        }
      }
      disk_.lose_power(random);
      recovery = recover();
      ASSERT_GE(recovery.before_first.index.value + recovery.entries.size(), durable)
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace assay::raft
