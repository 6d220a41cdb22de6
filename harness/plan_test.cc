#include "harness/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace assay {
namespace {

TestSpec spec_of(std::vector<std::pair<std::string, std::string>> options) {
  TestSpec spec;
  for (const auto& [name, value] : options) {
    auto set = set_option(spec, name, value);
    EXPECT_TRUE(set.ok()) << name << ": " << set.error().message;
  }
  return spec;
}

std::string refusal(std::vector<std::pair<std::string, std::string>> options) {
  auto plan = make_plan(spec_of(std::move(options)));
  if (plan.ok()) return "accepted";
  EXPECT_EQ(plan.error().fault, Fault::kInput);
  return plan.error().message;
}

constexpr const char* kEndpoints = "etcd-endpoints.endpoints=10.0.0.1:2379,10.0.0.2:2379";

TEST(Plan, RefusesWhatIsNotThereAndSaysWhatIs) {
  const struct {
    std::vector<std::pair<std::string, std::string>> options;
    const char* what;
    const char* known;
  } rows[] = {
      {{{"target", "rift"}}, "unknown target \"rift\"", "memory"},
      {{{"workload", "registry"}}, "unknown workload \"registry\"", "register"},
      {{{"nemesis", "earthquake"}}, "unknown nemesis \"earthquake\"", "partition"},
      {{{"nemesis", "kill:king"}}, "unknown shape or victim of kill \"king\"", "leader"},
      {{{"nemesis", "partition:thirds"}},
       "unknown shape or victim of partition \"thirds\"",
       "halves"},
      {{{"target", "memory"}, {"set", "memory.stale=1"}},
       "unknown setting \"memory.stale\"",
       "memory.stale-reads"},
      {{{"target", "memory"}, {"set", "memory.stale-reads=often"}},
       "memory.stale-reads: expected a whole number",
       "often"},
      {{{"target", "memory"}, {"nemesis", "kill"}},
       "the nemesis \"kill\" is not possible",
       "has no nodes"},
      {{{"net", "host"}, {"nemesis", "partition"}},
       "the nemesis \"partition\" is not possible",
       "--net host"},
      {{{"nodes", "1"}, {"nemesis", "partition"}},
       "the nemesis \"partition\" is not possible",
       "one node"},
      {{{"nemesis", "delay"}, {"set", "delay.by=soon"}},
       "delay.by: expected a duration such as 300ms",
       "soon"},
      {{{"nemesis", "delay"}, {"set", "delay.speed=5"}},
       "unknown setting \"delay.speed\"",
       "delay.by, delay.jitter"},
      {{{"nemesis", "kill"}, {"set", "delay.by=1s"}},
       "the setting delay.by is of no use",
       "--nemesis does not name delay"},
      {{{"net", "host"}, {"nemesis", "delay"}},
       "the nemesis \"delay\" is not possible",
       "--net host"},
      {{{"target", "etcd-endpoints"}},
       "etcd-endpoints.endpoints: expected 1 to 64 addresses",
       "10.0.0.1:2379"},
      {{{"target", "etcd-endpoints"}, {"set", kEndpoints}, {"nemesis", "kill"}},
       "the nemesis \"kill\" is not possible",
       "etcd-endpoints starts no nodes"},
      {{{"target", "etcd-endpoints"}, {"set", kEndpoints}, {"nodes", "5"}},
       "--nodes: expected 2, as many as etcd-endpoints is given",
       "found 5"},
      {{{"target", "naive-lock-with-timeout"}, {"workload", "register"}},
       "\"naive-lock-with-timeout\" is run with the workload \"lock-with-timeout\" alone",
       "found \"register\""},
  };
  for (const auto& row : rows) {
    const std::string message = refusal(row.options);
    EXPECT_NE(message.find(row.what), std::string::npos) << message;
    EXPECT_NE(message.find(row.known), std::string::npos) << message;
  }
}

TEST(Plan, ADescriptionIsATargetAndWhatItDoesNotClaimIsNotJudged) {
  const std::string file =
      testing::TempDir() + "/plan_test." + std::to_string(::getpid()) + ".json";
  const auto describe = [&](const std::string& reads) {
    std::ofstream(file) << R"({"name": "mine", "start": ["true"], "client": ["true"],
      "options": {"level": {"default": "3"}}, "claims": {"read": ")" +
                               reads + "\"}}";
  };
  describe("linearizable");
  const auto plan = make_plan(spec_of({{"target", file}, {"set", "mine.level=4"}}));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->header().text_or("target", ""), "mine");
  EXPECT_EQ(plan->settings.at(0).second, "4");
  EXPECT_NE(refusal({{"target", file}, {"set", "mine.depth=4"}}).find("mine.level"),
            std::string::npos);
  describe("stale");
  const auto stale = make_plan(spec_of({{"target", file}}));
  ASSERT_TRUE(stale.ok()) << stale.error().message;
  EXPECT_EQ(stale->header()["claims"].text_or("read", ""), "stale");
  EXPECT_THAT(stale->not_claimed,
              testing::Contains(testing::HasSubstr("guarded writes are not claimed")));
  EXPECT_NE(refusal({{"target", file}, {"workload", "cas-versioned"}})
                .find("does not claim guarded writes: none of them could be sent"),
            std::string::npos);
  std::filesystem::remove(file);
}

TEST(Plan, WhatATargetServesAndNoWorkloadAsksForIsSaidNotToBeTested) {
  const std::string file =
      testing::TempDir() + "/plan_test." + std::to_string(::getpid()) + ".ops.json";
  std::ofstream(file) << R"({"name": "mine", "start": ["true"], "client": ["true"],
      "ops": ["read", "write", "cas", "delete", "add"], "claims": {"read": "linearizable"}})";
  const TestSpec spec = spec_of({{"target", file}});
  const auto trial = make_trial_plan(spec);
  ASSERT_TRUE(trial.ok()) << trial.error().message;
  EXPECT_THAT(trial->not_tested, testing::ElementsAre("add: no workload asks for it"));
  const auto plan = make_plan(spec);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(plan->not_tested, testing::Contains("add: no workload asks for it"));
  std::filesystem::remove(file);
}

TEST(Plan, TheUsersThresholdsStandBeforeTheWorkloads) {
  TestSpec spec;
  ASSERT_TRUE(parse_spec(R"({"workload":"script","nodes":3,"nemesis":"none",
                             "thresholds":{"final_ok":7},
                             "script":[{"on":"n1","f":"read","key":"k"}]})",
                         "s.json", spec));
  auto plan = make_plan(spec);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->header()["thresholds"].int_or("final_ok", 0), 7);
  EXPECT_GT(plan->header()["thresholds"].as_object().size(), 1u);  // the workload's are there too
}

TEST(Plan, FaultsByDefaultAreThoseThatThePowersAllow) {
  auto here = make_plan(spec_of({}));
  ASSERT_TRUE(here.ok()) << here.error().message;
  EXPECT_EQ(here->faults_name(), "partition+pause+kill");
  auto host = make_plan(spec_of({{"net", "host"}}));
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->faults_name(), "pause+kill");
  EXPECT_NE(host->not_tested.front().find("partition"), std::string::npos);
  auto memory = make_plan(spec_of({{"target", "memory"}}));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->faults_name(), "none");
}

TEST(Plan, NodesThatRunAlreadyAreTakenAsTheyAre) {
  auto plan = make_plan(spec_of({{"target", "etcd-endpoints"}, {"set", kEndpoints}}));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(plan->starts_nodes);
  EXPECT_FALSE(plan->in_process);
  EXPECT_EQ(plan->spec.nodes, 2);
  EXPECT_EQ(plan->spec.net, NetMode::kHost);
  EXPECT_EQ(plan->layout.nodes.at(1).address, "10.0.0.2");
  EXPECT_EQ(plan->faults_name(), "none");
  for (const char* fault : {"partition", "pause", "kill", "power loss", "clocks"}) {
    const std::string line = std::string(fault) + ": etcd-endpoints starts no nodes";
    EXPECT_EQ(std::count(plan->not_tested.begin(), plan->not_tested.end(), line), 1) << line;
  }
}

TEST(Plan, WhatTheTargetDrewIsInTheSpecAndMakesTheSamePlan) {
  auto plan = make_plan(spec_of({{"target", "etcd"}, {"seed", "7"}}));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->spec.nodes, 5);
  EXPECT_TRUE(plan->spec.set.contains("etcd.heartbeat-ms"));
  EXPECT_TRUE(plan->canaries.empty());
  auto again = make_plan(plan->spec);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->spec.set, plan->spec.set);
  EXPECT_EQ(again->target->claims().election_timeout_min,
            plan->target->claims().election_timeout_min);
}

TEST(Plan, TimesFollowFromTheTimeLimit) {
  auto plan = make_plan(spec_of({{"time-limit", "30s"}}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->lead_in, seconds(3));
  EXPECT_EQ(plan->duration, milliseconds(2500));
  EXPECT_EQ(plan->interval, seconds(5));
  auto longer = make_plan(spec_of({{"time-limit", "10m"}, {"fault-duration", "7s"}}));
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ(longer->lead_in, seconds(5));
  EXPECT_EQ(longer->interval, seconds(14));
}

TEST(Plan, WorkersFillWholeGroupsAndCoverEveryNode) {
  const struct {
    std::vector<std::pair<std::string, std::string>> options;
    int concurrency;
    int group;
  } rows[] = {
      {{}, 20, 10},
      {{{"nodes", "30"}}, 30, 30},
      {{{"concurrency", "25"}}, 30, 10},
      {{{"concurrency", "4n"}, {"nodes", "5"}}, 20, 10},
      {{{"concurrency", "3"}}, 3, 3},
  };
  for (const auto& row : rows) {
    auto plan = make_plan(spec_of(row.options));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->concurrency, row.concurrency);
    EXPECT_EQ(plan->group_size, row.group);
  }
}

TEST(Plan, AKeyHasAsManyWritersAsItIsAskedToHave) {
  TestSpec spec = spec_of({{"workload", "counter"}});
  spec.set["counter.writers"] = "40";
  for (const auto& [asked, workers] : std::vector<std::pair<std::string, int>>{{"", 40}, {"64", 80}}) {
    if (!asked.empty()) ASSERT_TRUE(set_option(spec, "concurrency", asked).ok());
    auto plan = make_plan(spec);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->group_size, 40);
    EXPECT_EQ(plan->concurrency, workers);
  }
  ASSERT_TRUE(set_option(spec, "concurrency", "20").ok());
  auto plan = make_plan(spec);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "the workload \"counter\" is to have 40 writers on a key, and there are 20 workers: more "
            "concurrency is needed");
}

TEST(Plan, NoConflictIsAskedOfASingleWriter) {
  TestSpec spec = spec_of({{"workload", "field-ownership"}});
  const auto asked = [&] {
    auto plan = make_plan(spec);
    EXPECT_TRUE(plan.ok());
    return plan->header()["thresholds"].int_or("conflicts_percent", -1);
  };
  EXPECT_EQ(asked(), -1);
  spec.set["field-ownership.writers"] = "1";
  EXPECT_EQ(asked(), 0);
  spec.thresholds["conflicts_percent"] = 5;
  EXPECT_EQ(asked(), 5) << "the user's own comes first";
}

TEST(Plan, TheHeaderSaysWhatTheCheckersNeed) {
  auto plan = make_plan(spec_of({{"seed", "7"}, {"nodes", "3"}}));
  ASSERT_TRUE(plan.ok());
  const Value header = plan->header();
  EXPECT_EQ(header.text_or("workload", ""), "register");
  EXPECT_EQ(header.text_or("model", ""), "cas-register");
  EXPECT_EQ(header["nodes"].as_array().size(), 3u);
  EXPECT_EQ(header["faults"].as_array().size(), 3u);
  EXPECT_EQ(header.int_or("seed", 0), 7);
  EXPECT_GT(header["timing"].int_or("election_timeout_min", 0), 0);
}

TEST(Plan, CanariesAreNamed) {
  auto plan = make_plan(spec_of(
      {{"target", "memory"}, {"set", "memory.stale-reads=50"}, {"set", "memory.latency-us=0"}}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->canaries, std::vector<std::string>{"stale-reads"});
}

TEST(Plan, ASeedThatIsNotGivenIsDrawnAndKept) {
  auto plan = make_plan(spec_of({}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(*plan->spec.seed, plan->seed);
}

}  // namespace
}  // namespace assay
