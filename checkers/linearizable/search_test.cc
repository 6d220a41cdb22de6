#include "checkers/linearizable/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/random_histories.h"
#include "checkers/linearizable/reg_sim.h"

namespace assay::linearizable {
namespace {

// How many small histories the differential tests compare: ASSAY_HISTORIES, else some 20 s' worth.
uint64_t histories_wanted() {
  if (const char* set = std::getenv("ASSAY_HISTORIES")) return std::strtoull(set, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  return 100'000;
#else
  return 1'500'000;
#endif
}

std::string to_text(const Scalar& s) { return s.kind == 0 ? "null" : std::to_string(s.bits); }

std::string to_text(const KeyHistory& history) {
  std::ostringstream out;
  const Conventions& c = history.conventions;
  out << "initial " << to_text(c.initial) << (c.failed_cas_observes ? ", observe" : ", ignore")
      << (c.null_read_is_value ? "" : ", null unknown") << "\n";
  for (const KeyOp& op : history.ops) {
    out << "[" << op.call << ", " << (op.ret == kOpen ? "open" : std::to_string(op.ret)) << "] "
        << (op.f == Call::kRead    ? "read "
            : op.f == Call::kWrite ? "write "
                                   : "cas ")
        << to_text(op.value) << (op.f == Call::kCas ? " -> " + to_text(op.next) : "") << " "
        << to_string(op.type) << "\n";
  }
  return out.str();
}

Reductions draw_reductions(Rng& rng) {
  Reductions r;
  if (rng.chance(1, 2)) return r;
  r.lazy_writes = rng.chance(3, 4);
  r.productive = rng.chance(3, 4);
  r.unwanted = rng.chance(3, 4);
  r.symmetry = rng.chance(3, 4);
  r.dominance = rng.chance(3, 4);
  r.dead_values = rng.chance(3, 4);
  return r;
}

std::string to_text(const SearchOptions& o) {
  const Reductions& r = o.reductions;
  std::ostringstream out;
  out << "beam " << o.beam << " rungs " << o.rungs << " over " << o.over_approximation << " lazy "
      << r.lazy_writes << " productive " << r.productive << " unwanted " << r.unwanted
      << " symmetry " << r.symmetry << " dominance " << r.dominance << " contradiction "
      << r.contradiction << " dead " << r.dead_values << " pending_min " << o.pending_min;
  return out.str();
}

KeyHistory draw_history(Rng& rng, const RandomOptions& options) {
  if (rng.chance(1, 2)) return RandomHistory(options, rng).noise();
  KeyHistory history = RandomHistory(options, rng).simulated();
  RandomHistory::spoil(history, options, rng);
  return history;
}

// What the tests have seen, so that a run can show that nothing went unexercised.
struct Record {
  uint64_t histories = 0;
  uint64_t valid = 0;
  std::map<std::string, uint64_t> stages;
  SearchCounters counters;

  void print(const char* what) const {
    std::cout << what << ": " << histories << " histories, " << valid << " valid;";
    for (const auto& [stage, count] : stages) std::cout << " " << stage << " " << count << ";";
    std::cout << " dominated " << counters.dominated << ", dead " << counters.dead
              << ", unproductive " << counters.unproductive << ", boundaries "
              << counters.boundaries << ", symmetric " << counters.symmetric << ", hidden "
              << counters.hidden << ", unwanted " << counters.unwanted << ", beam cuts "
              << counters.beam_cuts << ", lean retries " << counters.lean_retries << ", restarts "
              << counters.restarts << ", lanes released " << counters.lanes_released << "\n";
  }
  void add(const SearchResult& result) {
    ++histories;
    valid += result.outcome == Outcome::kValid;
    ++stages[std::string(to_string(result.stage)) +
             (result.outcome == Outcome::kValid ? " valid" : " invalid")];
    counters.add(result.counters);
  }
};

TEST(Search, AgreesWithBruteForceOnSmallHistories) {
  Rng rng(20261129);
  BruteForce oracle;
  Record record;
  const uint64_t wanted = histories_wanted();
  for (uint64_t i = 0; i < wanted; ++i) {
    const KeyHistory history = draw_history(rng, draw_options(rng));
    SearchOptions options;
    options.beam = static_cast<uint32_t>(rng.below(5));
    options.rungs = static_cast<int>(rng.below(6));
    options.over_approximation = rng.chance(3, 4);
    options.reductions = draw_reductions(rng);
    options.reductions.contradiction = rng.chance(1, 2);
    constexpr uint32_t kWidths[] = {0, 0, 0, 0, 0, 100, 200, 300};
    options.pending_min = kWidths[rng.below(8)];
    options.want_order = true;
    PrepareOptions prepare_options;
    prepare_options.merge_unobserved = rng.chance(3, 4);
    const Problem problem = prepare(history, prepare_options);
    const SearchResult result = search(problem, options);
    const bool valid = oracle.valid(history);
    ASSERT_EQ(result.outcome, valid ? Outcome::kValid : Outcome::kInvalid)
        << "history " << i << " by " << to_string(result.stage) << ", " << to_text(options)
        << ", merge " << prepare_options.merge_unobserved << "\n"
        << to_text(history);
    if (valid) {
      ASSERT_EQ(replay(history, linear_order(problem, result.placements)), "")
          << "history " << i << ", " << to_text(options) << "\n"
          << to_text(history);
    }
    record.add(result);
  }
  record.print("against brute force");
  if (wanted < 50'000) return;
  EXPECT_GT(record.valid * 100, record.histories * 40);
  EXPECT_LT(record.valid * 100, record.histories * 60);
  // Every device of the search has done something, and every stage has decided something.
  const SearchCounters& c = record.counters;
  for (uint64_t count : {c.dominated, c.dead, c.unproductive, c.boundaries, c.symmetric, c.hidden,
                         c.unwanted, c.beam_cuts, c.lean_retries, c.restarts}) {
    EXPECT_GT(count, 100u);
  }
  for (const char* stage : {"a value that cannot have been there invalid", "beam valid", "beam invalid",
                            "ladder valid", "ladder invalid", "over-approximation invalid",
                            "full search valid", "full search invalid"}) {
    EXPECT_GT(record.stages[stage], 100u) << stage;
  }
}

RandomOptions draw_medium_options(Rng& rng) {
  RandomOptions o = draw_options(rng);
  o.operations = 100 + static_cast<int>(rng.below(700));
  o.processes = 1 + static_cast<int>(rng.below(10));
  o.values = 2 + static_cast<int>(rng.below(5));
  o.info_percent = static_cast<int>(rng.below(4));
  return o;
}

// A history that is valid, or wrong in one read only.
KeyHistory draw_medium_history(Rng& rng) {
  const RandomOptions options = draw_medium_options(rng);
  KeyHistory history = RandomHistory(options, rng).simulated();
  if (rng.chance(1, 2)) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      KeyOp& op = history.ops[rng.below(history.ops.size())];
      const KeyOp& other = history.ops[rng.below(history.ops.size())];
      if (op.f != Call::kRead || op.type != OpType::kOk || other.f != Call::kWrite) continue;
      op.value = other.value;
      break;
    }
  }
  return history;
}

TEST(Search, LadderAndFullSetsAndWingGongLoweAgreeOnMediumHistories) {
  Rng rng(7);
  Record record;
  uint64_t undecided = 0, by_oracle = 0;
  const uint64_t wanted = std::max<uint64_t>(histories_wanted() / 1500, 20);
  for (uint64_t i = 0; i < wanted; ++i) {
    const KeyHistory history = draw_medium_history(rng);
    const Problem problem = prepare(history);
    SearchOptions ladder;
    ladder.want_order = true;
    const SearchResult climbed = search(problem, ladder);
    ASSERT_NE(climbed.outcome, Outcome::kUnknown) << "history " << i;
    record.add(climbed);
    if (climbed.outcome == Outcome::kValid) {
      ASSERT_EQ(replay(history, linear_order(problem, climbed.placements)), "") << "history " << i;
    }
    SearchOptions full;
    full.beam = 0;
    full.work_max = 20'000'000;
    const SearchResult complete = search(problem, full);
    if (complete.outcome == Outcome::kUnknown) {
      ++undecided;
    } else {
      ASSERT_EQ(climbed.outcome, complete.outcome) << "history " << i << "\n" << to_text(history);
    }
    const auto answer = WingGongLowe().check(history, 100'000);
    if (answer == WingGongLowe::Answer::kGaveUp) continue;
    ++by_oracle;
    ASSERT_EQ(climbed.outcome == Outcome::kValid, answer == WingGongLowe::Answer::kValid)
        << "history " << i << "\n"
        << to_text(history);
  }
  record.print("medium");
  std::cout << by_oracle << " also decided by Wing-Gong-Lowe, " << undecided
            << " beyond the budget of full sets\n";
  EXPECT_GT(by_oracle * 3, wanted);
  EXPECT_LT(undecided * 4, wanted);
  EXPECT_GT(record.valid * 4, wanted);
  EXPECT_LT(record.valid * 4, wanted * 3 + 60);
  if (wanted > 200) {
    EXPECT_GT(record.counters.lanes_released, 0u);
  }
}

TEST(Search, ReductionsChangeNoVerdictOfMediumHistories) {
  Rng rng(8);
  const uint64_t wanted = std::max<uint64_t>(histories_wanted() / 3000, 20);
  for (uint64_t i = 0; i < wanted; ++i) {
    const KeyHistory history = draw_medium_history(rng);
    const Problem problem = prepare(history);
    const SearchResult result = search(problem);
    SearchOptions options;
    options.reductions = draw_reductions(rng);
    options.beam = 1 + static_cast<uint32_t>(rng.below(4));
    options.work_max = 20'000'000;
    const SearchResult other = search(problem, options);
    if (other.outcome == Outcome::kUnknown) continue;
    ASSERT_EQ(result.outcome, other.outcome) << "history " << i << ", " << to_text(options) << "\n"
                                             << to_text(history);
  }
}

// --- Metamorphic: what must keep a verdict.

bool is_valid(const KeyHistory& history) {
  return search(prepare(history)).outcome == Outcome::kValid;
}

class Metamorphic : public testing::Test {
 protected:
  template <typename Change>
  void each(bool valid, const Change& change) {
    Rng rng(11);
    int changed = 0;
    const int wanted = static_cast<int>(std::min<uint64_t>(histories_wanted() / 100, 20'000));
    for (int i = 0; changed < wanted; ++i) {
      RandomOptions options = draw_options(rng);
      options.operations += 20;
      KeyHistory history = draw_history(rng, options);
      if (is_valid(history) != valid || !change(history, rng)) continue;
      ++changed;
      ASSERT_EQ(is_valid(history), valid) << "history " << i << " after the change:\n"
                                          << to_text(history);
    }
  }
};

TEST_F(Metamorphic, DroppingAnObserverKeepsValid) {
  each(true, [](KeyHistory& history, Rng& rng) {
    const uint64_t i = rng.below(history.ops.size());
    const KeyOp& op = history.ops[i];
    if (op.f == Call::kWrite || (op.f == Call::kCas && op.type != OpType::kFail)) return false;
    history.ops.erase(history.ops.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  });
}

TEST_F(Metamorphic, AnUnknownOutcomeInsteadOfAnOkKeepsValid) {
  each(true, [](KeyHistory& history, Rng& rng) {
    KeyOp& op = history.ops[rng.below(history.ops.size())];
    if (op.type != OpType::kOk) return false;
    op.type = OpType::kInfo;
    return true;
  });
}

TEST_F(Metamorphic, AShorterIntervalKeepsInvalid) {
  each(false, [](KeyHistory& history, Rng& rng) {
    KeyOp& op = history.ops[rng.below(history.ops.size())];
    if (op.type == OpType::kInfo || op.ret - op.call < 2) return false;
    // Just after the call: between it and the next event.
    for (KeyOp& other : history.ops) {
      other.call *= 2;
      if (other.ret != kOpen) other.ret *= 2;
    }
    op.ret = op.call + 1;
    return true;
  });
}

TEST_F(Metamorphic, RenamedValuesKeepTheVerdict) {
  for (bool valid : {true, false}) {
    each(valid, [](KeyHistory& history, Rng& rng) {
      const auto shift = 1 + static_cast<int64_t>(rng.below(1000));
      auto rename = [&](Scalar& s) {
        if (s.kind != 0) s.bits = s.bits * 31 + shift;
      };
      rename(history.conventions.initial);
      for (KeyOp& op : history.ops) {
        rename(op.value);
        rename(op.next);
      }
      return true;
    });
  }
}

TEST_F(Metamorphic, APrefixOfAValidHistoryIsValid) {
  each(true, [](KeyHistory& history, Rng& rng) {
    const auto end = static_cast<Position>(rng.below(2 * history.ops.size()));
    std::erase_if(history.ops, [&](const KeyOp& op) { return op.call > end; });
    for (KeyOp& op : history.ops) {
      if (op.ret != kOpen && op.ret > end) op.type = OpType::kInfo;
    }
    return !history.ops.empty();
  });
}

// --- Single cases.

// One operation a line of [call, ret, f, values].
KeyOp read(Position call, Position ret, int64_t v) {
  return {.f = Call::kRead, .type = OpType::kOk, .call = call, .ret = ret, .value = number(v)};
}
KeyOp write(Position call, Position ret, int64_t v) {
  return {.f = Call::kWrite, .type = OpType::kOk, .call = call, .ret = ret, .value = number(v)};
}
KeyOp cas(Position call, Position ret, int64_t a, int64_t b) {
  KeyOp op{.f = Call::kCas, .type = OpType::kOk, .call = call, .ret = ret, .value = number(a)};
  op.next = number(b);
  return op;
}
KeyOp failed(KeyOp op) {
  op.type = OpType::kFail;
  op.mismatch = true;
  return op;
}
KeyOp unknown(KeyOp op) {
  op.type = OpType::kInfo;
  op.ret = kOpen;
  return op;
}
KeyHistory history_with(std::vector<KeyOp> ops, int64_t initial = 0) {
  KeyHistory history;
  history.conventions.initial = number(initial);
  std::sort(ops.begin(), ops.end(), [](const KeyOp& a, const KeyOp& b) { return a.call < b.call; });
  for (KeyOp& op : ops) {
    op.id = static_cast<uint32_t>(history.ops.size());
    history.ops.push_back(op);
  }
  return history;
}

struct Case {
  std::string name;
  std::vector<KeyOp> ops;
  bool valid;
};

class SingleCase : public testing::TestWithParam<Case> {};

TEST_P(SingleCase, IsDecidedRightly) {
  const KeyHistory history = history_with(GetParam().ops);
  EXPECT_EQ(BruteForce().valid(history), GetParam().valid) << "the case itself is wrong";
  EXPECT_EQ(is_valid(history), GetParam().valid);
  SearchOptions full;
  full.beam = 0;
  EXPECT_EQ(search(prepare(history), full).outcome,
            GetParam().valid ? Outcome::kValid : Outcome::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(
    Pitfalls, SingleCase,
    testing::Values(
        // A write that equals the state may still be the end of a burst: W(1) R(1) W(0) from 0.
        Case{"a_write_of_the_state_ends_a_burst",
             {write(0, 9, 1), read(1, 8, 1), write(2, 3, 0), read(4, 5, 0)},
             true},
        // W(0) in state 0 hides W(1) from the cas that follows it.
        Case{"a_write_of_the_state_hides_another",
             {write(0, 10, 1), write(1, 11, 0), cas(2, 3, 0, 2), read(12, 13, 2)},
             true},
        // The same before a cas of unknown outcome.
        Case{"a_write_of_the_state_hides_another_before_an_unknown_cas",
             {write(0, 10, 5), write(1, 20, 0), unknown(cas(2, 0, 0, 2)), read(3, 4, 2),
              read(11, 12, 2)},
             true},
        Case{"a_free_write_is_offered_at_its_return",
             {write(0, 7, 1), write(1, 3, 2), read(8, 9, 1)},
             true},
        Case{"an_unobserved_unknown_write_explains_a_failed_cas",
             {unknown(write(0, 0, 7)), failed(cas(1, 2, 0, 5))},
             true},
        Case{"a_failed_cas_needs_another_value", {failed(cas(1, 2, 0, 5))}, false},
        Case{"an_unknown_write_happens_once",
             {unknown(write(0, 0, 1)), read(1, 2, 1), write(3, 4, 2), read(5, 6, 2), read(7, 8, 1)},
             false},
        Case{"two_unknown_writes_happen_twice",
             {unknown(write(0, 0, 1)), unknown(write(1, 0, 1)), read(2, 3, 1), write(4, 5, 2),
              read(6, 7, 2), read(8, 9, 1)},
             true},
        Case{"a_cas_of_a_value_to_itself_reads", {cas(0, 1, 3, 3)}, false},
        Case{"an_unknown_cas_needs_its_value", {unknown(cas(0, 0, 5, 6)), read(1, 2, 6)}, false},
        Case{"two_cas_from_one_value", {cas(0, 3, 0, 1), cas(1, 4, 0, 2)}, false},
        Case{"stale_read", {write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)}, false},
        Case{"read_of_the_future", {read(0, 1, 1), write(2, 3, 1)}, false}),
    [](const auto& info) { return info.param.name; });

TEST(Search, NullIsAValueThatCanBeReadComparedAndWritten) {
  KeyHistory history = history_with({});
  history.conventions.initial = Scalar{};
  KeyOp to_one = cas(0, 1, 0, 1);
  to_one.value = Scalar{};
  KeyOp to_null = cas(2, 3, 1, 0);
  to_null.next = Scalar{};
  KeyOp read_null = read(4, 5, 0);
  read_null.value = Scalar{};
  history.ops = {to_one, to_null, read_null};
  EXPECT_TRUE(is_valid(history));
  history.ops.push_back(read(6, 7, 1));
  EXPECT_FALSE(is_valid(history));
}

TEST(Search, MasksGrowWithTheOperationsUnderWay) {
  for (uint32_t n : {60u, 100u, 200u, 300u, 1000u}) {
    std::vector<KeyOp> ops;
    for (uint32_t i = 0; i < n; ++i) ops.push_back(write(i, 2 * n + i, i % 7 + 1));
    ops.push_back(read(4 * n, 4 * n + 1, 3));
    EXPECT_TRUE(is_valid(history_with(ops))) << n;
    ops.push_back(read(4 * n + 2, 4 * n + 3, 4));
    EXPECT_FALSE(is_valid(history_with(ops))) << n;
  }
}

TEST(Search, CountsOfOneClassBeyondALaneCutRatherThanLie) {
  // 40,000 unknown writes of 1, each used: more than a lane of 15 bits can count at once, if no
  // configuration could ever forget the ones that all have used.
  std::vector<KeyOp> ops;
  Position at = 0;
  constexpr int kMany = 40'000;
  for (int i = 0; i < kMany; ++i) ops.push_back(unknown(write(at++, 0, 1)));
  for (int i = 0; i < kMany; ++i) {
    ops.push_back(read(at, at + 1, 1));
    ops.push_back(write(at + 2, at + 3, 2));
    at += 4;
  }
  EXPECT_TRUE(is_valid(history_with(ops)));
  ops.push_back(read(at, at + 1, 1));
  EXPECT_FALSE(is_valid(history_with(ops))) << "all are used up";
}

TEST(Search, ABudgetGivesUnknownWithTheEventReached) {
  const Problem problem = prepare(reg_sim({.operations = 2000, .slots = 20}));
  SearchOptions options;
  options.work_max = 10'000;
  const SearchResult result = search(problem, options);
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_GT(result.event, 100u);
  EXPECT_LT(result.event, problem.events.size());
  EXPECT_LT(result.counters.work, 30'000u);

  SearchOptions interrupted;
  interrupted.exhausted = [] { return true; };
  EXPECT_EQ(search(problem, interrupted).outcome, Outcome::kUnknown);

  SearchOptions small;
  small.beam = 0;
  small.memory_bytes_max = 1000;
  const Problem wide = prepare(reg_sim({.operations = 5000, .slots = 30}));
  EXPECT_EQ(search(wide, small).outcome, Outcome::kUnknown);
}

TEST(Search, MemoryOfManyPendingOperationsIsBounded) {
  std::vector<KeyOp> ops;
  for (uint32_t i = 0; i < 20'000; ++i) {
    ops.push_back(write(2 * i, 100'000 + 2 * i, i));
    ops.push_back(read(2 * i + 1, 100'001 + 2 * i, i));
  }
  SearchOptions options;
  options.memory_bytes_max = 1 << 20;
  EXPECT_EQ(search(prepare(history_with(ops)), options).outcome, Outcome::kUnknown);
}

// A full search that fell back to the narrow beam after a while would convict these.
TEST(Search, AFullSearchStaysFullToTheEnd) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RegSim sim{.operations = 2000, .slots = 8};
    sim.info_per_mille = seed % 2 != 0 ? 4 : 0;
    sim.seed = seed;
    const Problem problem = prepare(reg_sim(sim));
    SearchOptions options;
    options.beam = 1;
    options.rungs = 0;
    const SearchResult result = search(problem, options);
    EXPECT_EQ(result.outcome, Outcome::kValid) << "seed " << seed << ", " << to_string(result.stage);
    EXPECT_EQ(result.stage, Stage::kFull);
  }
}

TEST(Search, DecidesTheBenchmarksHistories) {
  for (int slots : {5, 10, 20, 30}) {
    for (int info : {0, 10}) {
      for (bool unique : {false, true}) {
        RegSim options{.operations = 1000, .slots = slots, .unique = unique};
        options.info_per_mille = info;
        EXPECT_TRUE(is_valid(reg_sim(options)));
        options.bad = true;
        EXPECT_EQ(search(prepare(reg_sim(options))).outcome, Outcome::kInvalid);
      }
    }
  }
}

TEST(WingGongLowe, AgreesWithBruteForce) {
  Rng rng(3);
  BruteForce oracle;
  for (int i = 0; i < 20'000; ++i) {
    const KeyHistory history = draw_history(rng, draw_options(rng));
    ASSERT_EQ(WingGongLowe().check(history) == WingGongLowe::Answer::kValid, oracle.valid(history))
        << to_text(history);
  }
}

}  // namespace
}  // namespace assay::linearizable
