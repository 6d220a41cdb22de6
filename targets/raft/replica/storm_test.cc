// The seeded test: many small clusters, each with its own options, faults and luck.
//
// ASSAY_SEEDS=20000 runs more seeds than the usual 1,000; ASSAY_SEED=17 with
// --gtest_filter=Storm.OneSeed runs that one and tells its story on standard error (with
// ASSAY_LAGGING=1, that of the storm of snapshots).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "targets/raft/replica/sim_cluster.h"

namespace assay::raft {
namespace {

constexpr uint64_t kShards = 4;

uint64_t seeds_wanted() {
  const char* value = std::getenv("ASSAY_SEEDS");
  return value != nullptr ? std::strtoull(value, nullptr, 10) : 1000;
}

std::string rerun(uint64_t seed) {
  return "seed " + std::to_string(seed) +
         "; again, with its story: ASSAY_SEED=" + std::to_string(seed) +
         " targets_raft_replica_test --gtest_filter=Storm.OneSeed";
}

// What no storm need reach: tests of the core and of the replica do.
bool reached_elsewhere(Mark mark) { return mark == Mark::kSnapshotKeptLog; }
bool reached_elsewhere(ReplicaMark mark) {
  switch (mark) {
    case ReplicaMark::kSnapshotOvertaken:
    case ReplicaMark::kSnapshotTooLate:
    // This network and these disks alter nothing.
    case ReplicaMark::kMalformedMessage:
    case ReplicaMark::kSnapshotChunkBad:
    case ReplicaMark::kSnapshotDamaged:
      return true;
    default:
      return false;
  }
}
// What the storm of snapshots must reach, and the others need not.
bool reached_when_lagging(Mark mark) { return mark == Mark::kSnapshotTimedOut; }
bool reached_when_lagging(ReplicaMark mark) {
  return mark > ReplicaMark::kSnapshotStreamed && mark != ReplicaMark::kSnapshotInstalled &&
         mark != ReplicaMark::kWriteLostInInstall;
}

// A green run that never reached a rare branch proves nothing about it.
void expect_rare_branches_reached(const SimCounts& counts) {
  for (size_t i = 0; i < static_cast<size_t>(Mark::kCount); ++i) {
    const Mark mark = static_cast<Mark>(i);
    if (reached_elsewhere(mark) || reached_when_lagging(mark)) continue;
    EXPECT_GT(counts.core.count(mark), 0u) << to_string(mark);
  }
  for (size_t i = 0; i < static_cast<size_t>(ReplicaMark::kCount); ++i) {
    const ReplicaMark mark = static_cast<ReplicaMark>(i);
    if (reached_elsewhere(mark) || reached_when_lagging(mark)) continue;
    EXPECT_GT(counts.replica.count(mark), 0u) << to_string(mark);
  }
  EXPECT_GT(counts.failed_syncs, 0u);
  EXPECT_GT(counts.names_lost, 0u) << "of segments whose directory was not synced yet";
}

void print(uint64_t runs, const SimCounts& counts) {
  std::printf("%lu runs, %lu events, %.0f s of virtual time, %lu acknowledged, %lu elections;",
              runs, counts.events, counts.virtual_us / 1e6, counts.acknowledged, counts.elections);
  for (size_t i = 0; i < static_cast<size_t>(Mark::kCount); ++i) {
    const Mark mark = static_cast<Mark>(i);
    std::printf(" %s %lu;", std::string(to_string(mark)).c_str(), counts.core.count(mark));
  }
  for (size_t i = 0; i < static_cast<size_t>(ReplicaMark::kCount); ++i) {
    const ReplicaMark mark = static_cast<ReplicaMark>(i);
    std::printf(" %s %lu;", std::string(to_string(mark)).c_str(), counts.replica.count(mark));
  }
  std::printf(" failed syncs %lu; names lost %lu\n", counts.failed_syncs, counts.names_lost);
}

class StormShard : public ::testing::TestWithParam<uint64_t> {};

TEST_P(StormShard, KeepsEveryPromise) {
  SimCounts counts;
  uint64_t runs = 0;
  for (uint64_t seed = 1 + GetParam(); seed <= seeds_wanted(); seed += kShards, ++runs) {
    const SimOutcome outcome = simulate(SimOptions::draw(seed));
    counts.add(outcome.counts);
    ASSERT_EQ(outcome.violation, std::nullopt) << rerun(seed);
  }
  print(runs, counts);
  if (runs >= 250) expect_rare_branches_reached(counts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StormShard, ::testing::Range(uint64_t{0}, kShards));

// Members fall behind what the others keep, processes end before every step of writing and
// installing snapshots, chunks are lost, repeated and late; and all catches up in the end.
TEST(Storm, OfSnapshotsKeepsEveryPromise) {
  SimCounts counts;
  const uint64_t seeds = seeds_wanted() * 3 / 10;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const SimOutcome outcome = simulate(SimOptions::draw_lagging(seed));
    counts.add(outcome.counts);
    ASSERT_EQ(outcome.violation, std::nullopt) << "lagging " << rerun(seed);
  }
  print(seeds, counts);
  if (seeds < 300) return;
  for (size_t i = 0; i < counts.ended_in_snapshot.size(); ++i) {
    EXPECT_GT(counts.ended_in_snapshot[i], 0u) << "ended before a step of kind " << i;
  }
  for (auto i = static_cast<size_t>(Mark::kSnapshotWanted); i < static_cast<size_t>(Mark::kCount);
       ++i) {
    const auto mark = static_cast<Mark>(i);
    EXPECT_TRUE(reached_elsewhere(mark) || counts.core.count(mark) > 0) << to_string(mark);
  }
  for (auto i = static_cast<size_t>(ReplicaMark::kSnapshotTaken);
       i < static_cast<size_t>(ReplicaMark::kCount); ++i) {
    const auto mark = static_cast<ReplicaMark>(i);
    EXPECT_TRUE(reached_elsewhere(mark) || counts.replica.count(mark) > 0) << to_string(mark);
  }
}

TEST(Storm, OneSeed) {
  const char* value = std::getenv("ASSAY_SEED");
  if (value == nullptr) GTEST_SKIP() << "set ASSAY_SEED";
  const uint64_t seed = std::strtoull(value, nullptr, 10);
  const bool lagging = std::getenv("ASSAY_LAGGING") != nullptr;
  SimOptions options = lagging ? SimOptions::draw_lagging(seed) : SimOptions::draw(seed);
  options.verbose = true;
  const SimOutcome outcome = simulate(options);
  EXPECT_EQ(outcome.violation, std::nullopt);
}

}  // namespace
}  // namespace assay::raft
