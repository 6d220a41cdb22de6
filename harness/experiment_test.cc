#include "harness/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "checkers/history/test_history.h"
#include "checkers/registry.h"
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
    size_t runs = 0;
    for (const ExperimentRun& run : experiment.runs)
      runs += std::max<size_t>(1, run.x_values.size());
    EXPECT_EQ(planned->size(), runs);
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

TEST(Experiments, ASweepIsDrawnAsLinesOrAsAMatrix) {
  for (const Experiment& experiment : all_experiments()) {
    const bool drawn = !experiment.figure.empty() || experiment.quorum_patience;
    EXPECT_EQ(!experiment.x_values.empty(), drawn) << experiment.name;
    for (const FigureLine& line : experiment.figure) {
      EXPECT_EQ(line.run.empty(), experiment.figure.front().run.empty()) << experiment.name;
      EXPECT_TRUE(find_checker(line.checker)) << experiment.name << ": " << line.checker;
    }
    for (const ExperimentRun& run : experiment.runs)
      EXPECT_EQ(!run.quorum.empty(), experiment.quorum_patience.has_value()) << experiment.name;
  }
}

TEST(Experiments, AnswersAreOfStepsThatTheScriptNames) {
  for (const Experiment& experiment : all_experiments()) {
    auto planned = plan_experiment(experiment, 7, ".");
    ASSERT_TRUE(planned.ok());
    for (const PlannedRun& run : *planned) {
      std::set<std::string> names;
      if (run.cell.spec.script.is_array())
        for (const Value& step : run.cell.spec.script.as_array())
          names.insert(std::string(step.text_or("as", "")));
      for (const auto& [step, word] : run.run->answers)
        EXPECT_TRUE(names.contains(step)) << run.cell.id << ": " << step;
    }
  }
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
  const auto value = [&](const char* count, const char* per, int64_t times) {
    return figure_value({.checker = "c", .count = count, .per = per, .times = times}, result);
  };
  EXPECT_EQ(value("n", "of", 1000), 500.0);
  EXPECT_EQ(value("n", "", 1), 3.0);
  EXPECT_EQ(value("absent", "", 1), std::nullopt);
}

TEST(Experiments, ALineIsHeldToItsTrendItsMarginAndItsZeros) {
  const std::vector<std::string> x{"1", "2", "4"};
  const auto mismatch = [&](const FigureLine& line, std::vector<std::optional<double>> y) {
    return line_mismatch(line, x, y);
  };
  const FigureLine rising{.label = "loss", .trend = "rising", .margin = 50, .zero = {"1"}};
  EXPECT_EQ(mismatch(rising, {0, 300, 280}), "") << "within the margin";
  EXPECT_THAT(mismatch(rising, {0, 300, 240}), HasSubstr("240.00 at 4 after 300.00"));
  EXPECT_THAT(mismatch(rising, {1, 300, 400}), HasSubstr("at 1, expected 0"));
  EXPECT_THAT(mismatch(rising, {0, 20, 0}), HasSubstr("goes from 0.00 to 0.00"));
  EXPECT_THAT(mismatch(rising, {0, std::nullopt, std::nullopt}), HasSubstr("too short"));
  EXPECT_THAT(mismatch({.label = "loss"}, {std::nullopt, std::nullopt, std::nullopt}),
              HasSubstr("is empty"));
  const FigureLine falling{.label = "done", .trend = "falling", .margin = 5};
  EXPECT_EQ(mismatch(falling, {90, 50, 54}), "");
  EXPECT_THAT(mismatch(falling, {90, 50, 60}), HasSubstr("60.00 at 4 after 50.00"));
  EXPECT_THAT(mismatch(falling, {90, 89, 90}), HasSubstr("expected falling"));
}

constexpr std::string_view kAnswers =
    "0 invoke write k 1 expected=0 step=created\n0 ok write k 1 revision=2\n"
    "1 invoke write k 2 expected=0 step=again\n1 fail write k error=conflict current=2\n"
    "1 invoke write k 3 expected=1 step=late\n1 fail write k error=conflict current=2\n"
    "1 invoke write j 3 expected=2 step=absent\n1 fail write j error=conflict current=0\n"
    "1 invoke write k 4 step=down\n1 fail write k error=refused\n"
    "0 invoke write k 5 step=lost\n0 info write k error=timeout\n";

TEST(Experiments, EachClassOfAnswerIsTakenForItselfAndForNoOther) {
  const History history = history_of(kAnswers, "{}");
  ExperimentRun run;
  run.answers = {{"created", "ok"},       {"again", "already exists"}, {"late", "conflict"},
                 {"absent", "not found"}, {"down", "refused"},         {"lost", "unknown"}};
  EXPECT_EQ(answers_mismatch(run, history), "");
  const auto right = run.answers;
  for (const auto& [step, word] : right) {
    for (const auto& [other, wrong] : right) {
      if (word == wrong) continue;
      run.answers = {{step, wrong}};
      EXPECT_THAT(answers_mismatch(run, history), HasSubstr("answered " + word)) << step << wrong;
    }
  }
  run.answers = {{"never", "ok"}};
  EXPECT_THAT(answers_mismatch(run, history), HasSubstr("it was not performed"));
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
