// Each rule of watch says of small histories what its definition says (watch_oracle.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "checkers/history/history_io.h"
#include "checkers/registry.h"
#include "checkers/watch_oracle.h"

namespace assay::watch_oracle {
namespace {

// Shards are tests of their own, with a seed each, that run beside each other.
constexpr uint64_t kShards = 8;

uint64_t histories_of_a_shard() {
  const char* set = std::getenv("ASSAY_HISTORIES");
  return (set ? std::strtoull(set, nullptr, 10) : 1'000'000) / kShards;
}

std::string text_of(const History& history) {
  std::string text;
  history.for_each_line([&](const Op& line) { append_line(text, line); });
  return text;
}

struct Rule {
  const char* name;
  bool (Rules::*holds)() const;
};
constexpr Rule kRules[] = {{"filter", &Rules::filter},
                           {"ordered", &Rules::ordered},
                           {"unique", &Rules::unique},
                           {"atomic", &Rules::atomic},
                           {"resumable", &Rules::resumable},
                           {"bookmarkable", &Rules::bookmarkable},
                           {"reliable", &Rules::reliable},
                           {"agreement", &Rules::agreement},
                           {"origin", &Rules::origin},
                           {"predecessor", &Rules::predecessor},
                           {"compacted", &Rules::compacted}};

class WatchBruteForce : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Shard, WatchBruteForce, testing::Range(uint64_t{0}, kShards));

TEST_P(WatchBruteForce, EachRuleSaysWhatItsDefinitionSays) {
  constexpr std::optional<bool> kClaims[] = {false, true, std::nullopt};
  Rng rng(20261130 + GetParam());
  uint64_t kept = 0, broken[std::size(kRules)] = {};
  for (uint64_t i = 0; i < histories_of_a_shard(); ++i) {
    const std::vector<Act> acts = Simulation(rng).run();
    const std::optional<bool> compacts = kClaims[rng.below(3)];
    const History history = history_of(acts, compacts);
    const Verdict verdict = watch_checker().check(history, Budget{});
    const Rules rules(acts, compacts);
    const bool agree = rules.agreement();
    bool all = true;
    for (size_t r = 0; r < std::size(kRules); ++r) {
      const Rule& rule = kRules[r];
      if (!agree && rule.holds == &Rules::predecessor) continue;  // of whom? it depends
      const bool holds = (rules.*rule.holds)();
      const Verdict* says = verdict.find(rule.name);
      ASSERT_NE(says, nullptr);
      ASSERT_EQ(says->safety != Safety::kInvalid, holds) << rule.name << "\n" << text_of(history);
      broken[r] += !holds;
      all &= holds;
    }
    kept += all;
  }
  EXPECT_GT(kept, histories_of_a_shard() / 4);
  std::printf("all kept %lu", kept);
  for (size_t r = 0; r < std::size(kRules); ++r) {
    EXPECT_GT(broken[r], histories_of_a_shard() / 2000) << kRules[r].name;
    std::printf(", %s broken %lu", kRules[r].name, broken[r]);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace assay::watch_oracle
