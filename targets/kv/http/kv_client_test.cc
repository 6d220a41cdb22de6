#include "targets/kv/http/kv_client.h"

#include <gtest/gtest.h>

#include <optional>

#include "checkers/history/history_io.h"
#include "targets/asio/testing_loop.h"
#include "targets/kv/http/error_table.h"
#include "targets/kv/http/http_server.h"
#include "targets/kv/http/testing_gateway.h"
#include "targets/kv/http/value_guards.h"
#include "targets/virtual_loop.h"

namespace assay {
namespace {

using Fate = HttpReply::Fate;

Op op_of(Symbol f, Value value, Token expected = {}) {
  Op op;
  op.f = f;
  op.key = Symbol("k1");
  op.value = std::move(value);
  op.expected = expected;
  return op;
}
Op read() { return op_of(f::read, {}); }
Op write(Value value, Token expected = {}) { return op_of(f::write, std::move(value), expected); }
Op cas(Value old_value, Value new_value, Token expected = {}) {
  return op_of(f::cas, Value::pair(std::move(old_value), std::move(new_value)), expected);
}
Op del(Token expected = {}) { return op_of(f::delete_, {}, expected); }

Op list(const char* prefix) {
  Op op = op_of(Symbol("list"), {});
  op.key = Symbol(prefix);
  return op;
}
Op txn(const char* writes, const char* guards = "null") {
  Op op = op_of(f::txn, *parse_value(writes));
  op.key = Symbol();
  op.extra = Value::object({{Symbol("guards"), *parse_value(guards)}});
  return op;
}

// --- What became of an operation -----------------------------------------------------------------

struct Outcome {
  OpType type;
  std::string cls;
};

Outcome outcome_of(const Op& op, HttpReply reply) {
  const Op done = kv_completion_of(op, std::move(reply));
  EXPECT_EQ(done.error.has_value(), done.type != OpType::kOk);
  return {done.type, done.error ? std::string(done.error->cls.text()) : ""};
}

void expect_outcome(const Op& op, const HttpReply& reply, OpType type, const std::string& cls) {
  SCOPED_TRACE(std::to_string(reply.status) + " " + reply.body + reply.error);
  const Outcome outcome = outcome_of(op, reply);
  EXPECT_EQ(to_string(outcome.type), to_string(type));
  EXPECT_EQ(outcome.cls, cls);
}

TEST(KvOutcome, OfTheTransport) {
  for (const Op& op : {read(), write(1), cas(1, 2), del(), list(""), txn("[]")}) {
    expect_outcome(op, {Fate::kNotSent, 0, "", "connection refused"}, OpType::kFail, "refused");
    expect_outcome(op, {Fate::kLost, 0, "", "connection reset"}, OpType::kInfo, "reset");
  }
}

TEST(KvOutcome, OfEveryCodeIsWhatTheTableSays) {
  const std::string_view messages[] = {
      "etcdserver: too many requests", "etcdserver: no leader",         "etcdserver: not leader",
      "etcdserver: leader changed",    "etcdserver: request timed out", "something else"};
  for (int code = -1; code <= 17; ++code) {
    for (const std::string_view message : messages) {
      const kv::ErrorMeaning& meaning = kv::meaning_of(code, message);
      const HttpResponse error = kv::render_error(code, message);
      // A status of 200 would be no error; the gateway never sends one with a code.
      const int status = error.status == 200 ? 500 : error.status;
      expect_outcome(write(1), {Fate::kAnswered, status, error.body, ""},
                     meaning.definite ? OpType::kFail : OpType::kInfo, std::string(meaning.cls));
    }
  }
}

TEST(KvOutcome, OfNamedErrors) {
  const std::pair<kv::Error, std::pair<OpType, const char*>> cases[] = {
      {kv::kNoLeader, {OpType::kFail, "unavailable"}},
      {kv::kTooManyRequests, {OpType::kFail, "unavailable"}},
      {kv::kNotLeader, {OpType::kFail, "not-leader"}},
      {kv::kLeaderChanged, {OpType::kInfo, "unknown"}},
      {kv::kTimeout, {OpType::kInfo, "timeout"}},
      {kv::kStopped, {OpType::kInfo, "unknown"}},
      {kv::kEmptyKey, {OpType::kFail, "invalid"}},
      {kv::kCompacted, {OpType::kFail, "out-of-range"}},
  };
  for (const auto& [error, expected] : cases) {
    const HttpResponse http = kv::render(error);
    expect_outcome(write(1), {Fate::kAnswered, http.status, http.body, ""}, expected.first,
                   expected.second);
  }
}

TEST(KvOutcome, OfAnswersThatAreNoAnswer) {
  const std::pair<int, const char*> unknown[] = {
      {500, ""}, {502, "Bad Gateway"}, {503, "{}"}, {503, R"({"code":3})"}, {504, "[1"}, {302, ""}};
  for (const auto& [status, body] : unknown) {
    expect_outcome(write(1), {Fate::kAnswered, status, body, ""}, OpType::kInfo, "unknown");
  }
  for (const int status : {400, 404, 405, 413, 431}) {
    expect_outcome(write(1), {Fate::kAnswered, status, "text", ""}, OpType::kFail, "invalid");
  }
  for (const char* body : {"", "{", "[]", "{}", R"({"header":{}})",
                           R"({"header":{"revision":"x"}})", R"({"header":{"revision":"0"}})"}) {
    for (const Op& op : {read(), write(1), cas(1, 2), del(), list(""), txn("[]")}) {
      expect_outcome(op, {Fate::kAnswered, 200, body, ""}, OpType::kInfo, "malformed");
    }
  }
  const std::string header = R"({"header":{"revision":"5"})";
  for (const char* rest : {R"(,"kvs":[{"key":"YQ=="}]})", R"(,"kvs":[1]})",
                           R"(,"kvs":[{"mod_revision":"5","value":"!"}]})"}) {
    for (const Op& op : {read(), list("")})
      expect_outcome(op, {Fate::kAnswered, 200, header + rest, ""}, OpType::kInfo, "malformed");
  }
  for (const char* rest : {"}", R"(,"responses":[]})", R"(,"responses":[{}]})"}) {
    for (const Op& op : {cas(1, 2), txn("[]", R"([["a",1]])"), txn("[]")})
      expect_outcome(op, {Fate::kAnswered, 200, header + rest, ""}, OpType::kInfo, "malformed");
  }
}

// --- Against the service itself ------------------------------------------------------------------

class KvOps : public testing::Test {
 protected:
  Op run(const Op& op, KvClientOptions options = {}) {
    const KvCall call = kv_call_of(op, options);
    HttpResponse http = store_.answer({"POST", call.target, call.body});
    return kv_completion_of(op, {Fate::kAnswered, http.status, std::move(http.body), ""}, options);
  }
  void expect_state(const Value& value, int64_t revision) {
    const Op done = run(read());
    EXPECT_EQ(done.type, OpType::kOk);
    EXPECT_EQ(done.value, value) << done.value.to_json();
    EXPECT_EQ(done.revision, Token(revision));
  }

  kv::FrontedService store_;
};

TEST_F(KvOps, AbsentReadsAsNullAtRevisionZero) {
  expect_state(Value(), 0);
  EXPECT_EQ(run(read()).at, Token(1));
}

TEST_F(KvOps, EveryValueComesBack) {
  int64_t revision = 1;
  for (const char* text :
       {"0", "-7", "1.5", "\"text\"", "\"\"", "true", "[1,[2,null]]", R"({"a":1,"b":"\u0000"})"}) {
    const Value value = *parse_value(text);
    const Op done = run(write(value));
    EXPECT_EQ(done.type, OpType::kOk);
    EXPECT_EQ(done.value, value);
    EXPECT_EQ(done.revision, Token(++revision));
    EXPECT_EQ(done.at, Token(revision));
    expect_state(value, revision);
  }
}

TEST_F(KvOps, AnyKeyIsAKey) {
  for (const char* key : {"a", "\"quoted\"\\", "mit Umlaut \xc3\xa4", " "}) {
    Op op = write(1);
    op.key = Symbol(key);
    EXPECT_EQ(run(op).type, OpType::kOk) << key;
  }
}

TEST_F(KvOps, WritingNullDeletes) {
  run(write(1));
  const Op done = run(write(Value()));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.revision, Token(0));
  EXPECT_EQ(done.at, Token(3));
  expect_state(Value(), 0);
}

TEST_F(KvOps, DeleteMakesAbsent) {
  run(write(1));
  EXPECT_EQ(run(del()).revision, Token(0));
  expect_state(Value(), 0);
  EXPECT_EQ(run(del()).type, OpType::kOk);
}

TEST_F(KvOps, UnguardedCasComparesTheValue) {
  EXPECT_EQ(run(cas(Value(), 1)).type, OpType::kOk);
  expect_state(1, 2);
  const Op mismatch = run(cas(2, 3));
  EXPECT_EQ(mismatch.type, OpType::kFail);
  EXPECT_EQ(mismatch.error->cls.text(), "mismatch");
  EXPECT_EQ(mismatch.error->current, Token(2));
  EXPECT_EQ(mismatch.at, Token(2));
  expect_state(1, 2);
  const Op done = run(cas(1, 3));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.revision, Token(3));
  expect_state(3, 3);
  EXPECT_EQ(run(cas(Value(), 1)).error->cls.text(), "mismatch");
  EXPECT_EQ(run(cas(1.0, 1)).error->cls.text(), "mismatch");
  EXPECT_EQ(run(cas("3", 1)).error->cls.text(), "mismatch");
}

TEST_F(KvOps, GuardedCasComparesTheToken) {
  EXPECT_EQ(run(cas(Value(), 1, Token(0))).type, OpType::kOk);
  const Op exists = run(cas(Value(), 1, Token(0)));
  EXPECT_EQ(exists.type, OpType::kFail);
  EXPECT_EQ(exists.error->cls.text(), "conflict");
  EXPECT_EQ(exists.error->current, Token(2));
  // The value in the operation plays no part.
  const Op done = run(cas(99, 5, Token(2)));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.revision, Token(3));
  expect_state(5, 3);
}

TEST_F(KvOps, AGuardedWriteOrDeleteThatDoesNotMatchChangesNothing) {
  EXPECT_EQ(run(write(1, Token(0))).type, OpType::kOk);
  for (const Op& op : {write(7, Token(0)), write(Value(), Token(9)), del(Token(0))}) {
    const Op conflict = run(op);
    ASSERT_EQ(conflict.type, OpType::kFail);
    EXPECT_EQ(conflict.error->cls.text(), "conflict");
    EXPECT_EQ(conflict.error->current, Token(2));
    EXPECT_EQ(conflict.at, Token(2));
    expect_state(1, 2);
  }
  const Op written = run(write(5, Token(2)));
  EXPECT_EQ(written.type, OpType::kOk);
  EXPECT_EQ(written.revision, Token(3));
  expect_state(5, 3);
  const Op deleted = run(del(Token(3)));
  EXPECT_EQ(deleted.type, OpType::kOk);
  EXPECT_EQ(deleted.revision, Token(0));
  expect_state(Value(), 0);
}

TEST_F(KvOps, AConflictWithNothingHasTokenZero) {
  run(write(1));
  run(del());
  const Op conflict = run(cas(1, 2, Token(2)));
  EXPECT_EQ(conflict.error->cls.text(), "conflict");
  EXPECT_EQ(conflict.error->current, Token(0));
}

TEST_F(KvOps, CasToNullDeletes) {
  run(write(1));
  const Op done = run(cas(1, Value()));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.revision, Token(0));
  expect_state(Value(), 0);
}

TEST_F(KvOps, WhatIsNoJsonReadsAsText) {
  store_.answer({"POST", "/v3/kv/put", R"({"key":"azE=","value":"YmFyIQ=="})"});
  expect_state("bar!", 2);
}

TEST_F(KvOps, AListIsTheLiveKeysOfAPrefixAtOneRevision) {
  for (const char* key : {"s/b", "s/a", "s/c", "s", "t", "s0"}) {
    Op op = write(key);
    op.key = Symbol(key);
    run(op);
  }
  Op gone = del();
  gone.key = Symbol("s/b");
  run(gone);
  const Op done = run(list("s/"));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.value.to_json(), R"([["s/a","s/a",3],["s/c","s/c",4]])");
  EXPECT_EQ(done.at, Token(8));
  EXPECT_TRUE(done.revision.none());
  EXPECT_EQ(run(list("")).value.as_array().size(), 5u);
  EXPECT_EQ(run(list("u")).value, Value::array({}));
}

TEST_F(KvOps, AListUnderAPrefixSeesNothingElseAndNamesKeysAsTheyAreWritten) {
  const KvClientOptions ours{.key_prefix = "p\xff"};
  run(write("ours"), ours);
  run(write("theirs"));
  EXPECT_EQ(run(list(""), ours).value.to_json(), R"([["k1","ours",2]])");
  EXPECT_EQ(run(list("k"), ours).value.to_json(), R"([["k1","ours",2]])");
}

TEST_F(KvOps, AllWritesOfATxnHappenAtOneRevision) {
  run(write(0));
  const Op done = run(txn(R"([["w","a",1],["w","b","x"],["w","k1",null]])"));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.revision, Token(3));
  EXPECT_EQ(done.at, Token(3));
  EXPECT_EQ(run(list("")).value.to_json(), R"([["a",1,3],["b","x",3]])");
}

TEST_F(KvOps, ATxnWithoutWritesIsOkAtTheRevisionThatItSaw) {
  run(write(0));
  EXPECT_EQ(run(txn("[]", R"([["k1",2]])")).revision, Token(2));
}

TEST_F(KvOps, ATxnHappensWhereAllGuardsHold) {
  run(txn(R"([["w","a",1],["w","b",1]])"));
  EXPECT_EQ(run(txn(R"([["w","a",2]])", R"([["a",2],["b",2],["c",0]])")).revision, Token(3));
  EXPECT_EQ(run(list("a")).value.to_json(), R"([["a",2,3]])");
}

TEST_F(KvOps, ATxnOneOfWhoseGuardsDoesNotHoldChangesNothing) {
  run(txn(R"([["w","a",1],["w","b",1]])"));
  const Op done = run(txn(R"([["w","a",2],["w","c",2]])", R"([["a",2],["b",9],["c",1]])"));
  EXPECT_EQ(done.type, OpType::kFail);
  EXPECT_EQ(done.error->cls.text(), "conflict");
  EXPECT_EQ(done.error->current, Token(2));
  EXPECT_EQ(done.error->extra["key"], Value("b"));
  EXPECT_EQ(done.at, Token(2));
  EXPECT_EQ(run(list("")).value.to_json(), R"([["a",1,2],["b",1,2]])");
  const Op absent = run(txn(R"([["w","a",2]])", R"([["c",1]])"));
  EXPECT_EQ(absent.error->current, Token(0));
}

TEST_F(KvOps, ATxnThatWritesOneKeyTwiceNeverHappened) {
  const Op done = run(txn(R"([["w","a",1],["w","a",2]])"));
  EXPECT_EQ(done.type, OpType::kFail);
  EXPECT_EQ(done.error->cls.text(), "invalid");
}

// --- Other tokens than the store's revision ------------------------------------------------------

TEST_F(KvOps, ReadBackAChangeHasTheTokenThatAReadGives) {
  const KvClientOptions options{.tokens = KvTokens::kReadBack};
  for (const Op& op : {write(1), cas(1, 2), write(3, Token(3)), cas(3, 4)}) {
    const Op done = run(op, options);
    EXPECT_EQ(done.type, OpType::kOk);
    const Op seen = run(read(), options);
    EXPECT_FALSE(done.revision.none());
    EXPECT_EQ(done.revision, seen.revision);
    EXPECT_TRUE(done.at.none());
    EXPECT_TRUE(seen.at.none());
  }
  EXPECT_EQ(run(write(9, Token(3)), options).error->current, Token(5));
  EXPECT_EQ(run(del(), options).revision, Token(0));
}

Token key_version(const char* text) { return Token(Symbol(text)); }

class KvKeyVersions : public KvOps {
 protected:
  Op step(const Op& op) {
    EXPECT_FALSE(kv_refusal_of(op, options_));
    return run(op, options_);
  }
  const KvClientOptions options_{.tokens = KvTokens::kKeyVersion};
};

TEST_F(KvKeyVersions, AreTheRevisionOfTheCreationAndTheKeysOwnVersion) {
  EXPECT_EQ(step(read()).revision, Token(0)) << "absent";
  EXPECT_EQ(step(write(1, Token(0))).revision, key_version("2.1"));
  EXPECT_EQ(step(cas(1, 2)).revision, key_version("2.2"));
  EXPECT_EQ(step(write(3, key_version("2.2"))).revision, key_version("2.3"));
  const Op seen = step(read());
  EXPECT_EQ(seen.revision, key_version("2.3"));
  EXPECT_TRUE(seen.at.none()) << "the store's revision is no token here";
  EXPECT_EQ(step(list("")).value.to_json(), R"([["k1",3,"2.3"]])");
  EXPECT_EQ(step(del(key_version("2.3"))).revision, Token(0));
}

TEST_F(KvKeyVersions, AConflictNamesTheTokenThatAReadGives) {
  step(write(1));
  step(write(2));
  for (const Op& op : {write(7, key_version("2.1")), del(key_version("9.2")), write(7, Token(0))}) {
    const Op conflict = step(op);
    ASSERT_EQ(conflict.type, OpType::kFail);
    EXPECT_EQ(conflict.error->cls.text(), "conflict");
    EXPECT_EQ(conflict.error->current, key_version("2.2"));
    EXPECT_TRUE(conflict.at.none());
  }
  step(del());
  EXPECT_EQ(step(write(7, key_version("2.2"))).error->current, Token(0));
}

TEST_F(KvKeyVersions, AKeyMadeAnewWithTheSameVersionIsAnotherState) {
  const Token old = step(write(1)).revision;
  step(del());
  const Token made_anew = step(write(1)).revision;
  EXPECT_EQ(old, key_version("2.1"));
  EXPECT_EQ(made_anew, key_version("4.1"));
  EXPECT_EQ(step(write(2, old)).error->cls.text(), "conflict");
  EXPECT_EQ(step(del(old)).error->current, made_anew);
  EXPECT_EQ(step(txn(R"([["w","k1",2]])", R"([["k1","2.1"]])")).error->current, made_anew);
  EXPECT_EQ(step(write(2, made_anew)).revision, key_version("4.2"));
}

TEST_F(KvKeyVersions, ATxnSaysTheTokenOfEachKeyThatItWrote) {
  step(write(1));
  const Op done = step(txn(R"([["w","k1",2],["w","a",1],["w","b",null]])", R"([["k1","2.1"],["a",0]])"));
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_TRUE(done.revision.none()) << "there is none for all";
  EXPECT_EQ(done.extra["revisions"].to_json(), R"([["k1","2.2"],["a","3.1"],["b",0]])");
  EXPECT_EQ(step(list("")).value.to_json(), R"([["a",1,"3.1"],["k1",2,"2.2"]])");
  const Op refused = step(txn(R"([["w","a",2]])", R"([["a","3.1"],["k1","2.1"]])"));
  EXPECT_EQ(refused.error->current, key_version("2.2"));
  EXPECT_EQ(refused.error->extra["key"], Value("k1"));
}

TEST_F(KvKeyVersions, WhatIsNoSuchTokenIsNeverSent) {
  for (const Token guard : {Token(5), key_version("5"), key_version("5."), key_version(".5"),
                            key_version("05.1"), key_version("5.0"), key_version("5.1 "),
                            key_version("-5.1"), key_version("etag")}) {
    const auto refusal = kv_refusal_of(write(1, guard), options_);
    ASSERT_TRUE(refusal) << guard.to_value().to_json();
    EXPECT_EQ(refusal->error->cls.text(), "invalid");
  }
  EXPECT_TRUE(kv_refusal_of(txn("[]", R"([["a",7]])"), options_));
  EXPECT_FALSE(kv_refusal_of(txn("[]", R"([["a","7.1"],["b",0]])"), options_));
  EXPECT_TRUE(kv_refusal_of(write(1, key_version("5.1")))) << "nor this where tokens are revisions";
}

class KvValues : public KvOps {
 protected:
  Op step(Op op, int64_t intent = 0) {
    if (intent > 0) {
      Value::Object members{{Symbol("intent"), intent}};
      if (op.extra.is_object())
        members.insert(members.end(), op.extra.as_object().begin(), op.extra.as_object().end());
      op.extra = Value::object(std::move(members));
    }
    EXPECT_FALSE(kv_refusal_of(op, options_));
    return values_.completed(op, run(values_.translated(op), options_));
  }

  const KvClientOptions options_{.tokens = KvTokens::kNone};
  ValueGuards values_;
};

TEST_F(KvValues, NothingCarriesAVersion) {
  for (const Op& op : {write(1), read(), list(""), cas(1, 2), txn(R"([["w","a",1]])"), cas(7, 8)}) {
    const Op done = step(op);
    EXPECT_TRUE(done.revision.none()) << done.f.text();
    EXPECT_TRUE(done.at.none() || op.f == f::list) << "where a list was made is evidence";
    EXPECT_FALSE(done.error && !done.error->current.none());
    EXPECT_EQ(done.f, op.f);
  }
  EXPECT_EQ(step(list("")).value.to_json(), R"([["a",1,null],["k1",2,null]])");
}

TEST_F(KvValues, AWriteWithAnIntentIsRefusedWhereTheValueReadIsThereNoMore) {
  run(write(1));
  step(read(), 1);
  run(write(2));
  const Op refused = step(write(3), 1);
  EXPECT_EQ(refused.type, OpType::kFail);
  EXPECT_EQ(refused.error->cls.text(), "conflict");
  EXPECT_EQ(refused.f, f::write);
  EXPECT_EQ(refused.value, Value(3));
  step(read(), 1);
  EXPECT_EQ(step(write(3), 1).type, OpType::kOk);
  EXPECT_EQ(step(del(), 2).type, OpType::kOk) << "it knows what it wrote itself";
  EXPECT_EQ(step(write(4, Token(0)), 3).type, OpType::kOk) << "absent needs no version";
}

TEST_F(KvValues, AValueThatCameBackPasses) {
  run(write("a"));
  step(read(), 1);
  run(write("b"));
  run(write("a"));
  EXPECT_EQ(step(write("mine"), 1).type, OpType::kOk);
}

TEST_F(KvValues, WithoutAnIntentOrAReadAWriteIsNotGuarded) {
  run(write(1));
  EXPECT_EQ(step(write(2), 1).type, OpType::kOk) << "it has read nothing";
  run(write(7));
  EXPECT_EQ(step(write(3)).type, OpType::kOk);
}

TEST_F(KvValues, AListIsReadingToo) {
  run(write(1));
  step(list(""));
  run(write(2));
  EXPECT_EQ(step(write(3), 1).error->cls.text(), "conflict");
  run(del());
  step(list(""));
  run(write(4));
  EXPECT_EQ(step(write(5), 1).error->cls.text(), "conflict") << "it was absent";
}

TEST_F(KvValues, GuardsOfATxnWithoutATokenCompareValues) {
  run(txn(R"([["w","a",1],["w","b",1]])"));
  step(list(""));
  EXPECT_EQ(step(txn(R"([["w","a",2]])", R"([["a",null],["b",null],["c",0]])")).type, OpType::kOk);
  run(txn(R"([["w","b",5]])"));
  const Op refused = step(txn(R"([["w","a",3]])", R"([["a",null],["b",null]])"));
  EXPECT_EQ(refused.error->cls.text(), "conflict");
  EXPECT_EQ(refused.error->extra["key"], Value("b"));
}

TEST(KvCall, ATxnThatIsNoneIsNeverSent) {
  const std::pair<const char*, const char*> cases[] = {
      {"null", "null"},           {"7", "null"},
      {R"([["w","a"]])", "null"}, {R"([["r","a",null]])", "null"},
      {R"([["w",7,1]])", "null"}, {"[]", R"([["a"]])"},
      {"[]", R"([["a","t1"]])"},  {"[]", "7"},
  };
  for (const auto& [writes, guards] : cases) {
    const auto refusal = kv_refusal_of(txn(writes, guards));
    ASSERT_TRUE(refusal) << writes << " " << guards;
    EXPECT_EQ(refusal->type, OpType::kFail);
    EXPECT_EQ(refusal->error->cls.text(), "invalid");
  }
  EXPECT_FALSE(kv_refusal_of(txn(R"([["w","a",null]])", R"([["a",0]])")));
}

TEST(KvCall, SerializableReadsAreAskedForOnlyOnDemand) {
  EXPECT_EQ(kv_call_of(read(), {}).body, R"({"key":"azE="})");
  EXPECT_EQ(kv_call_of(read(), {.serializable_reads = true}).body,
            R"({"key":"azE=","serializable":true})");
  EXPECT_EQ(kv_call_of(list("k1"), {}).body, R"({"key":"azE=","range_end":"azI="})");
  EXPECT_EQ(kv_call_of(list("k1"), {.serializable_reads = true}).body,
            R"({"key":"azE=","range_end":"azI=","serializable":true})");
}

TEST(KvCall, EveryKeyOfACallLiesUnderThePrefix) {
  const KvClientOptions options{.key_prefix = "p/"};
  for (const Op& op : {read(), write(1), write(1, Token(5)), cas(1, 2), cas(1, 2, Token(5)), del(),
                       del(Token(5)), list("k1"), txn(R"([["w","k1",1]])", R"([["k1",5]])")}) {
    const std::string body = kv_call_of(op, options).body;
    EXPECT_NE(body.find(R"("key":"cC9rMQ==")"), std::string::npos) << body;  // p/k1
    EXPECT_EQ(body.find(R"("key":"azE=")"), std::string::npos) << body;
  }
}

// --- On a loop -----------------------------------------------------------------------------------

class KvClientTest : public testing::Test {
 protected:
  void serve(HttpServer::Handler handler) {
    server_.emplace(loop_.context(), std::move(handler));
    node_.address = "127.0.0.1";
    node_.client_port = *server_->listen("127.0.0.1", 0);
  }
  Result<Value> status() {
    std::optional<Result<Value>> answer;
    fetch_kv_status(loop_, node_, [&](Result<Value> value) { answer = std::move(value); });
    EXPECT_FALSE(answer);
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return *answer;
  }

  TestingLoop loop_;
  std::optional<HttpServer> server_;
  NodeInfo node_;
};

TEST_F(KvClientTest, InvokesOverHttp) {
  kv::FrontedService store;
  serve([&](const HttpRequest& request, Responder respond) { respond(store.answer(request)); });
  std::unique_ptr<Client> client;
  open_kv_client(loop_, node_, {}, [&](Result<std::unique_ptr<Client>> opened) {
    ASSERT_TRUE(opened.ok());
    client = std::move(*opened);
  });
  ASSERT_TRUE(loop_.run_until([&] { return client != nullptr; }));
  std::optional<Op> done;
  client->invoke(write(7), [&](Op op) { done = std::move(op); });
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(done->type, OpType::kOk);
  EXPECT_EQ(done->revision, Token(2));
  done.reset();
  server_.reset();
  loop_.run_for(std::chrono::milliseconds(20));
  client->invoke(write(8), [&](Op op) { done = std::move(op); });
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(done->type, OpType::kFail);
  EXPECT_EQ(done->error->cls.text(), "refused");
}

TEST_F(KvClientTest, AGuardThatIsNoNumberIsNeverSent) {
  kv::FrontedService store;
  int requests = 0;
  serve([&](const HttpRequest& request, Responder respond) {
    ++requests;
    respond(store.answer(request));
  });
  const auto client = make_kv_client(loop_, node_, {});
  const Token abc{Symbol("abc")};
  // The value alone would match: nothing is there.
  for (const Op& op : {cas(Value(), 1, abc), write(1, abc), del(abc)}) {
    std::optional<Op> done;
    client->invoke(op, [&](Op completion) { done = std::move(completion); });
    EXPECT_FALSE(done) << "from within invoke";
    ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
    EXPECT_EQ(done->type, OpType::kFail);
    ASSERT_TRUE(done->error);
    EXPECT_EQ(done->error->cls.text(), "invalid");
  }
  EXPECT_EQ(requests, 0);
}

// A server that loses the first answer.
TEST_F(KvClientTest, AClientThatResendsReportsTheSecondAnswer) {
  kv::FrontedService store;
  int requests = 0;
  std::vector<Responder> held;
  const bool silent[] = {false, true};
  for (const bool is_silent : silent) {
    SCOPED_TRACE(is_silent);
    requests = 0;
    serve([&](const HttpRequest& request, Responder respond) {
      HttpResponse answer = store.answer(request);
      if (++requests > 1) return respond(std::move(answer));
      if (is_silent) held.push_back(std::move(respond));
    });
    const auto client = make_kv_client(loop_, node_, {.resends = true});
    std::optional<Op> done;
    client->invoke(write(is_silent ? 2 : 1, Token(is_silent ? 2 : 0)),
                   [&](Op completion) { done = std::move(completion); });
    ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
    // Its own write stands in its way.
    EXPECT_EQ(done->type, OpType::kFail);
    EXPECT_EQ(done->error->cls.text(), "conflict");
    EXPECT_EQ(requests, 2);
    held.clear();
  }
}

TEST_F(KvClientTest, AClientThatResendsDoesNotWhereItWasAnswered) {
  kv::FrontedService store;
  int requests = 0;
  serve([&](const HttpRequest& request, Responder respond) {
    ++requests;
    respond(store.answer(request));
  });
  const auto client = make_kv_client(loop_, node_, {.resends = true});
  for (int i = 0; i < 2; ++i) {
    std::optional<Op> done;
    client->invoke(write(i), [&](Op completion) { done = std::move(completion); });
    ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  }
  loop_.run_for(std::chrono::milliseconds(500));
  EXPECT_EQ(requests, 2);
}

TEST_F(KvClientTest, VirtualTimeHasNoSockets) {
  VirtualLoop loop;
  std::string error;
  open_kv_client(loop, node_, {}, [&](Result<std::unique_ptr<Client>> opened) {
    if (!opened) error = opened.error().message;
  });
  fetch_kv_status(loop, node_, [&](Result<Value> value) { EXPECT_FALSE(value.ok()); });
  loop.run();
  EXPECT_EQ(error, "this target needs a loop with sockets: it cannot run in virtual time");
}

TEST_F(KvClientTest, StatusIsAValue) {
  serve([](const HttpRequest& request, Responder respond) {
    EXPECT_EQ(request.target, "/assay/status");
    respond(kv::render(kv::NodeStatus{.role = "leader", .term = 2, .leader = "n1"}));
  });
  const auto answer = status();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ((*answer)["role"], Value("leader"));
  EXPECT_EQ((*answer)["term"], Value(2));
}

TEST_F(KvClientTest, StatusSaysInAWordWhyThereIsNone) {
  std::vector<Responder> held;
  serve([&](const HttpRequest&, Responder respond) { held.push_back(std::move(respond)); });
  EXPECT_EQ(status().error().message, "timeout");
  serve([](const HttpRequest&, Responder) {});
  EXPECT_EQ(status().error().message, "reset");
  server_.reset();
  EXPECT_EQ(status().error().message, "refused");
}

TEST_F(KvClientTest, ChainAsksForTheLastHashes) {
  serve([](const HttpRequest& request, Responder respond) {
    EXPECT_EQ(request.target, "/assay/chain?last=3");
    respond(kv::render(kv::ChainAnswer{5, {1, 2, 3}}));
  });
  std::optional<Value> chain;
  fetch_kv_chain(loop_, node_, 3, [&](Result<Value> value) { chain = *value; });
  ASSERT_TRUE(loop_.run_until([&] { return chain.has_value(); }));
  EXPECT_EQ((*chain)["from"], Value(5));
  EXPECT_EQ((*chain)["hashes"].as_array().size(), 3u);
}

}  // namespace
}  // namespace assay
