#include "results/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/json_text.h"

namespace assay {
namespace {

struct Case {
  const char* schema;
  const char* document;
  const char* message;  // empty: it fits
};

TEST(Schema, EveryKeywordIsJudged) {
  const Case kCases[] = {
      {R"({"type": "integer"})", "1", ""},
      {R"({"type": "integer"})", "1.5", "expected integer, found 1.5"},
      {R"({"type": "number"})", "1", ""},
      {R"({"type": ["string", "null"]})", "true", "expected string or null, found true"},
      {R"({"type": "object"})", "[]", "expected object, found []"},
      {R"({"const": 1})", "2", "expected 1, found 2"},
      {R"({"const": 1})", "1", ""},
      {R"({"enum": ["a", "b", "c"]})", "\"d\"", "expected a, b or c, found \"d\""},
      {R"({"enum": ["a", "b"]})", "\"b\"", ""},
      {R"({"required": ["a"]})", R"({"b": 1})", "expected a member \"a\", found none"},
      {R"({"required": ["a"]})", R"({"a": null})", ""},
      {R"({"properties": {"a": {"type": "string"}}})", R"({"a": 1})", "expected string, found 1"},
      {R"({"properties": {"a": {}}, "additionalProperties": false})", R"({"a": 1, "z": 1})",
       "unknown member \"z\""},
      {R"({"properties": {"a": {}}, "additionalProperties": true})", R"({"z": 1})", ""},
      {R"({"additionalProperties": {"type": "integer"}})", R"({"z": "1"})",
       "expected integer, found \"1\""},
      {R"({"items": {"minimum": 0}})", "[0, 1, -1]", "expected at least 0, found -1"},
      {R"({"minItems": 2})", "[1]", "expected at least 2 items, found 1"},
      {R"({"maxItems": 2})", "[1, 2, 3]", "expected at most 2 items, found 3"},
      {R"({"anyOf": [{"type": "integer"}, {"const": "max"}]})", "\"max\"", ""},
      {R"({"anyOf": [{"type": "integer"}, {"const": "max"}]})", "\"min\"",
       "expected integer, found \"min\""},
      {R"({"anyOf": [{"type": "null"}, {"items": {"type": "integer"}}]})", "[true]",
       "expected integer, found true"},
      {R"({"$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}, "type": "array"}},
           "$ref": "#/$defs/tree"})",
       "[[], [[3]]]", "expected array, found 3"},
  };
  for (const Case& c : kCases) {
    const auto violation =
        find_violation(*parse_json(c.schema, "schema"), *parse_json(c.document, "document"));
    EXPECT_EQ(violation ? violation->message : "", c.message) << c.schema << " " << c.document;
  }
}

TEST(Schema, AViolationKnowsItsPath) {
  const auto violation = find_violation(
      *parse_json(R"({"properties": {"a": {"items": {"additionalProperties": false}}}})", "schema"),
      *parse_json(R"({"a": [{}, {"x": 1}]})", "document"));
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->path, (std::vector<std::string>{"a", "1", "x"}));
  EXPECT_TRUE(violation->of_name);
}

TEST(Schema, AnUnknownKeywordOfASchemaIsNotPassedOver) {
  EXPECT_DEATH(find_violation(*parse_json(R"({"pattern": "x"})", "schema"), Value("y")), "pattern");
}

TEST(Schema, EverySchemaIsJsonAndKnownByName) {
  for (const Schema& schema : all_schemas()) {
    Result<Value> value = parse_json(schema.text, std::string(schema.name));
    ASSERT_TRUE(value.ok()) << value.error().message;
    EXPECT_EQ(find_schema(schema.name), &schema);
    EXPECT_NE(schema.summary, "");
    (void)find_violation(*value, Value::object({}));  // aborts on a keyword that is not known
  }
  EXPECT_EQ(find_schema("nonsense"), nullptr);
}

// Samples of each file, as cli.md writes them, and broken ones.
struct Sample {
  const char* schema;
  const char* text;
  const char* message;  // empty: it fits
};

TEST(Schema, SamplesFitAndBrokenOnesAreNamed) {
  const Sample kSamples[] = {
      {"history-header",
       R"({"format":"assay-history","version":1,"time_unit":"ns","target":"raft","x-of-others":[1]})",
       ""},
      {"history-header", R"({"format":"assay-history","version":2,"time_unit":"ns"})",
       "s:1:37: version: expected 1, found 2"},
      {"history-line",
       R"({"index":15,"time":190021,"process":3,"type":"ok","f":"cas","key":"k1","value":[1,2],"revision":77,"node":"n2"})",
       ""},
      {"history-line",
       R"({"process":"nemesis","type":"info","f":"start-kill","value":{"shape":"one"}})", ""},
      {"history-line",
       R"({"process":3,"type":"fail","f":"cas","error":{"class":"conflict","text":"t","current":"r7"}})",
       ""},
      {"history-line", R"({"process":"me","type":"ok","f":"read"})",
       "s:1:12: process: expected integer, found \"me\""},
      {"history-line", R"({"process":1,"type":"done","f":"read"})",
       "s:1:21: type: expected invoke, ok, fail or info, found \"done\""},
      {"history-line", R"({"process":1,"f":"read"})",
       "s:1:1: expected a member \"type\", found none"},
      {"spec", R"({"target":"raft","nemesis":["kill:leader"],"rate":"max","time_limit":"30s",
                   "set":{"raft.fsync":"off"},"expect":{"linearizable":"valid"},
                   "script":[{"on":"n1","f":"write","key":"k","value":1,"as":"a"}]})",
       ""},
      {"spec", "{\"target\": \"raft\",\n \"tartget\": 1}", "s:2:2: unknown member \"tartget\""},
      {"spec",
       R"({"run":{"assay":"1","command":"c","started":"t","binaries":[{"name":"a","hash":"b","nome":3}]}})",
       "s:1:84: unknown member \"nome\""},
      {"spec", R"({"nodes":0})", "s:1:10: nodes: expected at least 1, found 0"},
      {"certify",
       R"({"format":"assay-certify","version":1,"target":"raft","settings":{"raft.x":"1"},"profile":"quick","contract":"weak","seed":3,"shard":1,"shards":2,"time_limit":0})",
       ""},
      {"certify",
       R"({"format":"assay-certify","version":1,"target":"raft","profile":"quick","contract":"weak","seed":3,"shard":1,"shards":0})",
       "s:1:119: shards: expected at least 1, found 0"},
      {"certificate-cell",
       R"({"id":"a","key":"k","word":"valid","bit":{"kill":1},"clauses":{"V4":["valid","update-chain",""]}})", ""},
      {"certificate-cell", R"({"id":"a","key":"k","word":"splendid"})",
       "s:1:28: word: expected valid, invalid, unknown, vacuous, blocked, failed or not played, found \"splendid\""},
      {"certificate-cell", R"({"id":"a","key":"k","word":"valid","clauses":{"V4":["valid"]}})",
       "s:1:52: clauses.V4: expected at least 3 items, found 1"},
      {"index",
       R"({"format":"assay-index","version":1,"folder":"f","started":"t","target":"raft","workload":"register","faults":"none","seed":1,"verdict":"valid","reason":"r","operations":{"ok":1,"fail":0,"info":0},"duration_ms":5})",
       ""},
      {"verdict",
       R"({"format":"assay-verdict","version":1,"path":"","name":"run","word":"valid","safety":"valid","progress":"ok","reason":"r","counts":{},"facts":[["a","b"]],"children":[]})",
       ""},
      {"verdict",
       R"({"format":"assay-verdict","version":1,"path":"","name":"run","word":"valid","safety":"valid","progress":"ok","reason":"r","counts":{},"facts":[],"children":[{"path":"x"}]})",
       "s:1:158: children.0: expected a member \"name\", found none"},
  };
  for (const Sample& sample : kSamples) {
    const Value document = *parse_json(sample.text, "s");
    const Result<void> valid = validate_form(document, sample.schema, sample.text, "s");
    EXPECT_EQ(valid ? "" : valid.error().message, sample.message) << sample.text;
  }
}

}  // namespace
}  // namespace assay
