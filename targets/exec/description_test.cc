#include "targets/exec/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/json_text.h"

namespace assay::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSmallest = R"({
  "name": "mystore",
  "start": ["{bin}/mystored"],
  "client": ["{bin}/client.py"],
  "claims": {"read": "linearizable"}
})";

constexpr const char* kWhole = R"({
  "format": "assay-target", "version": 1,
  "name": "mystore", "summary": "my store",
  "start": ["{bin}/mystored", "--cluster={peers:{node}={address}:{peer_port}}"],
  "env": {"LEVEL": "{option:level}"},
  "install": ["mkdir", "-p", "{folder}/db"], "wipe": ["rm", "-rf", "{folder}/db"],
  "stop": ["{bin}/ctl", "stop"],
  "ready": {"tcp": true, "command": ["{bin}/ctl", "ping"], "within": "30s"},
  "logs": ["{folder}/db/audit.log"], "binaries": ["{bin}/mystored"],
  "findings": {"PANIC": "panic"},
  "client": ["{bin}/client.py", "{node}"],
  "status": ["{bin}/ctl", "status"], "diagnose": ["{bin}/ctl", "dump"],
  "ops": ["read", "write", "cas", "delete"],
  "errors": {"no-leader": {"definite": true, "class": "unavailable"}, "lost": {"definite": false}},
  "claims": {"read": "sequential", "guarded_write": true, "orderable": true, "watch": true,
             "durable": "sync", "election_timeout_min": "300ms"},
  "options": {"level": {"default": "3", "summary": "how much", "canary": true}},
  "faults": {"slow-disk": {"summary": "s", "begin": ["a"], "end": ["b"], "verify": ["c"]}}
})";

Error error_of(const std::string& text) {
  auto read = parse_description(text, "s.json");
  EXPECT_FALSE(read.ok()) << text;
  return read ? Error{} : read.error();
}

TEST(ExecDescription, WhatIsNotSaidIsNotClaimed) {
  const auto d = parse_description(kSmallest, "s.json");
  ASSERT_TRUE(d.ok()) << d.error().message;
  EXPECT_EQ(d->claims.read, "linearizable");
  EXPECT_FALSE(d->claims.guarded_write);
  EXPECT_FALSE(d->claims.orderable);
  EXPECT_FALSE(d->claims.watch);
  EXPECT_EQ(d->claims.durable, "none");
  EXPECT_THAT(d->ops, ElementsAre(f::read, f::write, f::cas));
  EXPECT_TRUE(d->ready.tcp);
}

TEST(ExecDescription, EveryMemberIsRead) {
  const auto d = parse_description(kWhole, "dir/s.json");
  ASSERT_TRUE(d.ok()) << d.error().message;
  EXPECT_TRUE(d->folder.ends_with("/dir") && d->folder.starts_with("/")) << d->folder;
  EXPECT_EQ(d->start.size(), 2u);
  EXPECT_THAT(d->env,
              ElementsAre(std::pair<const std::string, std::string>("LEVEL", "{option:level}")));
  EXPECT_EQ(d->install.size(), 3u);
  EXPECT_EQ(d->wipe.size(), 3u);
  EXPECT_EQ(d->stop.size(), 2u);
  EXPECT_EQ(d->ready.command.size(), 2u);
  EXPECT_EQ(d->ready.within, seconds(30));
  EXPECT_EQ(d->logs.size(), 1u);
  EXPECT_EQ(d->binaries.size(), 1u);
  EXPECT_EQ(d->findings.at(0).second, "panic");
  EXPECT_EQ(d->status.size(), 2u);
  EXPECT_EQ(d->diagnose.size(), 2u);
  EXPECT_EQ(d->ops.size(), 4u);
  EXPECT_TRUE(d->errors.at("no-leader").definite);
  EXPECT_EQ(d->errors.at("no-leader").cls, "unavailable");
  EXPECT_EQ(d->errors.at("lost").cls, "lost");
  EXPECT_EQ(d->claims.read, "sequential");
  EXPECT_TRUE(d->claims.guarded_write && d->claims.orderable && d->claims.watch);
  EXPECT_EQ(d->claims.election_timeout_min, milliseconds(300));
  ASSERT_EQ(d->options.size(), 1u);
  EXPECT_TRUE(d->options[0].canary);
  ASSERT_EQ(d->faults.size(), 1u);
  EXPECT_THAT(d->faults[0].verify, ElementsAre("c"));
}

TEST(ExecDescription, TheTestDescriptionNamesEveryMemberOfTheSchema) {
  const auto schema = parse_json(description_schema(), "schema");
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  const auto whole = parse_json(kWhole, "whole");
  ASSERT_TRUE(whole.ok());
  for (const auto& [name, unused] : (*schema)["properties"].as_object()) {
    EXPECT_FALSE((*whole)[name.text()].is_null()) << name.text();
  }
}

// A member of the smallest description, replaced or added, on line 2.
std::string with(const std::string& member) {
  const std::string name = member.substr(0, member.find(':'));
  std::string text = "{\n " + member;
  for (const char* line : {R"("name": "x")", R"("start": ["x"])", R"("client": ["x"])",
                           R"("claims": {"read": "stale"})"}) {
    if (!std::string(line).starts_with(name)) text += std::string(",\n ") + line;
  }
  return text + "}";
}

TEST(ExecDescription, MistakesAreNamedWithLineAndColumn) {
  const struct {
    const char* member;
    const char* where;
    const char* what;
  } rows[] = {
      {R"("colour": 1)", "s.json:2:2: ", "unknown member \"colour\""},
      {R"("start": "x")", "s.json:2:11: start: ", "expected array, found \"x\""},
      {R"("start": [])", "s.json:2:11: start: ", "expected at least 1 items, found 0"},
      {R"("start": ["x", 3])", "s.json:2:17: start.1: ", "expected string, found 3"},
      {R"("start": ["x", "{adress}"])", "s.json:2:17: start.1: ", "expected one of {node}"},
      {R"("start": ["{option:x}"])", "s.json:2:12: start.0: ", "there are no options"},
      {R"("env": {"A": "{x}"})", "s.json:2:15: env.A: ", "expected one of {node}"},
      {R"("name": "my store")", "s.json:2:10: name: ", "expected letters, digits"},
      {R"("claims": {})", "s.json:2:12: claims: ", "expected a member \"read\", found none"},
      {R"("claims": {"read": "fresh"})",
       "s.json:2:21: claims.read: ", "expected linearizable, sequential or stale, found \"fresh\""},
      {R"("claims": {"read": "stale", "reads": 1})", "s.json:2:30: ", "unknown member \"reads\""},
      {R"("claims": {"read": "stale", "election_timeout_min": "1s"})",
       "s.json:2:", "expected a \"status\""},
      {R"("ready": {"within": "soon"})", "s.json:2:22: ready.within: ", "expected a time such as"},
      {R"("ready": {"tcp": false})", "s.json:2:11: ready: ", "expected a \"command\""},
      {R"("ops": ["red"])", "s.json:2:10: ops.0: ", "expected read, write"},
      {R"("errors": {"x": {}})", "s.json:2:18: errors.x: ", "expected a member \"definite\""},
      {R"("faults": {"x": {"begin": ["a"], "end": ["b"]}})",
       "s.json:2:18: faults.x: ", "expected a member \"verify\""},
      {R"("faults": {"kill": {"begin": ["a"], "end": ["b"], "verify": ["c"]}})",
       "s.json:2:13: faults.kill: ", "expected a name that no fault"},
      {R"("format": "assay-spec")", "s.json:2:12: format: ", "expected assay-target"},
      {R"("version": 2)", "s.json:2:13: version: ", "expected 1, found 2"},
      {R"("name": "a", "name": "b")", "s.json:2:15: ", "found \"name\" twice"},
      {R"("status": "server")", "s.json:2:12: status: ", "expected client, found \"server\""},
  };
  for (const auto& row : rows) {
    const Error error = error_of(with(row.member));
    EXPECT_EQ(error.fault, Fault::kInput);
    EXPECT_THAT(error.message, StartsWith(row.where)) << row.member;
    EXPECT_THAT(error.message, HasSubstr(row.what)) << row.member;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(error_of("{\n  \"name\": \"x\"\n}").message,
              StartsWith("s.json:1:1: expected a member \"start\", found none"));
  EXPECT_THAT(error_of("[]").message, StartsWith("s.json:1:1: expected object"));
  EXPECT_THAT(error_of("{\n  \"name\": }").message, StartsWith("s.json:2:11: not JSON"));
  EXPECT_THAT(error_of("").message, StartsWith("s.json:1:1: not JSON"));
}

TEST(ExecDescription, AFileThatIsNotThereIsTheUsersMistake) {
  for (const char* file : {"/nowhere/mystore.json", "/"}) {
    const auto read = read_description(file);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().fault, Fault::kInput);
    EXPECT_THAT(read.error().message, StartsWith(file));
  }
}

}  // namespace
}  // namespace assay::exec
