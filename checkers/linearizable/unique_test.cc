#include "checkers/linearizable/unique.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <tuple>

#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/random_histories.h"
#include "checkers/linearizable/reg_sim.h"

namespace assay::linearizable {
namespace {

using Answer = UniqueResult::Answer;

uint64_t unique_histories_wanted() {
  if (const char* set = std::getenv("ASSAY_HISTORIES")) return std::strtoull(set, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  return 100'000;
#else
  return 600'000;
#endif
}

KeyHistory unique_history(Rng& rng) {
  RandomOptions options = draw_options(rng);
  options.unique = true;
  if (rng.chance(1, 2)) options.processes = 1 + static_cast<int>(rng.below(4));
  if (rng.chance(1, 4)) return RandomHistory(options, rng).noise();
  KeyHistory history = RandomHistory(options, rng).simulated();
  options.values = std::max(1, static_cast<int>(history.ops.size()));
  RandomHistory::spoil(history, options, rng);
  return history;
}

UniqueResult judge_all(Unique& unique, const KeyHistory& history) {
  for (const KeyOp& op : history.ops) {
    if (!unique.add(op)) return {};
  }
  return unique.judge(true);
}

bool holds(const std::vector<Position>& positions, const KeyOp& op) {
  auto has = [&](Position p) {
    return p != kOpen && std::find(positions.begin(), positions.end(), p) != positions.end();
  };
  return has(op.call) || has(op.ret);
}

bool makes(const std::vector<KeyOp>& ops, const Scalar& value) {
  return std::any_of(ops.begin(), ops.end(), [&](const KeyOp& op) {
    return op.may_produce() && op.produced() == value;
  });
}

// Whether the operations named are impossible by themselves.
bool convicted_alone(const KeyHistory& history, const UniqueResult& result) {
  KeyHistory part{.key = {}, .conventions = history.conventions, .ops = {}};
  for (const KeyOp& op : history.ops) {
    if (holds(result.suspects, op)) part.ops.push_back(op);
  }
  const std::vector<KeyOp> named = part.ops;
  for (KeyOp& op : part.ops) {
    if (op.f != Call::kCas || op.type == OpType::kFail || makes(named, op.value)) continue;
    if (op.value == history.conventions.initial || !makes(history.ops, op.value)) continue;
    op.f = Call::kWrite;
    op.value = op.next;
  }
  return !BruteForce().valid(part);
}

TEST(Unique, AgreesWithBruteForceOnSmallHistories) {
  Rng rng(20261130);
  BruteForce oracle;
  std::map<std::string, uint64_t> record;
  uint64_t invalid = 0, alone = 0;
  const uint64_t wanted = unique_histories_wanted();
  for (uint64_t i = 0; i < wanted; ++i) {
    const KeyHistory history = unique_history(rng);
    Unique unique(history.conventions);
    const UniqueResult result = judge_all(unique, history);
    if (result.answer == Answer::kNotUnique) {
      ++record["not unique"];
      continue;
    }
    const bool valid = oracle.valid(history);
    const std::string failed = result.mismatches == 0 ? ""
                               : result.left > 0      ? ", failed cas left to an order"
                               : result.forced > 0    ? ", failed cas that narrow"
                                                      : ", failed cas that fit always";
    if (result.answer == Answer::kOpen) {
      const KeyResult judged = judge_key(history, {.want_order = true});
      ASSERT_EQ(judged.found.outcome == Outcome::kValid, valid) << "history " << i;
      if (valid) {
        ASSERT_EQ(replay(history, judged.order), "") << "history " << i;
      }
      const bool mended = judged.found.stage == Stage::kUniqueRepair;
      ++record[std::string("left open, ") + (mended ? "mended" : valid ? "valid" : "invalid")];
      continue;
    }
    ++record[(valid ? "valid" : "invalid") + failed];
    ASSERT_EQ(result.answer == Answer::kValid, valid) << "history " << i;
    if (!valid) {
      ++invalid;
      alone += convicted_alone(history, result);
      continue;
    }
    const KeyResult judged = judge_key(history, {.want_order = true});
    ASSERT_EQ(replay(history, judged.order), "") << "history " << i;
  }
  for (const auto& [what, count] : record) std::cout << what << ": " << count << "\n";
  std::cout << alone << " of " << invalid << " invalid ones are shown by the operations named\n";
  EXPECT_EQ(record.size(), 10u) << "something was never exercised";
  EXPECT_GT(alone * 100, invalid * 99);
}

TEST(Unique, AgreesWithTheSearchOnMediumHistories) {
  Rng rng(7);
  std::map<std::string, int> record;
  for (int i = 0; i < 300; ++i) {
    RegSim options{.operations = 100 + static_cast<int>(rng.below(700)),
                   .slots = 2 + static_cast<int>(rng.below(12)),
                   .unique = true};
    options.info_per_mille = rng.chance(1, 2) ? 0 : 20;
    options.seed = rng.next();
    KeyHistory history = reg_sim(options);
    for (KeyOp& op : history.ops) {
      // Sometimes one read, or one comparison, sees a neighbour's value.
      if (op.f == Call::kWrite || !rng.chance(1, 600)) continue;
      op.value = number(std::max<int64_t>(0, op.value.bits - 3 + static_cast<int64_t>(rng.below(6))));
    }
    const KeyResult with = judge_key(history, {.want_order = true});
    const KeyResult without = judge_key(history, {.unique = false, .want_order = true});
    ASSERT_EQ(with.found.outcome, without.found.outcome) << "history " << i;
    ++record[std::string(to_string(with.found.stage)) +
             (with.found.outcome == Outcome::kValid ? " valid" : " invalid")];
    if (with.found.outcome != Outcome::kValid) continue;
    EXPECT_EQ(replay(history, with.order), "");
    EXPECT_EQ(replay(history, without.order), "");
  }
  for (const auto& [what, count] : record) std::cout << what << ": " << count << "\n";
  EXPECT_GE(record.size(), 3u);
}

TEST(Unique, AnswersTheSameWhereOperationsAreFarApart) {
  Rng rng(12);
  for (int i = 0; i < 20'000; ++i) {
    KeyHistory history = unique_history(rng);
    const auto answer = [&] {
      Unique unique(history.conventions);
      return judge_all(unique, history).answer;
    };
    const Answer near = answer();
    for (KeyOp& op : history.ops) {
      op.call = 100 * op.call + 7;
      if (op.ret != kOpen) op.ret = 100 * op.ret + 7;
    }
    ASSERT_EQ(answer(), near) << "history " << i;
  }
}

KeyOp op_of(Call f, Position call, Position ret, int64_t value, int64_t next = 0) {
  KeyOp op{.f = f, .type = OpType::kOk, .call = call, .ret = ret};
  op.value = number(value);
  if (f == Call::kCas) op.next = number(next);
  return op;
}

TEST(Unique, LeavesAValueProducedTwiceToTheSearch) {
  Unique unique(Conventions{.initial = number(0)});
  EXPECT_TRUE(unique.add(op_of(Call::kWrite, 0, 1, 1)));
  EXPECT_FALSE(unique.add(op_of(Call::kWrite, 2, 3, 1)));
  Unique initial(Conventions{.initial = number(0)});
  EXPECT_FALSE(initial.add(op_of(Call::kWrite, 0, 1, 0))) << "the initial value was produced once";
}

TEST(Unique, AFailedWriteMayRepeatAValue) {
  KeyHistory history{.key = {}, .conventions = {.initial = number(0)}, .ops = {}};
  history.ops = {op_of(Call::kWrite, 0, 1, 1), op_of(Call::kWrite, 2, 3, 1),
                 op_of(Call::kRead, 4, 5, 1)};
  history.ops[1].type = OpType::kFail;
  const KeyResult result = judge_key(history, {});
  EXPECT_EQ(result.found.outcome, Outcome::kValid);
  EXPECT_EQ(result.found.stage, Stage::kUnique);
}

TEST(Unique, TimesNearTheEndOfTheirRangeAreLeftToTheSearch) {
  Unique unique(Conventions{.initial = number(0)});
  EXPECT_FALSE(unique.add(op_of(Call::kWrite, kOpen - 2, kOpen - 1, 1)));
}

TEST(Interner, NumbersValuesOfAnyKindApartAndKeepsThem) {
  Rng rng(3);
  Interner interner;
  std::map<Scalar, ValueId> ids;
  for (int i = 0; i < 200'000; ++i) {
    Scalar scalar{.kind = static_cast<uint8_t>(rng.below(4)), .bits = 0};
    // Small numbers, numbers of the growing range's edge, and any.
    const uint64_t ranges[] = {100, 4 * ids.size() + 2000, UINT64_MAX};
    if (scalar.kind != 0) scalar.bits = static_cast<int64_t>(rng.below(ranges[rng.below(3)]));
    const auto [at, fresh] = ids.try_emplace(scalar, static_cast<ValueId>(ids.size()));
    if (fresh) {
      ASSERT_EQ(interner.find(scalar), Interner::kNone);
    }
    ASSERT_EQ(interner.id(scalar), at->second);
    ASSERT_EQ(interner.find(scalar), at->second);
  }
  EXPECT_EQ(interner.size(), ids.size());
}

}  // namespace
}  // namespace assay::linearizable
