// Planted bugs: the seeded test must find each, from the same draws as the real runs. It prints how
// many seeds that takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "targets/raft/replica/sim_cluster.h"

namespace assay::raft {
namespace {

struct Planted {
  const char* name;
  Mutations mutations;
  Canary canary;
  uint64_t seeds_max;  // within so many it must be found, from each base
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

constexpr uint64_t kBases = 5;
constexpr uint64_t kBaseDistance = 1'000'000;  // far from the seeds of the real runs

// Seeds until the bug is found, or 0.
uint64_t seeds_to_find(const Planted& planted, uint64_t base, std::string& what) {
  for (uint64_t count = 1; count <= planted.seeds_max; ++count) {
    SimOptions options = SimOptions::draw(base + count);
    options.mutations = planted.mutations;
    options.canary = planted.canary;
    const SimOutcome outcome = simulate(options);
    if (!outcome.violation) continue;
    what = *outcome.violation;
    return count;
  }
  return 0;
}

class PlantedBug : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFound) {
  std::vector<uint64_t> seeds;
  std::set<std::string> seen_as;
  for (uint64_t base = 1; base <= kBases; ++base) {
    std::string what;
    const uint64_t found = seeds_to_find(GetParam(), base * kBaseDistance, what);
    ASSERT_NE(found, 0u) << "not within " << GetParam().seeds_max << " seeds from "
                         << base * kBaseDistance;
    seeds.push_back(found);
    seen_as.insert(what);
  }
  std::sort(seeds.begin(), seeds.end());
  std::printf("%s: median %lu seeds to detection (", GetParam().name, seeds[kBases / 2]);
  for (uint64_t count : seeds) std::printf(" %lu", count);
  std::printf(" ), for example: %s\n", seen_as.begin()->substr(0, 160).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedBug,
    ::testing::Values(
        Planted{"M01VoteIgnoresLog", Mutation::kVoteIgnoresLog, {}, 1000},
        Planted{"M05TermAndVoteInMemory", Mutation::kTermAndVoteInMemory, {}, 1000},
        Planted{"M06VoteBeforeSync", Mutation::kVoteBeforeSync, {}, 1000},
        Planted{"M13CommitOlderTermByCounting", Mutation::kCommitOlderTermByCounting, {}, 1000},
        Planted{"M14PreviousTermUnchecked", Mutation::kPreviousTermUnchecked, {}, 1000},
        Planted{"M15CutMatchingTail", Mutation::kCutMatchingTail, {}, 1000},
        Planted{"M28AcknowledgeBeforeCommit", {}, {.wrong_acknowledge_before_commit = true}, 1000},
        Planted{"M31ForwardAcceptedTwice", Mutation::kForwardAcceptedTwice, {}, 1000},
        Planted{"M39ReadWithoutQuorum", Mutation::kReadWithoutQuorum, {}, 1000},
        Planted{"M40LocalReads", {}, {.wrong_local_reads_from_any_node = true}, 1000},
        Planted{"M41ReadBeforeOwnTermCommit", Mutation::kReadBeforeOwnTermCommit, {}, 1000},
        Planted{"M42ReadBeforeApply", Mutation::kReadBeforeApply, {}, 1000},
        Planted{"M47OldSnapshotInstalled", Mutation::kOldSnapshotInstalled, {}, 1000},
        Planted{"M49InstallMerges", Mutation::kInstallMerges, {}, 1000},
        Planted{"M51LogDroppedTooFar", Mutation::kLogDroppedTooFar, {}, 1000},
        Planted{"M52PartSnapshotLoaded", Mutation::kPartSnapshotLoaded, {}, 1000},
        Planted{"M53SnapshotNotSynced", Mutation::kSnapshotNotSynced, {}, 1000},
        Planted{"M53DirectoryNotSynced", Mutation::kDirectoryNotSynced, {}, 1000},
        Planted{"M54AcknowledgeFromProcessBuffer",
                {},
                {.wrong_acknowledge_from_process_buffer = true},
                1000}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay::raft
