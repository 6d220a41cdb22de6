#include "harness/swarm.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/plan.h"

namespace assay {
namespace {

TestSpec swarm_spec() {
  TestSpec spec;
  spec.target = "raft";
  spec.swarm = true;
  return spec;
}

std::string faults_of(const TestSpec& spec) {
  std::string text;
  for (const FaultSpec& fault : *spec.nemesis) text += fault.kind + " ";
  return text;
}

TEST(Swarm, SeedsDrawDifferentTestsAndOneSeedTheSame) {
  const TargetInfo& raft = *find_target("raft");
  std::set<std::string> faults, specs;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TestSpec drawn = draw_swarm(swarm_spec(), seed, raft);
    EXPECT_FALSE(drawn.swarm);
    EXPECT_FALSE(drawn.nemesis->empty());
    EXPECT_EQ(spec_to_value(drawn), spec_to_value(draw_swarm(swarm_spec(), seed, raft)));
    faults.insert(faults_of(drawn));
    specs.insert(spec_to_value(drawn).to_json());
  }
  EXPECT_EQ(faults.size(), 15u);  // every choice of four but none
  EXPECT_GT(specs.size(), 190u);
}

TEST(Swarm, EveryValueOfEveryOptionIsDrawnAndFits) {
  const TargetInfo& raft = *find_target("raft");
  std::set<std::string> values;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestSpec spec = swarm_spec();
    spec.seed = seed;
    const auto plan = make_plan(spec);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const auto& [option, value] : plan->spec.set) values.insert(option + "=" + value);
  }
  size_t known = 0;
  for (const TargetOption& option : raft.options) {
    for (const std::string& value : option.swarm) {
      EXPECT_TRUE(values.contains("raft." + option.name + "=" + value)) << option.name << value;
      ++known;
    }
  }
  EXPECT_GT(known, 10u);
}

TEST(Swarm, WhatTheUserSaidIsKept) {
  TestSpec spec = swarm_spec();
  spec.nemesis = std::vector<FaultSpec>{FaultSpec{"kill", {"leader"}}};
  spec.fault_duration = seconds(7);
  spec.set["raft.snapshot-entries"] = "77";
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestSpec drawn = draw_swarm(spec, seed, *find_target("raft"));
    EXPECT_EQ(faults_of(drawn), "kill ");
    EXPECT_EQ(drawn.nemesis->front().shapes, std::vector<std::string>{"leader"});
    EXPECT_EQ(drawn.fault_duration, seconds(7));
    EXPECT_EQ(drawn.set.at("raft.snapshot-entries"), "77");
  }
}

// Where there are no links between nodes, the seeds that draw them play the rest.
TEST(Swarm, WhatIsNotPossibleHereIsLeftOut) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    TestSpec spec = swarm_spec();
    spec.seed = seed;
    spec.net = NetMode::kHost;
    const auto plan = make_plan(spec);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const PlannedFault& fault : plan->faults) EXPECT_NE(fault.nemesis->kind(), "partition");
  }
}

}  // namespace
}  // namespace assay
