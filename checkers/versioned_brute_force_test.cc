// version-order, update-chain, revisions and conflicts say of small histories what the definitions say,
// by every order and every assignment (versioned_oracle.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "checkers/registry.h"
#include "checkers/versioned_oracle.h"

namespace assay::versioned_oracle {
namespace {

// ASSAY_HISTORIES, else some 15 s' worth.
uint64_t histories_wanted() {
  if (const char* set = std::getenv("ASSAY_HISTORIES")) return std::strtoull(set, nullptr, 10);
  return 60'000;
}

bool says_valid(const Checker& checker, const History& history, const char* part = "") {
  const Verdict verdict = checker.check(history, Budget{});
  const Verdict* of = verdict.find(part);
  return of == nullptr || of->safety != Safety::kInvalid;
}

struct Tally {
  uint64_t valid = 0, invalid = 0;
  void add(bool is) { ++(is ? valid : invalid); }
};

TEST(VersionedBruteForce, TheCheckersOfVersionsSayWhatTheDefinitionsSay) {
  Rng rng(20261130);
  Tally orders, paths, tokens, headers, conflicts;
  uint64_t no_order = 0;
  for (uint64_t i = 0; i < histories_wanted(); ++i) {
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
      ASSERT_EQ(says_valid(version_order_checker(), history), order) << text_of(acts);
      orders.add(order);
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
    // By equality alone it may say less.
    if (!orderable && says) continue;
    ASSERT_EQ(says, conflict) << text_of(acts);
    conflicts.add(conflict);
  }
  const uint64_t some = histories_wanted() / 100;
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
