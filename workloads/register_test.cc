#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "workloads/simulated_map.h"
#include "workloads/workload.h"

namespace assay {
namespace {

SimulatedRun run_register(WorkloadOptions options, size_t operations) {
  auto run = find_workload("register")->start(options);
  EXPECT_TRUE(run.ok());
  SimulateOptions simulation;
  simulation.clients = options.concurrency;
  simulation.operations_max = operations;
  simulation.latency = drawn_latency(Rng(3), milliseconds(2));
  const Gen load = (*run)->load();
  return simulate(*load, simulation);
}

TEST(Register, DrawsValuesFromZeroToFourAndTwiceAsManyCasAsWrites) {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1", "n2", "n3", "n4", "n5"};
  std::map<Symbol, int> count;
  std::set<std::string> arguments;
  for (const SimulatedEvent& event : run_register(options, 20'000).events) {
    const Op& op = event.op;
    if (op.type != OpType::kInvoke) continue;
    ++count[op.f];
    arguments.insert(op.value.to_json());
    EXPECT_TRUE(op.expected.none());
  }
  std::set<std::string> all = {"null"};
  for (int a = 0; a <= 4; ++a) {
    all.insert(Value(a).to_json());
    for (int b = 0; b <= 4; ++b) all.insert(Value::pair(a, b).to_json());
  }
  EXPECT_EQ(arguments, all);
  EXPECT_NEAR(count[f::read], 10'000, 500);
  EXPECT_NEAR(count[f::cas], 2 * count[f::write], 400);
}

TEST(Register, AGroupOfOneWorkerReadsToo) {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1"};
  options.concurrency = 2;
  options.group_size = 1;
  std::map<Symbol, int> count;
  for (const SimulatedEvent& event : run_register(options, 2000).events) {
    if (event.op.type == OpType::kInvoke) ++count[event.op.f];
  }
  for (Symbol f : {f::read, f::write, f::cas}) EXPECT_GT(count[f], 200) << f.text();
}

TEST(Register, IsFiniteWithALimitedNumberOfKeys) {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1"};
  options.keys = 3;
  options.ops_per_key_min = options.ops_per_key_max = 40;
  const auto run = run_register(options, 1'000'000);
  EXPECT_TRUE(run.done);
  EXPECT_EQ(run.events.size(), 2 * 3 * 40u);
}

}  // namespace
}  // namespace assay
