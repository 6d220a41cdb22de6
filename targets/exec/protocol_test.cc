#include "targets/exec/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/history_io.h"

namespace assay::exec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Value value(const char* json) { return *parse_value(json); }

Op invocation(Symbol f, const char* json = "null", Token expected = {}) {
  Op op;
  op.process = Process{3};
  op.f = f;
  op.key = Symbol("k1");
  op.value = value(json);
  op.expected = expected;
  return op;
}

const RequestTo kTo{"n2", "10.0.0.2:2379", milliseconds(900)};
const ErrorTable kErrors = {{"no-leader", {true, "unavailable"}}, {"lost", {false, "timeout"}}};

Result<Op> completed(const Op& op, std::string_view line) {
  auto answer = parse_answer(line);
  if (!answer) return answer.error();
  return completion_of(op, *answer, kErrors);
}

TEST(ExecProtocol, ARequestSaysWhatIsAskedOfWhom) {
  const std::string to = R"("node":"n2","address":"10.0.0.2:2379","timeout_ms":900})"
                         "\n";
  const struct {
    Op op;
    const char* begin;
  } rows[] = {
      {invocation(f::read), R"({"id":7,"f":"read","key":"k1",)"},
      {invocation(f::write, "5"), R"({"id":7,"f":"write","key":"k1","value":5,)"},
      {invocation(f::write), R"({"id":7,"f":"write","key":"k1","value":null,)"},
      {invocation(f::cas, "[1,2]"), R"({"id":7,"f":"cas","key":"k1","value":[1,2],)"},
      {invocation(f::delete_), R"({"id":7,"f":"delete","key":"k1",)"},
      {invocation(f::write, "5", Token(41)),
       R"({"id":7,"f":"write","key":"k1","value":5,"expected":41,)"},
      {invocation(f::write, "5", Token(Symbol("v\"1"))),
       R"({"id":7,"f":"write","key":"k1","value":5,"expected":"v\"1",)"},
  };
  for (const auto& row : rows) EXPECT_EQ(request_line(7, row.op, kTo), row.begin + to);
  EXPECT_EQ(cancel_line(9), "{\"cancel\":9}\n");
}

TEST(ExecProtocol, AnAnswerCompletesItsOperation) {
  const Op read = invocation(f::read), write = invocation(f::write, "5"),
           cas = invocation(f::cas, "[1,2]");
  const struct {
    Op op;
    const char* line;
    OpType type;
    const char* value;
    const char* cls;
  } rows[] = {
      {read, R"({"id":7,"type":"ok","value":2})", OpType::kOk, "2", ""},
      {read, R"({"id":7,"type":"ok","value":null})", OpType::kOk, "null", ""},
      {read, R"({"id":7,"type":"ok","value":{"a":[1,"x",2.5]}})", OpType::kOk,
       R"({"a":[1,"x",2.5]})", ""},
      {write, R"({"id":7,"type":"ok"})", OpType::kOk, "5", ""},
      {cas, R"({"id":7,"type":"ok","value":2})", OpType::kOk, "[1,2]", ""},
      {cas, R"({"id":7,"type":"fail","error":{"class":"mismatch"}})", OpType::kFail, "[1,2]",
       "mismatch"},
      {cas, R"({"id":7,"type":"fail"})", OpType::kFail, "[1,2]", "unknown"},
      {cas, R"({"id":7,"type":"info","error":{"class":"timeout","text":"late"}})", OpType::kInfo,
       "[1,2]", "timeout"},
      // A code says what the description says.
      {cas, R"({"id":7,"error":{"code":"no-leader"}})", OpType::kFail, "[1,2]", "unavailable"},
      {cas, R"({"id":7,"error":{"code":"lost"}})", OpType::kInfo, "[1,2]", "timeout"},
      {cas, R"({"id":7,"error":{"code":"else"}})", OpType::kInfo, "[1,2]", "unknown"},
      // Where both are said, the weaker counts.
      {cas, R"({"id":7,"type":"fail","error":{"code":"lost"}})", OpType::kInfo, "[1,2]", "timeout"},
      {cas, R"({"id":7,"type":"info","error":{"code":"no-leader"}})", OpType::kInfo, "[1,2]",
       "unavailable"},
      {cas, R"({"id":7,"type":"fail","error":{"code":"else"}})", OpType::kFail, "[1,2]", "unknown"},
      {read, R"({"id":7,"type":"fail","colour":"red","error":null})", OpType::kFail, "null",
       "unknown"},
  };
  for (const auto& row : rows) {
    const auto done = completed(row.op, row.line);
    ASSERT_TRUE(done.ok()) << row.line << "\n" << done.error().message;
    EXPECT_EQ(done->type, row.type) << row.line;
    EXPECT_EQ(done->value, value(row.value)) << row.line;
    EXPECT_EQ(done->error ? done->error->cls.text() : "", row.cls) << row.line;
  }
}

TEST(ExecProtocol, TokensAreWholeNumbersOrTexts) {
  const auto ok =
      completed(invocation(f::read), R"({"id":7,"type":"ok","value":1,"revision":42,"at":"r43"})");
  ASSERT_TRUE(ok.ok());
  EXPECT_EQ(ok->revision, Token(42));
  EXPECT_EQ(ok->at, Token(Symbol("r43")));
  const auto conflict =
      completed(invocation(f::write, "1", Token(1)),
                R"({"id":7,"type":"fail","error":{"class":"conflict","text":"t","current":9}})");
  ASSERT_TRUE(conflict.ok());
  EXPECT_EQ(conflict->error->current, Token(9));
  EXPECT_EQ(conflict->error->text, "t");
}

TEST(ExecProtocol, AnItemOfAStreamIsNoEnd) {
  const auto event = parse_answer(R"({"id":9,"event":{"key":"k"}})");
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(event->event.has_value());
  EXPECT_TRUE(is_stream(f::watch));
  EXPECT_FALSE(is_stream(f::read));
}

TEST(ExecProtocol, AnAnswerToAWriteRepeatsItsArgumentOrNothing) {
  const Op write = invocation(f::write, "5"), cas = invocation(f::cas, "[1,2]");
  for (const char* line :
       {R"({"id":7,"type":"ok","value":5})", R"({"id":7,"type":"ok","value":5.0})",
        R"({"id":7,"type":"info","value":5,"error":{"class":"timeout"}})",
        R"({"id":7,"type":"fail","value":9,"error":{"class":"mismatch"}})"}) {
    const auto done = completed(write, line);
    ASSERT_TRUE(done.ok()) << line;
    EXPECT_EQ(done->value, Value(5)) << line;
  }
  const auto forgotten = completed(write, R"({"id":7,"type":"info","value":null,"error":{}})");
  ASSERT_FALSE(forgotten.ok());
  EXPECT_EQ(forgotten.error().message,
            "answered the write of 5 with the value null: expected the argument again, or none");
  EXPECT_TRUE(completed(cas, R"({"id":7,"type":"ok","value":2})").ok());
  EXPECT_FALSE(completed(cas, R"({"id":7,"type":"ok","value":null})").ok());
}

TEST(ExecProtocol, LiesAreNamed) {
  const std::string deep =
      "{\"id\":7,\"type\":\"ok\",\"value\":" + std::string(200, '[') + std::string(200, ']') + "}";
  const struct {
    std::string line;
    const char* message;
  } rows[] = {
      {"hello", "wrote a line that is not JSON: \"hello\""},
      {"", "wrote a line that is not JSON"},
      {"{\"id\":7,\"type\":\"ok\",\"value\":1} x", "wrote a line that is not JSON"},
      {"\xff\xfe", "wrote a line that is not JSON"},
      {"[1]", "wrote a line that is no JSON object"},
      {R"({"type":"ok"})", "without a number as \"id\""},
      {R"({"id":"7","type":"ok"})", "without a number as \"id\""},
      {R"({"id":7,"type":"maybe"})", "\"type\" is no ok, fail or info"},
      {R"({"id":7,"type":1})", "\"type\" is no ok, fail or info"},
      {R"({"id":7})", "neither a type nor an error code"},
      {R"({"id":7,"error":{"class":"timeout"}})", "neither a type nor an error code"},
      {R"({"id":7,"type":"ok"})", "an ok read without a value"},
      {R"({"id":7,"type":"ok","value":1,"error":{}})", "ok and has an error"},
      {R"({"id":7,"type":"ok","value":18446744073709551615})", "\"value\" is no value of"},
      {R"({"id":7,"type":"ok","value":1,"revision":1.5})", "\"revision\" is no whole number"},
      {R"({"id":7,"type":"fail","error":"text"})", "\"error\" is no object"},
      {R"({"id":7,"type":"fail","error":{"class":3}})", "\"class\" is no string"},
      {deep, "\"value\" is no value of"},
  };
  for (const auto& row : rows) {
    const auto done = completed(invocation(f::read), row.line);
    ASSERT_FALSE(done.ok()) << row.line;
    EXPECT_THAT(done.error().message, HasSubstr(row.message));
    EXPECT_LT(done.error().message.size(), 250u);
    EXPECT_EQ(done.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::exec
