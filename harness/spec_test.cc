#include "harness/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "checkers/history/json_text.h"
#include "results/schema.h"

namespace assay {
namespace {

Error error_of(const std::string& text) {
  TestSpec spec;
  auto parsed = parse_spec(text, "s.json", spec);
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.ok() ? Error{} : parsed.error();
}

TEST(Spec, ReadsEveryOptionUnderItsLongName) {
  TestSpec spec;
  auto parsed = parse_spec(R"({
    "format": "assay-spec", "version": 1,
    "target": "memory", "workload": "cas-versioned", "nemesis": ["kill:leader", "kill:all", "pause"],
    "nodes": 3, "time_limit": "1m", "rate": "max", "concurrency": "4n", "keys": 7, "ops_per_key": 50,
    "nemesis_interval": "4s", "fault_duration": "1500ms", "op_timeout": "2s", "seed": 42, "deadline": "2m",
    "set": {"memory.stale-reads": 10}, "expect": {"": "invalid", "linearizable": "invalid"},
    "thresholds": {"ok_per_f": 3}, "net": "host", "keep_data": true, "fail_fast": true, "out": "somewhere"
  })",
                           "s.json", spec);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(spec.target, "memory");
  EXPECT_EQ(spec.workload, "cas-versioned");
  ASSERT_EQ(spec.nemesis->size(), 2u);
  EXPECT_EQ((*spec.nemesis)[0].kind, "kill");
  EXPECT_EQ((*spec.nemesis)[0].shapes, (std::vector<std::string>{"leader", "all"}));
  EXPECT_EQ((*spec.nemesis)[1].kind, "pause");
  EXPECT_EQ(spec.nodes, 3);
  EXPECT_EQ(spec.time_limit, seconds(60));
  EXPECT_EQ(spec.rate, 0);
  EXPECT_EQ(spec.concurrency_per_node, 4);
  EXPECT_EQ(spec.keys, 7);
  EXPECT_EQ(*spec.ops_per_key, 50);
  EXPECT_EQ(*spec.nemesis_interval, seconds(4));
  EXPECT_EQ(*spec.fault_duration, milliseconds(1500));
  EXPECT_EQ(spec.op_timeout, seconds(2));
  EXPECT_EQ(*spec.seed, 42u);
  EXPECT_EQ(spec.set.at("memory.stale-reads"), "10");
  EXPECT_EQ(spec.expect.at("linearizable"), "invalid");
  EXPECT_EQ(spec.thresholds.at("ok_per_f"), 3);
  EXPECT_EQ(spec.net, NetMode::kHost);
  EXPECT_TRUE(spec.keep_data);
  EXPECT_TRUE(spec.fail_fast);
}

TEST(Spec, ItsFileFormGivesTheSameSpec) {
  TestSpec spec;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"target", "memory"},
                                                        {"nemesis", "kill:leader,partition"},
                                                        {"concurrency", "3n"},
                                                        {"time-limit", "90s"},
                                                        {"fault-duration", "1234567ns"},
                                                        {"seed", "9007199254740993"},
                                                        {"set", "memory.blind-cas=4"},
                                                        {"expect", "invalid:linearizable"},
                                                        {"net", "host"},
                                                        {"fail-fast", "true"},
                                                        {"keep-data", "true"}}) {
    ASSERT_TRUE(set_option(spec, name, value).ok()) << name;
  }
  const std::string once = spec_to_value(spec).to_json();
  TestSpec again;
  auto parsed = parse_spec(once, "s.json", again);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message << once;
  EXPECT_EQ(spec_to_value(again).to_json(), once);
}

TEST(Spec, NoFaultsIsAChoiceAndNotTheDefault) {
  TestSpec spec;
  EXPECT_FALSE(spec.nemesis.has_value());
  ASSERT_TRUE(set_option(spec, "nemesis", "none").ok());
  ASSERT_TRUE(spec.nemesis.has_value());
  EXPECT_TRUE(spec.nemesis->empty());
}

TEST(Spec, AKindWithoutShapeMeansAllItsShapes) {
  TestSpec spec;
  ASSERT_TRUE(set_option(spec, "nemesis", "kill:leader,kill").ok());
  EXPECT_TRUE((*spec.nemesis)[0].shapes.empty());
}

TEST(Spec, BadFilesAreNamedWithLineAndColumn) {
  const struct {
    const char* text;
    const char* where;
    const char* what;
  } rows[] = {
      {"{\n  \"nodes\": 0\n}", "s.json:2:", "expected a whole number from 1 to 64"},
      {"{\n  \"colour\": 1\n}", "s.json:2:3:", "\"colour\""},
      {"{\n  \"time-limit\": \"3s\"\n}", "s.json:2:3:", "with _ for -"},
      {"{\n\n  \"time_limit\": \"soon\"}", "s.json:3:", "expected a time"},
      {"{\n  \"nodes\": [3]}", "s.json:2:", "expected a string, a number"},
      {"{\n  \"nodes\": 3,\n  \"nodes\": 4}", "s.json:3:", "nodes"},
      {"{\n  \"format\": \"assay-history\"}", "s.json:2:", "expected \"assay-spec\""},
      {"{\n  \"version\": 2}", "s.json:2:", "expected 1, found 2"},
      {"{\n  \"set\": {\"stale\": 1}}", "s.json:2:", "expected target.option=value"},
      {"{\n  \"nemesis\": \"kill,,pause\"}", "s.json:2:", "expected none, or faults"},
      {"{\n  \"expect\": \"maybe\"}", "s.json:2:", "expected valid, invalid or blocked"},
      {"{\n  \"expect\": \"valid:linear\"}", "s.json:2:", "unknown checker \"linear\""},
      {"{\n  \"script\": 3}", "s.json:2:", "expected a list of steps"},
      {"[]", "s.json:1:1:", "expected an object"},
      {"{\n  \"nodes\": 3", "s.json:2:", "expected"},
      {"", "s.json:1:1:", "expected"},
  };
  for (const auto& row : rows) {
    const Error error = error_of(row.text);
    EXPECT_EQ(error.fault, Fault::kInput) << row.text;
    EXPECT_EQ(error.message.rfind(row.where, 0), 0u) << row.text << "\n" << error.message;
    EXPECT_NE(error.message.find(row.what), std::string::npos) << row.text << "\n" << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
}

TEST(Spec, AMissingFileIsTheUsersMistake) {
  TestSpec spec;
  auto read = read_spec("/nowhere/spec.json", spec);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().fault, Fault::kInput);
  EXPECT_NE(read.error().message.find("/nowhere/spec.json"), std::string::npos);
}

TEST(Spec, AThresholdThatNobodyAsksForIsRefused) {
  EXPECT_NE(error_of(R"({"thresholds":{"fault_bitten":3}})").message.find("faults_bitten"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"thresholds":{"faults_bitten":-3}})").message.find("from 0 on"),
            std::string::npos);
}

TEST(Spec, TheSchemaNamesExactlyWhatIsRead) {
  const auto schema = parse_json(std::string(find_schema("spec")->text), "schema");
  ASSERT_TRUE(schema.ok());
  std::set<std::string> in_schema;
  for (const auto& [name, unused] : (*schema)["properties"].as_object()) {
    in_schema.insert(std::string(name.text()));
  }
  for (const char* no_option : {"format", "version", "run", "thresholds", "script"}) {
    EXPECT_EQ(in_schema.erase(no_option), 1u) << no_option;
  }
  std::set<std::string> read;
  for (std::string name : option_names()) {
    std::replace(name.begin(), name.end(), '-', '_');
    read.insert(name);
  }
  EXPECT_EQ(in_schema, read);
}

}  // namespace
}  // namespace assay
