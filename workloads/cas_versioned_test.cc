// The discipline of the writer, seen in what it sends.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "workloads/simulated_map.h"
#include "workloads/workload.h"

namespace assay {
namespace {

WorkloadOptions ordinary() {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1", "n2", "n3", "n4", "n5"};
  return options;
}

SimulatedRun run_cas_versioned(std::function<Op(const Op&, Worker)> effect,
                               size_t operations = 6000) {
  auto run = find_workload("cas-versioned")->start(ordinary());
  EXPECT_TRUE(run.ok());
  SimulateOptions simulation;
  simulation.clients = 20;
  simulation.operations_max = operations;
  simulation.latency = drawn_latency(Rng(3), milliseconds(2));
  simulation.effect = std::move(effect);
  const Gen load = (*run)->load();
  return simulate(*load, simulation);
}

SimulatedRun on_a_map() {
  SimulatedMap map({}, Rng(5));
  return run_cas_versioned([&](const Op& op, Worker w) { return map.serve(op, w); });
}

TEST(CasVersioned, EveryGuardIsTheRevisionOfItsProcesssLastReadAndIsUsedOnce) {
  std::map<Process, Op> open;
  std::map<Process, Op> last_read;  // ok, and not used yet
  int guarded = 0;
  int creates = 0;
  for (const SimulatedEvent& event : on_a_map().events) {
    const Op& op = event.op;
    if (op.type != OpType::kInvoke) {
      if (op.f == f::read && op.type == OpType::kOk) last_read[op.process] = op;
      continue;
    }
    open[op.process] = op;
    if (op.f == f::read) {
      last_read.erase(op.process);
      continue;
    }
    ++guarded;
    ASSERT_EQ(op.f, f::cas);
    const auto read = last_read.find(op.process);
    ASSERT_NE(read, last_read.end()) << "a guarded write without a read before it";
    EXPECT_EQ(read->second.key, op.key);
    EXPECT_EQ(read->second.value, op.value.as_array()[0]);
    if (read->second.value.is_null()) {
      EXPECT_EQ(op.expected, Token(int64_t{0}));
      ++creates;
    } else {
      EXPECT_EQ(op.expected, read->second.revision);
    }
    last_read.erase(read);
  }
  EXPECT_GT(guarded, 1000);
  EXPECT_GT(creates, 20);
}

TEST(CasVersioned, EveryValueIsWrittenOnceInTheWholeRun) {
  std::set<int64_t> values;
  for (const SimulatedEvent& event : on_a_map().events) {
    if (event.op.type != OpType::kInvoke || event.op.f != f::cas) continue;
    EXPECT_TRUE(values.insert(event.op.value.as_array()[1].as_int()).second);
  }
  EXPECT_GT(values.size(), 1000u);
}

TEST(CasVersioned, ConflictsAndSuccessesAreBothFrequent) {
  int ok = 0;
  int conflicts = 0;
  for (const SimulatedEvent& event : on_a_map().events) {
    if (event.op.f != f::cas) continue;
    ok += event.op.type == OpType::kOk;
    conflicts += event.op.type == OpType::kFail && event.op.error->cls.text() == "conflict";
  }
  EXPECT_GT(conflicts, (ok + conflicts) / 10);
  EXPECT_GT(ok, (ok + conflicts) / 10);
}

TEST(CasVersioned, AValueWithoutARevisionIsNeverWrittenOver) {
  const auto run = run_cas_versioned(
      [](const Op& op, Worker) {
        Op done = complete(op, OpType::kOk);
        done.value = Value(7);
        return done;
      },
      2000);
  for (const SimulatedEvent& event : run.events) EXPECT_EQ(event.op.f, f::read);
}

TEST(CasVersioned, TextTokensAreKeptAsTheyAre) {
  int guarded = 0;
  const auto run = run_cas_versioned(
      [&](const Op& op, Worker) {
        Op done = complete(op, OpType::kOk);
        if (op.f == f::read) done.value = Value(7);
        done.revision = Token(Symbol("etag-7"));
        if (op.f == f::cas) {
          ++guarded;
          EXPECT_EQ(op.expected, Token(Symbol("etag-7")));
        }
        return done;
      },
      2000);
  EXPECT_GT(guarded, 300);
}

}  // namespace
}  // namespace assay
