// Properties of concurrent keys over many drawn configurations, in virtual time.
#include "workloads/gen/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "workloads/gen/combinators.h"
#include "workloads/gen/simulate.h"

namespace assay {
namespace {

constexpr int kSeeds = 120;

// One drawn run: sizes, bounds, latencies, outcomes and rate.
struct Drawn {
  gen::KeysOptions keys;
  int groups = 2;
  int fail = 0;  // of 1,000
  int info = 0;
  Nanos interval;  // 0: as fast as answers come
  Nanos latency = milliseconds(1);
  size_t operations = 2500;

  int workers() const { return groups * keys.group_size; }
};

Drawn draw(uint64_t seed) {
  Rng rng(seed);
  Drawn drawn;
  drawn.groups = static_cast<int>(rng.between(1, 5));
  drawn.keys.group_size = static_cast<int>(rng.between(1, 10));
  drawn.keys.ops_min = rng.between(1, 120);
  drawn.keys.ops_max = drawn.keys.ops_min + rng.between(0, 200);
  drawn.keys.processes_max = drawn.keys.group_size + static_cast<int>(rng.between(0, 15));
  if (rng.chance(1, 4)) drawn.keys.keys = rng.between(1, 30);
  constexpr int kInfos[] = {0, 10, 100, 500, 1000};
  drawn.info = kInfos[rng.below(5)];
  drawn.fail = static_cast<int>(rng.below(static_cast<uint64_t>(1001 - drawn.info)));
  if (rng.chance(1, 2)) drawn.interval = microseconds(rng.between(20, 2000));
  drawn.latency = microseconds(rng.between(10, 20'000));
  return drawn;
}

// Half of the group only reads, as in the workloads.
Gen reads_and_writes(int group_size, Rng rng) {
  Op read;
  read.f = f::read;
  return gen::reserve(gen::reserved(group_size / 2, gen::always(read)),
                      gen::each([rng](const Context&, Worker) mutable {
                        Op op;
                        op.f = f::write;
                        op.value = Value(rng.between(0, 4));
                        return op;
                      }));
}

struct Outcome {
  SimulatedRun run;
  std::vector<Symbol> keys_in_use;
};

Outcome simulate_keys(const Drawn& drawn, uint64_t seed) {
  gen::ConcurrentKeys keys(drawn.keys, Rng(seed).stream("keys"), [&](Symbol, Rng rng) {
    return reads_and_writes(drawn.keys.group_size, rng);
  });
  Gen load = gen::borrow(keys);
  if (drawn.interval.count > 0) {
    load = gen::stagger(drawn.interval, Rng(seed).stream("stagger"), std::move(load));
  }
  SimulateOptions options;
  options.clients = drawn.workers();
  options.operations_max = drawn.operations;
  options.latency = drawn_latency(Rng(seed).stream("latency"), drawn.latency);
  options.effect = drawn_outcome(Rng(seed).stream("outcome"), drawn.fail, drawn.info);
  SimulatedRun run = simulate(*load, options);
  return {std::move(run), keys.keys_in_use()};
}

size_t invocations_of(const SimulatedRun& run) {
  return static_cast<size_t>(
      std::count_if(run.events.begin(), run.events.end(),
                    [](const SimulatedEvent& event) { return event.op.type == OpType::kInvoke; }));
}

// What was recorded of one key.
struct KeyRecord {
  int64_t number = 0;
  std::set<int> groups;
  std::set<Process> processes;
  std::set<Worker> workers;
  int64_t operations = 0;
};

struct Record {
  std::map<std::string, KeyRecord> keys;
  std::vector<std::vector<std::string>> keys_of_group;  // in the order in which they were begun
  std::vector<std::string> keys_in_order;
  std::map<Worker, int64_t> operations_of_worker;
  int64_t late_completions = 0;  // their group was at another key already
};

Record record(const Drawn& drawn, const SimulatedRun& run) {
  Record record;
  record.keys_of_group.resize(static_cast<size_t>(drawn.groups));
  for (const SimulatedEvent& event : run.events) {
    const std::string key(event.op.key.text());
    const int group = event.worker / drawn.keys.group_size;
    auto& keys = record.keys_of_group[group];
    if (event.op.type != OpType::kInvoke) {
      if (keys.back() != key) ++record.late_completions;
      continue;
    }
    KeyRecord& of_key = record.keys[key];
    if (of_key.operations == 0) {
      of_key.number = std::stoll(key.substr(1));
      record.keys_in_order.push_back(key);
      keys.push_back(key);
    }
    EXPECT_EQ(keys.back(), key) << "a group goes back to a key";
    of_key.groups.insert(group);
    of_key.processes.insert(event.op.process);
    of_key.workers.insert(event.worker);
    ++of_key.operations;
    ++record.operations_of_worker[event.worker];
  }
  return record;
}

class ConcurrentKeys : public ::testing::Test {
 protected:
  // Calls `check` for every seed, and says which one failed.
  template <typename Check>
  void for_every_seed(Check check) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Drawn drawn = draw(seed);
      const Outcome outcome = simulate_keys(drawn, seed);
      check(drawn, outcome, record(drawn, outcome.run));
      if (HasFailure()) {
        ADD_FAILURE() << "seed " << seed << ": " << drawn.groups << " groups of "
                      << drawn.keys.group_size << ", " << drawn.keys.ops_min << " to "
                      << drawn.keys.ops_max << " operations and " << drawn.keys.processes_max
                      << " processes per key, " << drawn.keys.keys << " keys, " << drawn.fail
                      << " fail and " << drawn.info << " info of 1,000";
        return;
      }
    }
  }
};

TEST_F(ConcurrentKeys, AKeyBelongsToOneGroupAndHasBoundedOperationsAndProcesses) {
  for_every_seed([](const Drawn& drawn, const Outcome& outcome, const Record& record) {
    EXPECT_FALSE(outcome.run.stuck);
    for (const auto& [key, of_key] : record.keys) {
      EXPECT_EQ(of_key.groups.size(), 1u) << key;
      EXPECT_LE(of_key.operations, drawn.keys.ops_max) << key;
      EXPECT_LE(static_cast<int>(of_key.processes.size()), drawn.keys.processes_max) << key;
      EXPECT_LE(static_cast<int>(of_key.workers.size()), drawn.keys.group_size) << key;
    }
  });
}

TEST_F(ConcurrentKeys, AKeyEndsEarlyOnlyWhenItsProcessesAreUsedUp) {
  for_every_seed([](const Drawn& drawn, const Outcome&, const Record& record) {
    for (const auto& keys : record.keys_of_group) {
      for (size_t i = 0; i + 1 < keys.size(); ++i) {  // the last one ends with the run
        const KeyRecord& of_key = record.keys.at(keys[i]);
        if (static_cast<int>(of_key.processes.size()) < drawn.keys.processes_max) {
          EXPECT_GE(of_key.operations, drawn.keys.ops_min) << keys[i];
        }
      }
    }
  });
}

TEST_F(ConcurrentKeys, KeysAreNumberedInTheOrderInWhichTheyAreBegun) {
  for_every_seed([](const Drawn& drawn, const Outcome&, const Record& record) {
    // A key may be drawn for a proposal that is not taken at once: groups can swap places by then.
    std::vector<int64_t> numbers;
    for (const std::string& key : record.keys_in_order) {
      numbers.push_back(record.keys.at(key).number);
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_LE(std::abs(numbers[i] - static_cast<int64_t>(i) - 1), drawn.groups);
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
    for (const auto& keys : record.keys_of_group) {
      for (size_t i = 0; i + 1 < keys.size(); ++i) {
        EXPECT_LT(record.keys.at(keys[i]).number, record.keys.at(keys[i + 1]).number);
      }
    }
  });
}

TEST_F(ConcurrentKeys, EveryWorkerGetsItsShareAndNoGroupStarves) {
  for_every_seed([](const Drawn& drawn, const Outcome& outcome, const Record& record) {
    if (drawn.keys.keys > 0) return;  // such a run may be over before it has begun
    ASSERT_EQ(invocations_of(outcome.run), drawn.operations);
    const auto average = static_cast<int64_t>(drawn.operations) / drawn.workers();
    for (Worker w = 0; w < drawn.workers(); ++w) {
      const auto found = record.operations_of_worker.find(w);
      ASSERT_NE(found, record.operations_of_worker.end()) << "worker " << w << " had nothing to do";
      EXPECT_GE(found->second, average / 2) << "worker " << w;
      EXPECT_LE(found->second, average * 2) << "worker " << w;
    }
  });
}

TEST_F(ConcurrentKeys, EveryWorkerOfAGroupWorksOnEveryLongKey) {
  for_every_seed([](const Drawn& drawn, const Outcome&, const Record& record) {
    for (const auto& [key, of_key] : record.keys) {
      // Long: each worker is due several times, and crashes did not end it.
      if (of_key.operations < drawn.keys.group_size * 8 || drawn.info > 0) continue;
      EXPECT_EQ(static_cast<int>(of_key.workers.size()), drawn.keys.group_size) << key;
    }
  });
}

TEST_F(ConcurrentKeys, ALimitedNumberOfKeysIsUsedUpAndThenItIsDone) {
  int limited = 0;
  for_every_seed([&](const Drawn& drawn, const Outcome& outcome, const Record& record) {
    if (drawn.keys.keys == 0) {
      EXPECT_FALSE(outcome.run.done);
      return;
    }
    EXPECT_LE(static_cast<int64_t>(record.keys.size()), drawn.keys.keys);
    if (!outcome.run.done) return;
    ++limited;
    EXPECT_EQ(static_cast<int64_t>(record.keys.size()), drawn.keys.keys);
  });
  EXPECT_GT(limited, kSeeds / 10);
}

TEST_F(ConcurrentKeys, TheKeysInUseAreTheLastOnesOfTheGroups) {
  for_every_seed([](const Drawn&, const Outcome& outcome, const Record& record) {
    std::vector<std::pair<int64_t, std::string>> expected;
    for (const auto& keys : record.keys_of_group) {
      if (!keys.empty()) expected.emplace_back(record.keys.at(keys.back()).number, keys.back());
    }
    std::sort(expected.rbegin(), expected.rend());
    std::vector<std::string> last;
    for (const auto& [number, key] : expected) last.push_back(key);
    std::vector<std::string> found;
    for (Symbol key : outcome.keys_in_use) found.emplace_back(key.text());
    EXPECT_EQ(found, last);
  });
}

TEST_F(ConcurrentKeys, ASeedRepeatsItsRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Drawn drawn = draw(seed);
    const auto a = simulate_keys(drawn, seed).run.events;
    const auto b = simulate_keys(drawn, seed).run.events;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].worker, b[i].worker) << "seed " << seed << ", event " << i;
      ASSERT_EQ(a[i].op.time, b[i].op.time) << "seed " << seed << ", event " << i;
      ASSERT_EQ(a[i].op.key, b[i].op.key) << "seed " << seed << ", event " << i;
      ASSERT_EQ(a[i].op.value, b[i].op.value) << "seed " << seed << ", event " << i;
    }
  }
}

TEST_F(ConcurrentKeys, KeysOfAnOrdinaryRunDifferInLengthAndChangeAtDifferentTimes) {
  const Drawn drawn{.operations = 20'000};
  const auto [run, in_use] = simulate_keys(drawn, 1);
  const Record recorded = record(drawn, run);
  std::set<int64_t> lengths;
  for (const auto& [key, of_key] : recorded.keys) lengths.insert(of_key.operations);
  EXPECT_GT(lengths.size(), recorded.keys.size() / 2);
  EXPECT_GT(recorded.late_completions, 20) << "no completion after its group had moved on";
  EXPECT_THAT(in_use, ::testing::SizeIs(2));
}

TEST_F(ConcurrentKeys, WhenEverythingCrashesKeysFollowEachOtherWithinTheirBounds) {
  Drawn drawn{.info = 1000, .operations = 2000};
  const Record recorded = record(drawn, simulate_keys(drawn, 1).run);
  EXPECT_GE(recorded.keys.size(), 2000u / 20);
  for (const auto& keys : recorded.keys_of_group) {
    for (size_t i = 0; i + 1 < keys.size(); ++i) {
      EXPECT_EQ(recorded.keys.at(keys[i]).processes.size(), 20u);
      EXPECT_EQ(recorded.keys.at(keys[i]).operations, 20);
    }
  }
}

TEST_F(ConcurrentKeys, ATooEagerCallerDoesNotMoveThemOn) {
  gen::ConcurrentKeys keys({.group_size = 2}, Rng(1),
                           [](Symbol, Rng rng) { return reads_and_writes(2, rng); });
  Workers workers(4, 0);
  const Context context{Nanos{}, &workers, 0, 4};
  const Next first = keys.next(context);
  for (int i = 0; i < 1000; ++i) {
    const Next again = keys.next(context);
    ASSERT_EQ(again.worker, first.worker);
    ASSERT_EQ(again.op.key, first.op.key);
    ASSERT_EQ(again.op.value, first.op.value);
  }
  EXPECT_TRUE(keys.keys_in_use().empty()) << "a proposal is not a use";
}

// Records whose completions a key's generator is told of.
class Listener final : public Generator {
 public:
  Listener(Symbol key, int64_t* foreign) : key_(key), foreign_(foreign) {
    Op read;
    read.f = f::read;
    inner_ = gen::always(read);
  }
  Next next(const Context& context) override { return inner_->next(context); }
  void taken(const Context& context, const Next& next) override { inner_->taken(context, next); }
  void update(const Context&, Worker, const Op& completion) override {
    *foreign_ += completion.key != key_;
  }

 private:
  Symbol key_;
  int64_t* foreign_;
  Gen inner_;
};

TEST_F(ConcurrentKeys, ALateCompletionIsNotToldToTheNextKey) {
  int64_t foreign = 0;
  gen::ConcurrentKeys keys(
      {.group_size = 5, .ops_min = 10, .ops_max = 20}, Rng(1),
      [&](Symbol key, Rng) -> Gen { return std::make_unique<Listener>(key, &foreign); });
  SimulateOptions options;
  options.operations_max = 5000;
  options.latency = drawn_latency(Rng(2), milliseconds(1));
  EXPECT_EQ(simulate(keys, options).events.size(), 10'000u);
  EXPECT_EQ(foreign, 0);
}

TEST_F(ConcurrentKeys, AnOutageDoesNotUseUpTheKeysOnWhichSomethingMayBeLost) {
  gen::KeysOptions keys;
  gen::ConcurrentKeys generator(keys, Rng(1),
                                [](Symbol, Rng rng) { return reads_and_writes(10, rng); });
  SimulateOptions options;
  options.clients = 10;
  Nanos now{};
  options.latency = [&now](const Op& op, Worker) {
    now = op.time;
    return Latency{milliseconds(1), milliseconds(1)};
  };
  const auto down = [&now] { return now >= milliseconds(10) && now < seconds(3); };
  options.effect = [&](const Op& op, Worker) {
    return down() ? complete(op, OpType::kFail, {Symbol("refused"), "", {}})
                  : complete(op, OpType::kOk);
  };
  options.until = seconds(4);
  const SimulatedRun run = simulate(generator, options);
  std::set<Symbol> before, after;
  int64_t refused = 0;
  for (const auto& event : run.events) {
    if (event.op.type == OpType::kFail) ++refused;
    if (event.op.type != OpType::kOk) continue;
    if (event.op.time < milliseconds(10)) before.insert(event.op.key);
    if (event.op.time > seconds(3) && event.op.time < seconds(3) + milliseconds(10))
      after.insert(event.op.key);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_EQ(before, std::set<Symbol>{Symbol("k1")});
  EXPECT_EQ(after, before);
}

TEST_F(ConcurrentKeys, KeysWithNothingToDoEndIt) {
  gen::ConcurrentKeys keys({.group_size = 5}, Rng(1),
                           [](Symbol, Rng) { return gen::limit(0, gen::always(Op{})); });
  const auto run = simulate(keys, {});
  EXPECT_TRUE(run.done);
  EXPECT_TRUE(run.events.empty());
}

TEST_F(ConcurrentKeys, AKeyWhoseGeneratorIsDoneIsUsedUp) {
  gen::ConcurrentKeys keys({.group_size = 5, .keys = 6}, Rng(1),
                           [](Symbol, Rng rng) { return gen::limit(7, reads_and_writes(5, rng)); });
  const auto run = simulate(keys, {});
  EXPECT_TRUE(run.done);
  EXPECT_EQ(run.events.size(), 2 * 6 * 7u);
}

}  // namespace
}  // namespace assay
