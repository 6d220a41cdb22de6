// The forms of a report that are text: terminal, --json, junit.xml, summary.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/facts.h"
#include "checkers/history/json_text.h"
#include "results/report/html.h"
#include "results/report/json.h"
#include "results/report/junit.h"
#include "results/report/markdown.h"
#include "results/report/sample_run.h"
#include "results/report/text.h"
#include "results/report/well_formed.h"
#include "results/schema.h"

namespace assay {
namespace {

using sample::SampleRun;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string text_of(const SampleRun& run, const TextOptions& options = {}) {
  return text_report(Report(run.history, run.verdict, run.info), options);
}
std::string junit_of(const SampleRun& run) {
  const std::string xml = junit_report(Report(run.history, run.verdict, run.info));
  EXPECT_EQ(report::WellFormed::problem(xml), "");
  EXPECT_EQ(xml.find("<skipped"), std::string::npos);
  return xml;
}
std::string markdown_of(const SampleRun& run) {
  return markdown_report(Report(run.history, run.verdict, run.info));
}
std::string error_line_of(const SampleRun& run) {
  return github_error_line(Report(run.history, run.verdict, run.info));
}
Value json_of(const SampleRun& run) {
  const std::string text = json_report(Report(run.history, run.verdict, run.info));
  const Value value = *parse_json(text, "result");
  const Result<void> valid = validate_form(value, "result", text, "result");
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  return value;
}

std::vector<std::pair<std::string, SampleRun>> every_sample() {
  std::vector<std::pair<std::string, SampleRun>> all;
  all.emplace_back("valid", sample::valid());
  all.emplace_back("invalid", sample::invalid({}));
  all.emplace_back("vacuous", sample::vacuous());
  all.emplace_back("unknown", sample::unknown());
  all.emplace_back("blocked", sample::blocked());
  all.emplace_back("vacuous", sample::empty());
  all.emplace_back("invalid", sample::foreign());
  all.emplace_back("failed", sample::failed());
  return all;
}

TEST(TextReport, SaysTheVerdictFirst) {
  EXPECT_THAT(text_of(sample::valid()), StartsWith("VALID: Every operation fits one order"));
  EXPECT_THAT(text_of(sample::invalid({})),
              StartsWith("INVALID: Stale read of k7. p1003 read 4 from n2, 212 ms after 5 was"));
  EXPECT_THAT(text_of(sample::failed()), StartsWith("FAILED: Agent of n3 died: signal 9"));
}

TEST(TextReport, TellsAWitnessInWordsWithItsOperations) {
  const std::string text = text_of(sample::invalid({}));
  EXPECT_THAT(text, HasSubstr("p1001 then changed 4 to 5 on n3"));
  EXPECT_THAT(text, HasSubstr("witness (linearizable/k7)"));
  EXPECT_THAT(text, HasSubstr("p1001 on n3  k7  cas 4 → 5  ok"));
  EXPECT_THAT(text, HasSubstr("p1003 on n2  k7  read → 4  ok"));
  EXPECT_THAT(text, HasSubstr("independent of your error mapping"));
  EXPECT_THAT(text, Not(HasSubstr("could have been caught")));
  EXPECT_THAT(text, HasSubstr("again         assay rerun results/runs/"));
}

TEST(TextReport, AValidOneSaysWhatItCouldHaveCaughtAndWhatNot) {
  const std::string text = text_of(sample::valid());
  EXPECT_THAT(text, HasSubstr("could have been caught\n    - 318 reads were served by"));
  EXPECT_THAT(text, HasSubstr("not tested\n    - power loss"));
  EXPECT_THAT(text, HasSubstr("conventions\n    - an ok read of null is a value"));
}

TEST(Forms, WhatIsNotClaimedStandsBesideWhatWasNotTested) {
  SampleRun run = sample::valid();
  run.verdict.children[0].facts.emplace_back(fact::kNotClaimed,
                                             "linearizable reads are not claimed");
  run.info.not_claimed = {"guarded writes are not claimed"};
  EXPECT_THAT(text_of(run), HasSubstr("not claimed\n    - linearizable reads are not claimed\n"
                                      "    - guarded writes are not claimed\n  not tested\n"));
  EXPECT_THAT(markdown_of(run), HasSubstr("**What is not claimed**"));
  EXPECT_THAT(html_report(Report(run.history, run.verdict, run.info)),
              HasSubstr("What is not claimed"));
}

TEST(TextReport, AnUndecidedOneSaysWhatWasMissingAndWhatChangesIt) {
  const std::string vacuous = text_of(sample::vacuous());
  EXPECT_THAT(vacuous, HasSubstr("missing\n    - cas: 3 ok of 10 needed"));
  EXPECT_THAT(vacuous, HasSubstr("what changes it\n    - more operations: `--rate 1000`"));
  const std::string unknown = text_of(sample::unknown());  // its checker names no remedy
  EXPECT_THAT(unknown, HasSubstr("missing\n    - not decided within the budget"));
  EXPECT_THAT(unknown, HasSubstr("`--budget 10m`"));
}

TEST(TextReport, LinesStayWithinTheWidth) {
  for (const auto& [word, run] : every_sample()) {
    const std::string text = text_of(run, {.width = 70});
    size_t start = 0;
    for (size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      std::string_view line(text.data() + start, end - start);
      const bool one_long_word = line.find("results/runs/") != std::string_view::npos;
      const bool arrow = line.find("→") != std::string_view::npos;  // three bytes, one column
      if (!one_long_word) {
        EXPECT_LE(line.size(), arrow ? 72u : 70u) << line;
      }
    }
  }
}

TEST(TextReport, ColorIsAskedForAndControlCharactersDoNotPass) {
  SampleRun run = sample::invalid({});
  EXPECT_EQ(text_of(run).find('\033'), std::string::npos);
  EXPECT_THAT(text_of(run, {.color = true}), StartsWith("\033[1;31mINVALID\033[0m: "));
  run.verdict.reason = "evil \033[2J text";
  EXPECT_EQ(text_of(run).find('\033'), std::string::npos);
}

TEST(TextReport, OneLinePerSeedIsOneLine) {
  SampleRun run = sample::valid({.seed = 3});
  run.verdict.reason = "two\nlines";
  const std::string line = text_line(Report(run.history, run.verdict, run.info), {});
  EXPECT_THAT(line, StartsWith("VALID       seed 3  "));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(JsonReport, EverySampleFitsTheSchemaAndNamesItsWord) {
  for (const auto& [word, run] : every_sample()) {
    EXPECT_EQ(json_of(run)["verdict"].as_text(), word);
  }
}

TEST(JsonReport, HoldsWhatCiScriptsAskFor) {
  const SampleRun run = sample::invalid({});
  const Value json = json_of(run);
  EXPECT_EQ(json["seed"].as_int(), 1);
  EXPECT_EQ(json["run_folder"].as_text(), run.info.folder);
  EXPECT_EQ(json["read_ms"].as_double(), 61.0);
  EXPECT_EQ(json["check_ms"].as_double(), 812.0);
  const Value& partition = json["faults"]["partition"];
  EXPECT_GE(partition["installed"].as_int(), 3);
  EXPECT_EQ(partition["bit"], partition["installed"]);
  EXPECT_EQ(partition["healed"], partition["installed"]);
  EXPECT_EQ(json["operations"]["ok"].as_int() + json["operations"]["fail"].as_int() +
                json["operations"]["info"].as_int(),
            static_cast<int64_t>(run.history.size()));
  const Value& witness = json["witness"];
  EXPECT_EQ(witness["path"].as_text(), "linearizable/k7");
  EXPECT_EQ(witness["operations"].as_array().size(), 3u);
  EXPECT_EQ(witness["operations"].as_array()[2]["result"].as_int(), 4);
  EXPECT_EQ(witness["operations"].as_array()[2]["node"].as_text(), "n2");
  const Value& order = witness["last_order"];
  EXPECT_EQ(order["before"].as_int(), 37);
  EXPECT_EQ(order["start"].as_text(), "null");
  EXPECT_EQ(order["steps"].as_array()[1]["state"].as_text(), "5");
  EXPECT_EQ(order["steps"].as_array()[1]["index"], witness["operations"].as_array()[1]["index"]);
  EXPECT_EQ(order["breaks"], witness["operations"].as_array()[2]["index"]);
  EXPECT_EQ(json["weaker"].as_array().size(), 1u);
  EXPECT_TRUE(json_of(sample::valid())["weaker"].is_null());
  EXPECT_TRUE(json_of(sample::valid())["witness"].is_null());
  EXPECT_TRUE(json_of(sample::foreign())["run_folder"].is_null());
}

TEST(JunitReport, ACasePerCheckerAndTheWorstAreFailures) {
  const std::string valid = junit_of(sample::valid());
  EXPECT_THAT(valid, HasSubstr("tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(valid, HasSubstr("name=\"linearizable\""));
  EXPECT_THAT(valid, Not(HasSubstr("<failure")));
  const std::string invalid = junit_of(sample::invalid({}));
  EXPECT_THAT(invalid, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(invalid, HasSubstr("<failure type=\"invalid\" message=\"stale read of k7\">"));
  EXPECT_THAT(invalid, HasSubstr("p1003 read 4 from n2"));
  EXPECT_THAT(junit_of(sample::blocked()),
              HasSubstr("<failure type=\"blocked\" message=\"n4 did not"));
}

TEST(JunitReport, UndecidedIsAnErrorAndNeverSkipped) {
  EXPECT_THAT(junit_of(sample::vacuous()), HasSubstr("failures=\"0\" errors=\"1\""));
  EXPECT_THAT(junit_of(sample::unknown()), HasSubstr("<error type=\"unknown\""));
  EXPECT_THAT(junit_of(sample::empty()),
              HasSubstr("<error type=\"vacuous\" message=\"the history"));
  const std::string failed = junit_of(sample::failed());
  EXPECT_THAT(failed, HasSubstr("<error type=\"failed\" message=\"agent of n3 died"));
  SampleRun interrupted = sample::valid();
  interrupted.info.interrupted = true;
  EXPECT_THAT(junit_of(interrupted), HasSubstr("<error type=\"interrupted\""));
}

TEST(JunitReport, AnExpectedVerdictIsJudgedByWhetherItCame) {
  SampleRun run = sample::invalid({});
  run.info.expected = "invalid";
  EXPECT_THAT(junit_of(run), HasSubstr("tests=\"5\" failures=\"0\" errors=\"0\""));
  run.info.expected = "valid";
  run.info.as_expected = false;
  const std::string xml = junit_of(run);
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("message=\"expected valid, found invalid: stale read of k7\""));
}

TEST(JunitReport, HostileTextStaysText) {
  SampleRun run = sample::invalid({});
  run.verdict.reason = "]]></failure>\x01\xff\"<x>&";
  run.verdict.children[0].name = "\"><evil/>";
  run.verdict.children[0].reason = run.verdict.reason;
  EXPECT_THAT(junit_of(run), Not(HasSubstr("<evil")));
}

TEST(MarkdownReport, HasVerdictScopeWitnessAndCheckers) {
  const std::string text = markdown_of(sample::invalid({}));
  EXPECT_THAT(text, StartsWith("## INVALID: Stale read of k7. "));
  EXPECT_THAT(text, HasSubstr("| target | raft (assay-raft 4f1c9f0be1d2) |"));
  EXPECT_THAT(text, HasSubstr("### Witness: linearizable/k7"));
  EXPECT_THAT(text, HasSubstr("| p1001 | n3 | k7 | cas 4 → 5 | ok |"));
  EXPECT_THAT(text, HasSubstr("| linearizable/k7 | invalid | stale read of k7 |"));
  EXPECT_THAT(text, HasSubstr("```\nassay rerun results/runs/"));
  EXPECT_THAT(markdown_of(sample::valid()), HasSubstr("**What was not tested**"));
  EXPECT_THAT(markdown_of(sample::vacuous()), HasSubstr("- more operations: `--rate 1000`\n"));
}

TEST(MarkdownReport, HostileTextDoesNotBreakTheTable) {
  SampleRun run = sample::invalid({});
  run.verdict.children[0].reason = "a | b\n<img src=x> `c` [d](e)";
  EXPECT_THAT(markdown_of(run), HasSubstr("a \\| b \\<img src=x\\> \\`c\\` \\[d\\](e) |"));
}

TEST(MarkdownReport, GithubIsToldOfEverythingThatIsNotGood) {
  EXPECT_EQ(error_line_of(sample::valid()), "");
  EXPECT_THAT(error_line_of(sample::invalid({})),
              StartsWith("::error title=assay INVALID%3A raft register::Stale read of k7. "));
  for (const SampleRun& run :
       {sample::vacuous(), sample::unknown(), sample::blocked(), sample::failed()}) {
    EXPECT_THAT(error_line_of(run), StartsWith("::error title=assay "));
  }
  SampleRun expected = sample::invalid({});
  expected.info.expected = "invalid";
  EXPECT_EQ(error_line_of(expected), "");
  expected.info.as_expected = false;
  expected.verdict.reason = "100 %\nof it";
  const std::string line = error_line_of(expected);
  EXPECT_THAT(line, HasSubstr("::expected invalid. 100 %25%0Aof it."));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Headline, AnAnomalyIsNotHiddenByAFailureOfTheHarness) {
  SampleRun run = sample::invalid({});
  run.info.failure = "disk full";
  EXPECT_THAT(text_of(run), StartsWith("INVALID"));
  EXPECT_THAT(text_of(run), HasSubstr("The harness failed as well: disk full."));
  SampleRun interrupted = sample::valid();
  interrupted.info.interrupted = true;
  EXPECT_THAT(text_of(interrupted),
              StartsWith("INTERRUPTED: Stopped by a signal; the part that was "
                         "recorded: valid, every operation"));
}

TEST(Evidence, IsGatheredOnceFromTheWholeTreeAndFilledInWhereNobodySpoke) {
  SampleRun run = sample::valid();
  run.verdict.facts.emplace_back(fact::kNotTested, "clocks: the nodes share one clock");
  const Report report(run.history, run.verdict, run.info);
  EXPECT_EQ(report.evidence.not_tested.size(), 4u);
  run.verdict.children.clear();
  const Report bare(run.history, run.verdict, run.info);
  EXPECT_THAT(bare.evidence.could_have_been_caught,
              testing::Contains(testing::EndsWith("kills that bit")));
  EXPECT_THAT(bare.evidence.could_have_been_caught,
              testing::Contains(testing::EndsWith("changes of leader")));
}

TEST(Evidence, LogsAreWantedAroundTheWitnessOrOfTheEnd) {
  const SampleRun invalid = sample::invalid({});
  const auto [from, to] = report::log_window(invalid.history, invalid.verdict);
  const size_t read = invalid.verdict.find("linearizable/k7")->witness->operations.back();
  EXPECT_LT(from, invalid.history[read].invoke_time());
  EXPECT_GT(to, invalid.history[read].return_time());
  EXPECT_LT(to - from, seconds(5));
  const SampleRun valid = sample::valid();
  EXPECT_EQ(report::log_window(valid.history, valid.verdict).second, valid.history.end_time());
}

}  // namespace
}  // namespace assay
