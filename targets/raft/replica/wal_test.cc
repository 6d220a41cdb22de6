#include "targets/raft/replica/testing_wal.h"

namespace assay::raft {
namespace {

TEST_F(WalTest, AnEmptyDirectoryIsAnEmptyLog) {
  const WalRecovery recovery = recover();
  EXPECT_EQ(recovery.hard_state, HardState{});
  EXPECT_TRUE(recovery.entries.empty());
  EXPECT_FALSE(recovery.segment.has_value());
}

TEST_F(WalTest, WhatWasWrittenIsReadAgain) {
  start();
  wal_->append(HardState{Term{3}, NodeId{2}});
  write({entry(1, 1, "a"), entry(2, 3, "")});
  write({entry(3, 3, std::string(100'000, 'x'))});
  wal_->append(HardState{Term{4}, kNobody});
  wal_->flush();
  disk_.do_all();
  const WalRecovery recovery = recover();
  EXPECT_EQ(recovery.hard_state, (HardState{Term{4}, kNobody}));
  EXPECT_EQ(shown(recovery.entries), "1/1=a 2/3= 3/3=" + std::string(100'000, 'x') + " ");
  EXPECT_FALSE(recovery.cut_torn_tail);
}

TEST_F(WalTest, ALowerIndexReplacesEverythingFromThereOn) {
  start();
  write({entry(1, 1, "a"), entry(2, 1, "b"), entry(3, 1, "c")});
  write({entry(2, 2, "B")});
  EXPECT_EQ(shown(recover().entries), "1/1=a 2/2=B ");
}

TEST_F(WalTest, WhatArrivesDuringASyncMakesTheNextBatch) {
  start();
  wal_->append({entry(1, 1, "a")});
  wal_->flush();
  wal_->append({entry(2, 1, "b")});
  wal_->append({entry(3, 1, "c")});
  wal_->flush();
  EXPECT_EQ(wal_->durable(), 0u);
  while (durable_calls_ == 0) disk_.do_next();
  EXPECT_EQ(wal_->durable(), 1u);
  disk_.do_all();
  EXPECT_EQ(wal_->durable(), 3u);
  EXPECT_EQ(durable_calls_, 2) << "one sync for both";
}

TEST_F(WalTest, SegmentsFollowEachOther) {
  start([](WalOptions& options) { options.segment_bytes = 200; });
  wal_->append(HardState{Term{2}, NodeId{1}});
  std::string expected;
  for (uint64_t i = 1; i <= 20; ++i) {
    write({entry(i, 2, std::string(50, 'x'))});
    expected += shown({entry(i, 2, std::string(50, 'x'))});
  }
  EXPECT_GT(disk_.files().size(), 4u);
  SimRandom random(1, "");
  disk_.lose_power(random);
  const WalRecovery recovery = recover();
  EXPECT_EQ(shown(recovery.entries), expected);
  EXPECT_EQ(recovery.hard_state, (HardState{Term{2}, NodeId{1}}));
}

TEST_F(WalTest, EverySegmentBeginsWithTermAndVote) {
  start([](WalOptions& options) { options.segment_bytes = 1; });
  wal_->append(HardState{Term{9}, NodeId{3}});
  for (uint64_t i = 1; i <= 3; ++i) write({entry(i, 2, "x")});
  std::vector<HardState> states;
  const RecordHandler handler{[](const SegmentHeader&) { return std::string(); },
                              [&](const HardState& state) { states.push_back(state); },
                              [](Entry) { return std::string(); }};
  SegmentScan scan;
  const std::string file = last_file();
  EXPECT_EQ(scan_segment(bytes_of(file), *SegmentName::parse(file), handler, scan), "");
  EXPECT_EQ(states, (std::vector<HardState>{{Term{9}, NodeId{3}}}));
}

TEST_F(WalTest, ANewSegmentsNameIsDurableBeforeItsRecordsCount) {
  start();
  wal_->append({entry(1, 1, "a")});
  wal_->flush();
  while (durable_calls_ == 0) {
    EXPECT_EQ(wal_->durable(), 0u);
    disk_.do_next();
  }
  EXPECT_TRUE(disk_.files().begin()->second.name_durable);
}

TEST_F(WalTest, AFailedSyncIsFatal) {
  start();
  wal_->append({entry(1, 1, "a")});
  wal_->flush();
  disk_.do_next();
  EXPECT_THROW(disk_.do_next(true), std::runtime_error);
  EXPECT_EQ(wal_->durable(), 0u);
}

// Three batches; the file is cut at every length within the last one: what the first two held is
// there, the third's records up to the cut, and the log can be appended to and read again.
TEST_F(WalTest, TornTailIsCutBeforeTheNextAppend) {
  start();
  wal_->append(HardState{Term{1}, NodeId{1}});
  write({entry(1, 1, "first")});
  write({entry(2, 1, "second")});
  const std::string file = last_file();
  const size_t durable = bytes_of(file).size();
  write({entry(3, 1, "third"), entry(4, 1, "fourth")});
  const std::string whole = bytes_of(file);
  for (size_t length = durable; length < whole.size(); ++length) {
    bytes_of(file) = whole.substr(0, length);
    start();
    WalRecovery recovery = recover();
    ASSERT_GE(recovery.entries.size(), 2u) << length;
    ASSERT_LE(recovery.entries.size(), 3u) << length;
    ASSERT_EQ(bytes_of(file).size(), recovery.segment_bytes);
    const uint64_t next = recovery.entries.size() + 1;
    write({entry(next, 1, "after")});
    recovery = recover();
    ASSERT_EQ(recovery.entries.size(), next) << length;
    ASSERT_EQ(recovery.entries.back().bytes(), "after") << length;
    ASSERT_FALSE(recovery.cut_torn_tail);
  }
}

TEST_F(WalTest, ZerosAfterTheLastRecordAreATornTail) {
  start();
  write({entry(1, 1, "first")});
  bytes_of(last_file()) += std::string(5000, '\0');
  const WalRecovery recovery = recover();
  EXPECT_EQ(shown(recovery.entries), "1/1=first ");
  EXPECT_TRUE(recovery.cut_torn_tail);
}

// One bit flipped at every byte: in what a later batch proves durable the node refuses to start;
// in the last batch it looks like a torn write, and never yields a wrong entry.
TEST_F(WalTest, CorruptionInTheMiddleIsToldApartFromATornTail) {
  start();
  wal_->append(HardState{Term{1}, NodeId{1}});
  write({entry(1, 1, "first"), entry(2, 1, "second")});
  write({entry(3, 1, "third")});
  const std::string file = last_file();
  const size_t proven = bytes_of(file).size();
  write({entry(4, 1, "fourth"), entry(5, 1, "fifth")});
  const SimDisk::File whole = disk_.files().at(file);
  const std::string expected = shown(recover().entries);
  for (size_t at = 0; at < whole.bytes.size(); ++at) {
    disk_.files()[file] = whole;
    bytes_of(file)[at] ^= static_cast<char>(1u << (at % 8));
    WalRecovery recovery;
    const std::string error = Wal::recover(disk_, kNode, recovery);
    if (at < proven) {
      ASSERT_NE(error, "") << at;
      ASSERT_EQ(bytes_of(file).size(), whole.bytes.size()) << "nothing is cut from it";
    } else {
      ASSERT_EQ(error, "") << at;
      const std::string found = shown(recovery.entries);
      ASSERT_EQ(expected.substr(0, found.size()), found) << at;
      ASSERT_GE(recovery.entries.size(), 3u);
    }
  }
}

TEST_F(WalTest, AnyDamageInAnEarlierSegmentIsCorruption) {
  start([](WalOptions& options) { options.segment_bytes = 1; });
  write({entry(1, 1, "first")});
  const std::string first = last_file();
  write({entry(2, 1, "second")});
  const SimDisk::File whole = disk_.files().at(first);
  for (size_t at = 0; at < whole.bytes.size(); ++at) {
    disk_.files()[first] = whole;
    bytes_of(first)[at] ^= 1;
    EXPECT_NE(recovery_error(), "") << at;
  }
  for (size_t length = 0; length < whole.bytes.size(); ++length) {
    disk_.files()[first] = whole;
    bytes_of(first).resize(length);
    EXPECT_NE(recovery_error(), "") << length;
  }
}

// A segment that lost whole records at its end checks by itself; the next one's header tells.
TEST_F(WalTest, ASegmentThatLostItsLastRecordIsNoticed) {
  start([](WalOptions& options) { options.segment_bytes = 400; });
  write({entry(1, 1, "first")});
  const std::string first = last_file();
  const size_t without_second = bytes_of(first).size();
  write({entry(2, 1, std::string(400, 'x'))});
  write({entry(3, 1, "third")});
  ASSERT_NE(last_file(), first);
  bytes_of(first).resize(without_second);
  EXPECT_NE(recovery_error().find("does not continue"), std::string::npos) << recovery_error();
}

TEST_F(WalTest, AMissingOrForeignOrRenamedSegmentIsRefused) {
  start([](WalOptions& options) { options.segment_bytes = 1; });
  for (uint64_t i = 1; i <= 3; ++i) write({entry(i, 1, "x")});
  const auto whole = disk_.files();
  disk_.files().erase(std::next(disk_.files().begin()));
  EXPECT_NE(recovery_error().find("segment 2 is missing"), std::string::npos);

  disk_.files() = whole;
  disk_.files().erase(disk_.files().begin());
  EXPECT_NE(recovery_error().find("segment 1 is missing"), std::string::npos);

  disk_.files() = whole;
  WalRecovery recovery;
  EXPECT_EQ(Wal::recover(disk_, NodeId{8}, recovery),
            disk_.files().begin()->first + ": belongs to node 7, not to node 8");

  SegmentName other = *SegmentName::parse(last_file());
  other.salt ^= 1;
  disk_.files()[other.to_string()] = disk_.files()[last_file()];
  disk_.files().erase(std::prev(disk_.files().end(), 2)->first == other.to_string()
                          ? last_file()
                          : std::prev(disk_.files().end(), 2)->first);
  EXPECT_NE(recovery_error(), "");

  disk_.files() = whole;
  disk_.files()["wal-garbage"] = {};
  EXPECT_NE(recovery_error().find("not a name of a log segment"), std::string::npos);

  disk_.files() = whole;
  disk_.files()["LOCK"] = {};  // not the log's
  EXPECT_EQ(recovery_error(), "");
}

// A crash while a segment was being made leaves none, an empty one, or a part of its first batch.
TEST_F(WalTest, ATornNewSegmentIsRemoved) {
  start([](WalOptions& options) { options.segment_bytes = 1; });
  write({entry(1, 1, "first")});
  const auto before = disk_.files();
  write({entry(2, 1, "second")});
  const std::string file = last_file();
  const std::string whole = bytes_of(file);
  constexpr size_t kHeaderBytes = 45;
  for (size_t length = 0; length < kHeaderBytes; ++length) {
    disk_.files() = before;
    disk_.files()[file].bytes = whole.substr(0, length);
    start();
    ASSERT_FALSE(disk_.files().contains(file)) << length;
    write({entry(2, 1, "again")});
    ASSERT_EQ(shown(recover().entries), "1/1=first 2/1=again ");
  }
  disk_.files() = before;
  disk_.files()[file].bytes = whole.substr(0, kHeaderBytes + 1);
  EXPECT_TRUE(recover().cut_torn_tail);
  EXPECT_TRUE(disk_.files().contains(file));
}

// What a killed process left in the page cache was never promised; once it is relied upon it must
// be durable.
TEST_F(WalTest, RecoveryMakesWhatItReadDurable) {
  start();
  wal_->append({entry(1, 1, "first")});
  wal_->flush();
  disk_.do_next();  // create
  disk_.do_next();  // append, and the process dies
  disk_.lose_process();
  EXPECT_EQ(recover().entries.size(), 1u);
  SimRandom random(1, "");
  disk_.lose_power(random);
  EXPECT_EQ(recover().entries.size(), 1u);
}

TEST_F(WalTest, RandomTearsLoseOnlyWhatWasNotDurable) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimRandom random(seed, "tear");
    disk_ = SimDisk();
    uint64_t durable = 0;
    uint64_t written = 0;
    for (int crash = 0; crash < 4; ++crash) {
      start([](WalOptions& options) { options.segment_bytes = 2000; });
      const uint64_t kept = recover().entries.size();
      ASSERT_GE(kept, durable) << "seed " << seed;
      ASSERT_LE(kept, written) << "seed " << seed;
      written = durable = kept;
      for (int step = 0; step < 20; ++step) {
        if (random.chance(500)) {
          wal_->append({entry(++written, 1, std::string(random.below(900), 'x'))});
          wal_->flush();
        } else {
          disk_.do_next();
          durable = kept + wal_->durable();
        }
      }
      disk_.lose_power(random);
    }
  }
}

TEST_F(WalTest, TheCanaryCountsTheBufferAndWritesItLater) {
  start([](WalOptions& options) {
    options.count_buffer_as_durable_for = std::chrono::milliseconds(100);
  });
  env_.now_ += std::chrono::seconds(5);
  write({entry(1, 1, "a")});
  env_.now_ += std::chrono::milliseconds(99);
  write({entry(2, 1, "b")});
  EXPECT_EQ(wal_->durable(), 2u);
  EXPECT_EQ(recover().entries.size(), 0u);
  env_.now_ += std::chrono::milliseconds(1);
  wal_->flush();
  disk_.do_all();
  EXPECT_EQ(recover().entries.size(), 2u);
}

TEST(SegmentName, IsReadBackExactly) {
  const SegmentName name{12, 0xabcdef};
  EXPECT_EQ(name.to_string(), "wal-00000012-0000000000abcdef");
  const auto parsed = SegmentName::parse(name.to_string());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->sequence, 12u);
  EXPECT_EQ(parsed->salt, 0xabcdefu);
  for (const char* wrong : {"", "wal-", "wal-1-2", "wal-00000012-0000000000ABCDEF", "xwal-00000012",
                            "wal-00000012-0000000000abcdef.tmp", "wal-00000012"}) {
    EXPECT_FALSE(SegmentName::parse(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace assay::raft
