#include "checkers/linearizable/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/test_history.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/random_histories.h"

namespace assay::linearizable {
namespace {

using testing::HasSubstr;

TEST(Sensitivity, EveryEditIsIllegalByBruteForce) {
  Rng rng(5);
  BruteForce oracle;
  int made[kEditKinds] = {};
  for (int i = 0; i < 60'000; ++i) {
    RandomOptions options = draw_options(rng);
    options.processes = 1 + static_cast<int>(rng.below(3));
    options.info_percent = rng.chance(1, 2) ? 0 : 5;
    const KeyHistory history = RandomHistory(options, rng).simulated();
    const auto kind = static_cast<Edit>(rng.below(kEditKinds));
    EditedKey edited;
    if (!make_edit(history, kind, rng, edited)) continue;
    ASSERT_FALSE(oracle.valid(edited.history))
        << "history " << i << ", edit " << static_cast<int>(kind) << " at " << edited.operation;
    ++made[static_cast<int>(kind)];
  }
  for (int kind = 0; kind < kEditKinds; ++kind) EXPECT_GT(made[kind], 1000) << kind;
}

TEST(Sensitivity, APrefixCutAnywhereStaysValid) {
  Rng rng(6);
  BruteForce oracle;
  for (int i = 0; i < 5'000; ++i) {
    const KeyHistory history = RandomHistory(draw_options(rng), rng).simulated();
    const auto at = static_cast<Position>(rng.below(2 * history.ops.size() + 1));
    ASSERT_TRUE(oracle.valid(cut_at(history, at))) << i;
  }
}

// Reads, writes and cas of one client after another on several keys: all kinds of edits fit.
std::string sequential_script(int keys, int rounds) {
  std::string script;
  auto add = [&](const std::string& f, const std::string& key, const std::string& argument,
                 const std::string& result, const char* type = "ok") {
    script += "0 invoke " + f + " " + key + " " + argument + "\n";
    script += "0 " + std::string(type) + " " + f + " " + key + " " + result + "\n";
  };
  for (int i = 0; i < rounds; ++i) {
    for (int k = 0; k < keys; ++k) {
      const std::string key = "k" + std::to_string(k);
      const std::string a = std::to_string(2 * i), b = std::to_string(2 * i + 1);
      add("write", key, a, a);
      add("read", key, "", a);
      add("cas", key, "[" + a + "," + b + "]", "[" + a + "," + b + "]");
      add("read", key, "", b);
      add("cas", key, "[" + a + "," + b + "]", "[" + a + "," + b + "]", "fail");
    }
  }
  return script;
}

int64_t count_of(const Verdict& verdict, const std::string& name) {
  for (const auto& [key, number] : verdict.counts) {
    if (key == name) return number;
  }
  return -1;
}

TEST(Sensitivity, ThirtyEditsInEqualPartsAreCaught) {
  const History history = history_of(sequential_script(3, 10), R"({"seed":7})");
  const Verdict verdict = check_linearizable(history, Budget{});
  ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_EQ(count_of(verdict, "illegal edits"), 30);
  EXPECT_EQ(count_of(verdict, "illegal edits caught"), 30);
  bool told = false;
  for (const auto& [name, text] : verdict.facts) {
    if (text.find("30 of 30 illegal edits were caught") == std::string::npos) continue;
    told = true;
    EXPECT_THAT(text, HasSubstr("10 of 10 stale reads (by "));
    EXPECT_THAT(text, HasSubstr("10 of 10 lost writes"));
    EXPECT_THAT(text, HasSubstr("10 of 10 swapped CAS"));
  }
  EXPECT_TRUE(told);
}

TEST(Sensitivity, ABlindCheckerIsFoundOut) {
  const History history = history_of(sequential_script(3, 10), R"({"seed":7})");
  LinearizableOptions options;
  // Blind to reads: they are dropped before the search.
  options.judge = [](const Problem& problem, const SearchOptions& search_options) {
    Problem blind = problem;
    for (ProblemOp& op : blind.ops) {
      if (op.kind == Kind::kRead)
        op = {.kind = Kind::kMismatch,
              .from = blind.values,
              .call = op.call,
              .ret = op.ret,
              .source = op.source};
    }
    ++blind.values;
    blind.finish();
    return search(blind, search_options);
  };
  const Verdict verdict = check_linearizable(history, Budget{}, options);
  ASSERT_EQ(verdict.safety, Safety::kValid);
  EXPECT_EQ(count_of(verdict, "illegal edits"), 30);
  EXPECT_LE(count_of(verdict, "illegal edits caught"), 10) << "only swapped CAS can be seen";

  options.judge = [](const Problem&, const SearchOptions&) {
    return SearchResult{.outcome = Outcome::kValid};
  };
  EXPECT_EQ(count_of(check_linearizable(history, Budget{}, options), "illegal edits caught"), 0);
}

TEST(Sensitivity, FewerThanTenPossibleEditsAreAdmitted) {
  const History history = history_of(R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke write k 2
    0 ok write k 2
    0 invoke read k
    0 ok read k 2
  )");
  const auto groups = group_by_key(history);
  const SensitivityOptions options;
  const Sensitivity few = measure_sensitivity(history, groups, Rng(1), options);
  EXPECT_GT(few.made(), 0);

  const History silent = history_of("0 invoke read k\n0 ok read k null\n");
  const Sensitivity none = measure_sensitivity(silent, group_by_key(silent), Rng(1), options);
  EXPECT_EQ(none.made(), 0);
  EXPECT_THAT(none.sentence(options), HasSubstr("no illegal edit of this history could be made"));

  Sensitivity four;
  four.kinds[1] = {4, 3};
  EXPECT_EQ(four.sentence(options),
            "3 of 4 illegal edits were caught: 3 of 4 lost writes; no more could be made in this "
            "history");
}

TEST(Sensitivity, TheSeedDrawsTheEdits) {
  const History history = history_of(sequential_script(2, 20), R"({"seed":7})");
  const auto groups = group_by_key(history);
  std::vector<uint32_t> drawn[3];
  const uint64_t seeds[3] = {1, 1, 2};
  for (int i = 0; i < 3; ++i) {
    measure_sensitivity(history, groups, Rng(seeds[i]), {},
                        [&](const Problem& problem, const SearchOptions& options) {
                          drawn[i].push_back(static_cast<uint32_t>(problem.ops.size()));
                          for (const ProblemOp& op : problem.ops) drawn[i].push_back(op.from);
                          return search(problem, options);
                        });
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(drawn[0], drawn[2]);
}

TEST(Sensitivity, EndsWithItsBudget) {
  const History history = history_of(sequential_script(3, 10), R"({"seed":7})");
  SensitivityOptions options;
  options.work_max = 2'000;
  const Sensitivity part = measure_sensitivity(history, group_by_key(history), Rng(1), options);
  EXPECT_TRUE(part.cut_short);
  EXPECT_LT(part.made(), 30);
}

}  // namespace
}  // namespace assay::linearizable
