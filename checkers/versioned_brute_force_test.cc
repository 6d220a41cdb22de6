// version-order, update-chain, revisions and conflicts say of small histories what the definitions say,
// by every order and every assignment (versioned_oracle.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "checkers/registry.h"
#include "checkers/versioned_oracle.h"

namespace assay::versioned_oracle {
namespace {

// Shards are tests of their own, with a seed each, that run beside each other.
constexpr uint64_t kShards = 8;

uint64_t histories_of_a_shard() {
  const char* set = std::getenv("ASSAY_HISTORIES");
  return (set ? std::strtoull(set, nullptr, 10) : 1'000'000) / kShards;
}

bool says_valid(const Checker& checker, const History& history, const char* part = "") {
  const Verdict verdict = checker.check(history, Budget{});
  const Verdict* of = verdict.find(part);
  return of == nullptr || of->safety != Safety::kInvalid;
}

// A token was compared or named whose state nobody acknowledged or read: of which unknown write it is
// is not known.
bool has_nameless_state(const std::vector<Act>& acts) {
  return std::any_of(acts.begin(), acts.end(), [&](const Act& act) {
    const int64_t token = act.end == End::kConflict ? act.revision : act.accepted() ? act.expected : 0;
    return token > 0 && std::none_of(acts.begin(), acts.end(), [&](const Act& other) {
             return other.key == act.key && other.end == End::kOk && other.revision == token;
           });
  });
}

// A delete of unknown outcome excuses every conflict after it, also where an absence that was seen needs
// it at another moment.
bool has_unknown_delete(const std::vector<Act>& acts) {
  return std::any_of(acts.begin(), acts.end(),
                     [](const Act& act) { return act.unknown() && act.deletes(); });
}

struct Tally {
  uint64_t valid = 0, invalid = 0;
  void add(bool is) { ++(is ? valid : invalid); }
};

class VersionedBruteForce : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Shard, VersionedBruteForce, testing::Range(uint64_t{0}, kShards));

TEST_P(VersionedBruteForce, TheCheckersOfVersionsSayWhatTheDefinitionsSay) {
  Rng rng(20261130 + GetParam());
  Tally orders, paths, tokens, headers, conflicts;
  uint64_t no_order = 0;
  for (uint64_t i = 0; i < histories_of_a_shard(); ++i) {
    const Wrongs wrongs = rng.chance(1, 3) ? Wrongs{0, 0, 0, 0, 0} : Wrongs{};
    const std::vector<Act> acts = Simulation(rng, wrongs).run();
    const bool orderable = rng.chance(3, 4);
    const History history = history_of(acts, orderable);
    const bool scale = one_scale(acts);
    bool order = true, path = true, conflict = true, judged = true;
    for (int key : {0, 1}) {
      const std::vector<Act> own = of_key(acts, key);
      order = order && one_order(own);
      path = path && one_path(own, orderable, scale);
      const auto is_true = true_conflicts(own);
      judged = judged && is_true.has_value();
      conflict = conflict && is_true.value_or(true);
    }
    if (orderable) {
      const bool fits = says_valid(version_order_checker(), history);
      // Where the revisions of keys are not the store's, absences have no certain place.
      if (scale || !fits) {
        ASSERT_EQ(fits, order) << text_of(acts);
        orders.add(order);
      }
      ASSERT_EQ(says_valid(revisions_checker(), history, "header-revision"), rising_header(acts))
          << text_of(acts);
      headers.add(rising_header(acts));
    }
    ASSERT_EQ(says_valid(update_chain_checker(), history), path) << orderable << text_of(acts);
    paths.add(path);
    const bool sound = sound_tokens(acts, orderable);
    ASSERT_EQ(says_valid(revisions_checker(), history, "tokens"), sound) << text_of(acts);
    tokens.add(sound);
    if (!judged) {
      ++no_order;
      continue;
    }
    const bool says = says_valid(conflicts_checker(), history);
    // By equality alone, and of guards on absence, deletes of no known place and states of no known
    // writer, it may say less.
    const bool of_absence = std::any_of(acts.begin(), acts.end(), [](const Act& act) {
      return act.guarded && act.expected == 0;
    });
    if (says && (!orderable || !scale || of_absence || has_nameless_state(acts) ||
                 has_unknown_delete(acts)))
      continue;
    ASSERT_EQ(says, conflict) << text_of(acts);
    conflicts.add(conflict);
  }
  const uint64_t some = histories_of_a_shard() / 100;
  for (const Tally& tally : {orders, paths, tokens, headers, conflicts}) {
    EXPECT_GT(tally.valid, some);
    EXPECT_GT(tally.invalid, some / 4);
  }
  std::printf("orders %lu/%lu paths %lu/%lu tokens %lu/%lu headers %lu/%lu conflicts %lu/%lu none %lu\n",
              orders.valid, orders.invalid, paths.valid, paths.invalid, tokens.valid, tokens.invalid,
              headers.valid, headers.invalid, conflicts.valid, conflicts.invalid, no_order);
}

}  // namespace
}  // namespace assay::versioned_oracle
