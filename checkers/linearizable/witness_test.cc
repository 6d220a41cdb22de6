#include "checkers/linearizable/witness.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/random_histories.h"
#include "checkers/linearizable/reg_sim.h"

namespace assay::linearizable {
namespace {

bool is_invalid(const KeyHistory& history) { return !BruteForce().valid(history); }

KeyOp weakened(KeyOp op) {
  if (op.type == OpType::kOk && op.f != Call::kRead) op.type = OpType::kInfo;
  if (op.f == Call::kRead || op.type == OpType::kFail) op.type = OpType::kFail;
  op.mismatch = false;
  return op;
}

// What a core claims, by brute force: whatever the state was at its start, and whatever of the
// operations under way there had already happened, the operations after it have no order, even if
// all but those of the core are weakened.
bool is_a_proof(const KeyHistory& history, const Problem& problem, const Core& core,
                const std::set<uint32_t>& strong) {
  Position start = 0, last = kOpen;
  auto position = [&](uint32_t event) {
    const KeyOp& op = history.ops[problem.ops[problem.events[event] / 2].source];
    return problem.events[event] & 1 ? op.ret : op.call;
  };
  if (core.start > 0) start = position(core.start);
  last = position(core.last);
  KeyHistory part = history;
  part.ops.clear();
  std::vector<size_t> pending;
  std::set<Scalar> values{history.conventions.initial, number(12345)};
  for (uint32_t i = 0; i < history.ops.size(); ++i) {
    KeyOp op = history.ops[i];
    if (op.call > last) continue;
    const bool changes = op.type != OpType::kFail && op.f != Call::kRead &&
                         (op.f != Call::kCas || op.value != op.next);
    if (op.call < start && changes) values.insert(op.f == Call::kCas ? op.next : op.value);
    if (op.type != OpType::kInfo && op.ret < start) continue;
    if (op.call < start && !changes) continue;  // saw the state before
    if (!strong.contains(i) || op.ret > last) op = weakened(op);
    if (op.call < start) {
      if (op.type == OpType::kOk) pending.push_back(part.ops.size());
    }
    part.ops.push_back(op);
  }
  if (core.start == 0) return is_invalid(part);
  for (const Scalar& value : values) {
    part.conventions.initial = value;
    for (uint32_t happened = 0; happened < 1u << pending.size(); ++happened) {
      KeyHistory one = part;
      for (size_t i = pending.size(); i-- > 0;) {
        if (happened >> i & 1) {
          one.ops.erase(one.ops.begin() + static_cast<std::ptrdiff_t>(pending[i]));
        }
      }
      if (!is_invalid(one)) return false;
    }
  }
  return true;
}

TEST(Witness, IsAProofByBruteForceAndNothingInItCanBeWeakened) {
  Rng rng(17);
  int proofs = 0, anywhere = 0;
  size_t small = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  constexpr int kWanted = 200;
#else
  constexpr int kWanted = 4000;
#endif
  while (proofs < kWanted) {
    RandomOptions options = draw_options(rng);
    options.operations = 6 + static_cast<int>(rng.below(14));
    options.processes = 2 + static_cast<int>(rng.below(3));
    KeyHistory history = rng.chance(1, 2) ? RandomHistory(options, rng).noise()
                                          : RandomHistory(options, rng).simulated();
    RandomHistory::spoil(history, options, rng);
    // Merged values would make what a window holds differ from what the history says.
    const Problem problem = prepare(history, {.merge_unobserved = false});
    const SearchResult result = search(problem);
    if (result.outcome != Outcome::kInvalid) continue;
    const Core core = shrink(problem, result.event);
    ASSERT_TRUE(core.minimal);
    ++proofs;
    anywhere += core.start > 0;
    small += core.ops.size() <= 6;
    const std::set<uint32_t> strong(core.ops.begin(), core.ops.end());
    ASSERT_TRUE(is_a_proof(history, problem, core, strong)) << "proof " << proofs;
    if (core.start > 0) continue;
    for (uint32_t i : core.ops) {
      std::set<uint32_t> fewer = strong;
      fewer.erase(i);
      ASSERT_FALSE(is_a_proof(history, problem, core, fewer))
          << "proof " << proofs << ": operation " << i << " is not needed";
    }
  }
  std::cout << proofs << " witnesses, " << anywhere << " hold whatever came before, " << small
            << " have at most 6 operations\n";
  EXPECT_GT(anywhere, kWanted / 10);
  EXPECT_LT(anywhere, kWanted);
  EXPECT_GT(small * 10, static_cast<size_t>(kWanted) * 9);
}

TEST(Witness, OfALongHistoryIsAFewOperations) {
  for (int seed = 1; seed <= 20; ++seed) {
    RegSim options{.operations = 1000, .slots = 10, .bad = true};
    options.seed = static_cast<uint64_t>(seed);
    const KeyHistory history = reg_sim(options);
    const Problem problem = prepare(history);
    const SearchResult result = search(problem);
    ASSERT_EQ(result.outcome, Outcome::kInvalid);
    const Core core = shrink(problem, result.event);
    EXPECT_LE(core.ops.size(), 6u) << "seed " << seed;
    EXPECT_GE(core.ops.size(), 1u);
  }
}

TEST(Witness, ABudgetLeavesALargerOneNotAWrongOne) {
  const KeyHistory history = reg_sim({.operations = 300, .slots = 5, .bad = true});
  const Problem problem = prepare(history);
  const SearchResult result = search(problem);
  ASSERT_EQ(result.outcome, Outcome::kInvalid);
  const Core core = shrink(problem, result.event, {.work_max = 50});
  EXPECT_FALSE(core.minimal);
  EXPECT_GT(core.ops.size(), 6u);
}

TEST(Witness, EndsWhereTheShortestImpossiblePrefixEnds) {
  // The search gives up when 1 is overwritten, since it is read later; the read is the reason.
  KeyHistory history;
  auto add = [&](Call f, Position call, Position ret, int64_t v) {
    KeyOp op{.f = f, .type = OpType::kOk, .call = call, .ret = ret, .value = number(v)};
    op.id = static_cast<uint32_t>(history.ops.size());
    history.ops.push_back(op);
  };
  history.conventions.initial = number(0);
  add(Call::kWrite, 0, 1, 1);
  add(Call::kWrite, 2, 3, 2);
  add(Call::kRead, 4, 5, 2);
  add(Call::kRead, 6, 7, 1);
  const Problem problem = prepare(history);
  const SearchResult result = search(problem);
  ASSERT_EQ(result.outcome, Outcome::kInvalid);
  EXPECT_LT(result.event, 7u);
  const Core core = shrink(problem, result.event);
  EXPECT_EQ(core.last, 7u);
  EXPECT_EQ(core.ops, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(impossible_until(problem, 7), Outcome::kInvalid);
  EXPECT_EQ(impossible_until(problem, 6), Outcome::kValid);
}

}  // namespace
}  // namespace assay::linearizable
