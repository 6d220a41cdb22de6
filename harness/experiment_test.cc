#include "harness/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/plan.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(Experiments, HaveNamesOfTheirOwnAndSayWhatTheyStandFor) {
  std::set<std::string> names;
  EXPECT_GE(all_experiments().size(), 48u);
  for (const Experiment& experiment : all_experiments()) {
    EXPECT_TRUE(names.insert(experiment.name).second) << experiment.name;
    EXPECT_TRUE(experiment.source == "INV-008" || experiment.source == "INV-009") << experiment.name;
    EXPECT_FALSE(experiment.passage.empty()) << experiment.name;
    EXPECT_EQ(find_experiment(experiment.name), &experiment);
  }
}

TEST(Experiments, CanBePlannedWithOneSeedAndEveryRunHasAFileOfItsOwn) {
  std::set<std::string> ids;
  for (const Experiment& experiment : all_experiments()) {
    auto planned = plan_experiment(experiment, 7, ".");
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    EXPECT_EQ(planned->size(),
              experiment.runs.size() * std::max<size_t>(1, experiment.x_values.size()));
    for (const PlannedRun& run : *planned) {
      EXPECT_TRUE(ids.insert(run.cell.id).second) << run.cell.id;
      EXPECT_EQ(run.cell.spec.seed, 7u);
      auto plan = make_plan(run.cell.spec);
      EXPECT_TRUE(plan.ok()) << run.cell.id << ": " << plan.error().message;
    }
  }
}

TEST(Experiments, WhateverMustBeInvalidHasATwinThatMustBeValid) {
  for (const Experiment& experiment : all_experiments()) {
    bool invalid = false, valid = false;
    for (const ExperimentRun& run : experiment.runs) {
      invalid |= run.expect == "invalid";
      valid |= run.expect == "valid";
    }
    EXPECT_TRUE(!invalid || valid) << experiment.name;
  }
}

TEST(Experiments, AFigureHasASweepAndLines) {
  for (const Experiment& experiment : all_experiments())
    EXPECT_EQ(experiment.x_values.empty(), experiment.figure.empty()) << experiment.name;
}

constexpr const char* kExperiment = R"({"name":"e","title":"t","source":"INV-009","passage":"p",
  "spec":{"workload":"counter","nemesis":"none","set":{"counter.writers":"$x"}},
  "runs":[{"name":"r","with":{"target":"memory"},"expect":"invalid","clauses":{"V4":"invalid"}}],
  "sweep":{"label":"writers","values":["1","2"]},
  "figure":{"y":[{"label":"l","checker":"c","count":"n","per":"of","times":1000}]}})";

TEST(Experiments, ASweepIsPutIntoEachRun) {
  auto experiment = parse_experiment(kExperiment, "e.json");
  ASSERT_TRUE(experiment.ok()) << experiment.error().message;
  auto planned = plan_experiment(*experiment, 1, "");
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  ASSERT_EQ(planned->size(), 2u);
  EXPECT_EQ((*planned)[1].cell.spec.set.at("counter.writers"), "2");
  EXPECT_EQ((*planned)[1].cell.id, "e--r--2");
}

CellResult result_with(Safety safety) {
  CellResult result;
  Verdict run{.name = "run"};
  run.add({.name = "update-chain", .safety = safety, .reason = "why"});
  result.verdict = run;
  result.code = exit_code(run.word());
  return result;
}

TEST(Experiments, ARunThatComesOutOtherwiseIsNotAsExpected) {
  auto experiment = parse_experiment(kExperiment, "e.json");
  ASSERT_TRUE(experiment.ok());
  auto planned = plan_experiment(*experiment, 1, "");
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(mismatch_of((*planned)[0], result_with(Safety::kInvalid)), "");
  EXPECT_THAT(mismatch_of((*planned)[0], result_with(Safety::kValid)),
              HasSubstr("expected invalid, seen valid"));
  EXPECT_THAT(mismatch_of((*planned)[0], CellResult{}), HasSubstr("no verdict"));
}

TEST(Experiments, OfTheBundledStoreInAFigureAnythingButInvalidIsExpected) {
  for (const Experiment& experiment : all_experiments())
    for (const ExperimentRun& run : experiment.runs)
      EXPECT_FALSE(run.with.text_or("target", "") == "raft" && run.expect == "any") << experiment.name;
  auto experiment = parse_experiment(kExperiment, "e.json");
  ASSERT_TRUE(experiment.ok());
  experiment->runs[0].expect = "sound";
  experiment->runs[0].clauses.clear();
  auto planned = plan_experiment(*experiment, 1, "");
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(mismatch_of((*planned)[0], result_with(Safety::kVacuous)), "");
  EXPECT_THAT(mismatch_of((*planned)[0], result_with(Safety::kInvalid)),
              HasSubstr("expected sound, seen invalid"));
}

TEST(Experiments, AHarnessThatFailedIsNeverAsExpected) {
  auto experiment = parse_experiment(kExperiment, "e.json");
  ASSERT_TRUE(experiment.ok());
  experiment->runs[0].clauses.clear();
  CellResult failed = result_with(Safety::kUnknown);
  failed.code = kExitHarness;
  for (const char* expect : {"any", "sound"}) {
    experiment->runs[0].expect = expect;
    auto planned = plan_experiment(*experiment, 1, "");
    ASSERT_TRUE(planned.ok());
    EXPECT_EQ(mismatch_of((*planned)[0], result_with(Safety::kUnknown)), "");
    EXPECT_THAT(mismatch_of((*planned)[0], failed), HasSubstr("the harness failed"));
  }
}

TEST(Experiments, AnotherClauseThanTheExpectedOneIsNotAsExpected) {
  auto experiment = parse_experiment(kExperiment, "e.json");
  ASSERT_TRUE(experiment.ok());
  auto planned = plan_experiment(*experiment, 1, "");
  ASSERT_TRUE(planned.ok());
  CellResult result;
  Verdict run{.name = "run"};
  run.add({.name = "linearizable", .safety = Safety::kInvalid, .reason = "stale"});
  run.add({.name = "update-chain", .safety = Safety::kValid});
  result.verdict = run;
  result.code = kExitInvalid;
  EXPECT_THAT(mismatch_of((*planned)[0], result), HasSubstr("V4: expected invalid, seen valid"));
}

TEST(Experiments, AFigureIsACountOverAnother) {
  CellResult result;
  Verdict run{.name = "run"};
  Verdict checker{.name = "c"};
  checker.counts = {{"n", 3}, {"of", 6}};
  run.add(checker);
  result.verdict = run;
  EXPECT_EQ(figure_value({"l", "c", "n", "of", 1000}, result), 500.0);
  EXPECT_EQ(figure_value({"l", "c", "n", "", 1}, result), 3.0);
  EXPECT_EQ(figure_value({"l", "c", "absent", "", 1}, result), std::nullopt);
}

TEST(Experiments, AFileThatIsNotOneIsRefusedByName) {
  for (const char* text : {"{}", R"({"name":"e","title":"t","source":"s","passage":"p"})",
                           R"({"name":"e","title":"t","source":"s","passage":"p","pending":"x","runs":[{"name":"r"}]})",
                           R"({"name":"e","title":"t","source":"s","passage":"p","runs":[{"name":"r","clauses":{"X9":"valid"}}]})"}) {
    auto experiment = parse_experiment(text, "some.json");
    ASSERT_FALSE(experiment.ok()) << text;
    EXPECT_THAT(experiment.error().message, HasSubstr("some.json"));
  }
}

}  // namespace
}  // namespace assay
