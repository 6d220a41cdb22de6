#include "results/verdict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/json_text.h"
#include "results/schema.h"

namespace assay {
namespace {

using testing::HasSubstr;

bool same_order(const LastOrder& a, const LastOrder& b) {
  const auto steps = [](const LastOrder& order) {
    std::vector<std::pair<size_t, std::string>> all;
    for (const OrderStep& step : order.steps) all.emplace_back(step.operation, step.state);
    return all;
  };
  return a.of == b.of && a.before == b.before && a.start == b.start && a.breaks == b.breaks &&
         steps(a) == steps(b);
}

bool same(const Verdict& a, const Verdict& b) {
  if (a.name != b.name || a.safety != b.safety || a.progress != b.progress ||
      a.reason != b.reason || a.counts != b.counts || a.facts != b.facts ||
      a.witness.has_value() != b.witness.has_value() || a.children.size() != b.children.size()) {
    return false;
  }
  if (a.witness &&
      (a.witness->operations != b.witness->operations || a.witness->lines != b.witness->lines)) {
    return false;
  }
  if (a.witness && a.witness->order.has_value() != b.witness->order.has_value()) return false;
  if (a.witness && a.witness->order && !same_order(*a.witness->order, *b.witness->order)) {
    return false;
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!same(a.children[i], b.children[i])) return false;
  }
  return true;
}

Verdict sample() {
  Verdict key;
  key.name = "a/b\"\n";
  key.safety = Safety::kInvalid;
  key.reason = "stale read: \u00e9";
  key.counts = {{"z", 3}, {"a", -1}, {"m", INT64_MAX}};
  key.facts = {{"not tested", "clocks"}, {"not tested", "disks"}, {"", ""}};
  key.witness = Witness{{7, 3, 5}, {"p3 read 4", "", "and then \"5\""}, LastOrder{}};
  key.witness->order = {.of = "those on 4", .before = 3, .start = "null", .steps = {{3, "4"}, {0, ""}}, .breaks = 7};
  Verdict blocked;
  blocked.name = "availability";
  blocked.safety = Safety::kVacuous;
  blocked.progress = Progress::kBlocked;
  Verdict unknown;
  unknown.name = "other";
  unknown.safety = Safety::kUnknown;
  unknown.progress = Progress::kUnknown;
  unknown.witness = Witness{};
  unknown.witness->order = LastOrder{};
  Verdict checker;
  checker.name = "linearizable";
  checker.progress = Progress::kOk;
  checker.children = {key, unknown};
  Verdict run;
  run.name = "run";
  run.children = {checker, blocked};
  return run;
}

TEST(VerdictJson, GoesOutAndComesBackTheSame) {
  const Verdict verdict = sample();
  const std::string text = verdict_to_json(verdict);
  const Result<Verdict> back = verdict_from_json(text, "verdict.json");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(same(verdict, *back)) << text << verdict_to_json(*back);
  EXPECT_EQ(verdict_to_json(*back), text);
}

TEST(VerdictJson, FitsItsSchemaAndNamesPathsFromTheRootsChildrenOn) {
  const std::string text = verdict_to_json(sample());
  const Value value = *parse_json(text, "v");
  const Result<void> valid = validate_form(value, "verdict", text, "v");
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  const Value& checker = value["children"].as_array()[0];
  EXPECT_EQ(value["path"].as_text(), "");
  EXPECT_EQ(checker["path"].as_text(), "linearizable");
  EXPECT_EQ(checker["children"].as_array()[1]["path"].as_text(), "linearizable/other");
}

TEST(VerdictJson, CountsOfOneNameAreAllKept) {
  Verdict verdict;
  verdict.counts = {{"ok", 1}, {"ok", 2}};
  EXPECT_THAT(verdict_to_json(verdict), HasSubstr(R"x("counts": {"ok":1,"ok (2)":2})x"));
}

TEST(VerdictJson, WithItsHistoryAWitnessNamesTheLinesOfTheFile) {
  HistoryBuilder builder;
  Op op;
  op.f = f::read;
  op.process = Process{1};
  op.index = 10;
  ASSERT_TRUE(builder.add(op).ok());
  op.process = Process{2};
  op.index = 12;
  ASSERT_TRUE(builder.add(op).ok());
  op.type = OpType::kOk;
  op.index = 17;
  ASSERT_TRUE(builder.add(op).ok());
  const History history = builder.build();
  Verdict verdict;
  verdict.witness = Witness{{0, 1, 99}, {}};  // an operation that is not there adds no line
  const std::string text = verdict_to_json(verdict, &history);
  const Value value = *parse_json(text, "v");
  EXPECT_EQ(value["witness"]["indexes"].to_json(), "[[10,-1],[12,17]]");
  EXPECT_TRUE(same(*verdict_from_json(text, "v"), verdict));
}

struct Broken {
  const char* from;  // replaced in a good file
  const char* to;
  const char* message;
};

TEST(VerdictJson, AMalformedFileGivesOneClearLine) {
  const Broken kBroken[] = {
      {"\"version\": 1", "\"version\": 2", "verdict.json:3:14: version: expected 1, found 2"},
      {"\"word\": \"invalid\"", "\"word\": \"wrong\"", "children.0.word: expected valid"},
      {"\"word\": \"invalid\"", "\"world\": \"x\"", "expected a member \"word\", found none"},
      {"assay-verdict", "assay-spec", "format: expected assay-verdict, found \"assay-spec\""},
      {"\"children\": []", "\"children\": [", "not JSON"},
      {"\"operations\": [1]", "\"operations\": [-1]",
       "operations.0: expected at least 0, found -1"},
  };
  Verdict verdict;
  verdict.name = "run";
  Verdict child;
  child.name = "linearizable";
  child.safety = Safety::kInvalid;
  child.witness = Witness{{1}, {"text"}};
  verdict.children = {child};
  for (const Broken& broken : kBroken) {
    std::string text = verdict_to_json(verdict);
    const size_t at = text.find(broken.from);
    ASSERT_NE(at, std::string::npos) << broken.from << text;
    text.replace(at, std::string(broken.from).size(), broken.to);
    const Result<Verdict> result = verdict_from_json(text, "verdict.json");
    ASSERT_FALSE(result.ok()) << broken.to;
    EXPECT_THAT(result.error().message, HasSubstr(broken.message));
    EXPECT_THAT(result.error().message, testing::StartsWith("verdict.json:"));
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(result.error().fault, Fault::kInput);
  }
}

TEST(VerdictJson, ATreeWithoutEndIsRefused) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += R"({"children":[)";
  EXPECT_THAT(verdict_from_json(text, "v").error().message, HasSubstr("levels"));
}

}  // namespace
}  // namespace assay
