#include "targets/raft/replica/snapshot.h"

#include <gtest/gtest.h>

#include "targets/kv/service/service.h"
#include "targets/raft/replica/snapshot_files.h"
#include "targets/raft/replica/testing_wal.h"

namespace assay::raft {
namespace {

kv::Service service_with(int keys) {
  kv::Service service;
  for (int i = 0; i < keys; ++i) {
    service.apply(kv::PutRequest{"k" + std::to_string(i % 7), std::to_string(i), false});
  }
  service.apply(kv::CompactionRequest{{keys / 2}});
  service.apply(kv::DeleteRangeRequest{"k1", "", false});
  return service;
}

std::string snapshot_of(const kv::Store& store, uint64_t index, size_t slice = 100) {
  SnapshotWriter writer({{LogIndex{index}, Term{3}}, 0xabc}, store);
  std::string bytes;
  while (!writer.done()) bytes += writer.next(slice);
  return bytes;
}

TEST(Snapshot, IsReadBackWhole) {
  const kv::Store service = service_with(30).store();
  const std::string bytes = snapshot_of(service, 42);
  EXPECT_EQ(snapshot_of(service, 42, 1), bytes) << "slices do not show";
  SnapshotReader reader;
  EXPECT_TRUE(reader.feed(bytes));
  ASSERT_TRUE(reader.complete());
  EXPECT_EQ(reader.head().last, (LogPosition{LogIndex{42}, Term{3}}));
  EXPECT_EQ(reader.head().chain, 0xabcu);
  const kv::Store back = reader.release();
  EXPECT_EQ(back.state_hash(), service.state_hash());
  EXPECT_EQ(back.compacted(), service.compacted());
  EXPECT_EQ(snapshot_of(back, 42), bytes);
}

TEST(Snapshot, APartIsNeverComplete) {
  const std::string bytes = snapshot_of(service_with(20).store(), 42);
  for (size_t length = 0; length < bytes.size(); ++length) {
    SnapshotReader reader;
    ASSERT_TRUE(reader.feed(bytes.substr(0, length)));
    ASSERT_FALSE(reader.complete()) << length;
    ASSERT_TRUE(reader.feed(bytes.substr(length)));
    ASSERT_TRUE(reader.complete()) << length;
    ASSERT_FALSE(reader.feed("x")) << "nor is there anything behind it";
  }
}

TEST(Snapshot, AnyFlippedBitIsNoticed) {
  const std::string bytes = snapshot_of(service_with(20).store(), 42);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1u << (at % 8));
    SnapshotReader reader;
    reader.feed(damaged);
    ASSERT_FALSE(reader.complete()) << at;
  }
}

class SnapshotFilesTest : public WalTest {
 protected:
  // Written by a process that dies after so many steps of the disk; true if it came to the end.
  bool write_snapshot(uint64_t index, int steps = 1000, Mutations mutations = {}) {
    const std::string bytes = snapshot_of(service_.store(), index);
    SnapshotFile file(env_, LogIndex{index}, std::to_string(++number_), mutations);
    bool finished = false;
    file.append(bytes.substr(0, bytes.size() / 2), [&] {
      file.append(bytes.substr(bytes.size() / 2),
                  [&] { file.finish([&finished] { finished = true; }); });
    });
    for (int i = 0; i < steps && !disk_.idle(); ++i) disk_.do_next();
    disk_.lose_process();
    return finished;
  }
  SnapshotRecovery recovered(Mutations mutations = {}) {
    SnapshotRecovery recovery;
    EXPECT_EQ(SnapshotRecovery::recover(disk_, mutations, recovery), "");
    return recovery;
  }
  uint64_t newest() { return recovered().head.last.index.value; }

  kv::Service service_ = service_with(30);
  uint64_t number_ = 0;
};

TEST_F(SnapshotFilesTest, TheNewestIsRecoveredAndTheOthersGo) {
  EXPECT_EQ(newest(), 0u);
  for (uint64_t index : {99, 100, 7}) EXPECT_TRUE(write_snapshot(index));
  const SnapshotRecovery recovery = recovered();
  EXPECT_EQ(recovery.head.last.index, LogIndex{100});
  EXPECT_EQ(recovery.store.state_hash(), service_.state_hash());
  EXPECT_EQ(recovery.make_durable(disk_), "");
  EXPECT_EQ(disk_.files().size(), 1u);
  EXPECT_EQ(newest(), 100u);
}

// A crash or a power loss after every step: the older snapshot, until the newer is there for good.
TEST_F(SnapshotFilesTest, APartlyWrittenOneIsNeverLoaded) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimRandom random(seed, "power");
    for (int steps = 0;; ++steps) {
      disk_ = SimDisk();
      ASSERT_TRUE(write_snapshot(5));
      const bool finished = write_snapshot(9, steps);
      if (seed > 1) disk_.lose_power(random);
      const uint64_t found = newest();
      ASSERT_TRUE(found == 9 || (found == 5 && !finished)) << found << " after " << steps;
      ASSERT_EQ(recovered().store.state_hash(), service_.state_hash());
      ASSERT_EQ(recovered().refused, 0u);
      if (finished) break;
    }
  }
}

TEST_F(SnapshotFilesTest, ATornOneIsRefusedAndTheOlderUsed) {
  ASSERT_TRUE(write_snapshot(5));
  ASSERT_TRUE(write_snapshot(9));
  std::string& bytes = disk_.files().at(snapshot_file_name(LogIndex{9})).bytes;
  bytes.resize(bytes.size() - 1);
  EXPECT_EQ(newest(), 5u);
  EXPECT_EQ(recovered().refused, 1u);
  EXPECT_EQ(recovered().make_durable(disk_), "");
  EXPECT_EQ(disk_.files().size(), 1u);
}

// Row 52: canonical/raft#184.
TEST_F(SnapshotFilesTest, WithItsNameTooEarlyAPartIsLoaded) {
  ASSERT_TRUE(write_snapshot(5));
  ASSERT_FALSE(write_snapshot(9, 3, Mutation::kPartSnapshotLoaded));
  const SnapshotRecovery recovery = recovered(Mutation::kPartSnapshotLoaded);
  EXPECT_EQ(recovery.head.last.index, LogIndex{9});
  EXPECT_NE(recovery.store.state_hash(), service_.state_hash());
  EXPECT_EQ(newest(), 5u) << "by the checksum it would have been noticed";
}

// Row 53: hashicorp/raft#229.
TEST_F(SnapshotFilesTest, WithoutASyncAPowerLossTakesIt) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimRandom random(seed, "power");
    disk_ = SimDisk();
    ASSERT_TRUE(write_snapshot(9, 1000, Mutation::kSnapshotNotSynced));
    disk_.lose_power(random);
    lost = lost || newest() == 0;
  }
  EXPECT_TRUE(lost);
}

TEST_F(SnapshotFilesTest, DiscardedOnesLeaveNothing) {
  {
    SnapshotFile file(env_, LogIndex{9}, "1", {});
    file.append("part", [] { FAIL() << "a callback of one that is gone"; });
    file.discard();
  }
  disk_.do_all();
  EXPECT_TRUE(disk_.files().empty());
}

TEST_F(SnapshotFilesTest, AFailedSyncIsFatal) {
  SnapshotFile file(env_, LogIndex{9}, "1", {});
  file.append("part", [] {});
  disk_.do_next();
  disk_.do_next();
  EXPECT_THROW(disk_.do_next(true), std::runtime_error);
}

}  // namespace
}  // namespace assay::raft
