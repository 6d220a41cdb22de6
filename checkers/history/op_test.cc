#include "checkers/history/op.h"

#include <gtest/gtest.h>

#include "checkers/history/test_history.h"

namespace assay {
namespace {

TEST(Op, TypesHaveTheWordsOfTheFormat) {
  EXPECT_EQ(to_string(OpType::kInvoke), "invoke");
  EXPECT_EQ(to_string(OpType::kOk), "ok");
  EXPECT_EQ(to_string(OpType::kFail), "fail");
  EXPECT_EQ(to_string(OpType::kInfo), "info");
}

TEST(Op, CompletionKeepsWhatWasAskedAndNothingOfTheLine) {
  const Op invocation =
      op_of("3 invoke cas k [1,2] @n1 expected=7 scheduled=1ms index=12 time=2ms session=a");
  const Op op = complete(invocation, OpType::kFail, {Symbol("conflict"), "was 9", Token(9)});
  EXPECT_EQ(op.process, Process{3});
  EXPECT_EQ(op.type, OpType::kFail);
  EXPECT_EQ(op.f, f::cas);
  EXPECT_EQ(op.key, Symbol("k"));
  EXPECT_EQ(op.value, Value::pair(1, 2));
  EXPECT_EQ(op.node, Symbol("n1"));
  EXPECT_EQ(op.error->current, Token(9));
  EXPECT_EQ(op.index, -1);
  EXPECT_EQ(op.time, Nanos{-1});
  EXPECT_TRUE(op.expected.none());
  EXPECT_EQ(op.scheduled, Nanos{-1});
  EXPECT_TRUE(op.extra.is_null());
  EXPECT_FALSE(complete(invocation, OpType::kOk).error.has_value());
}

TEST(Token, KindsAreNeverEqual) {
  const Token tokens[] = {Token(), Token(0), Token(7), Token(Symbol()), Token(Symbol("7"))};
  for (size_t i = 0; i < std::size(tokens); ++i)
    for (size_t j = 0; j < std::size(tokens); ++j) EXPECT_EQ(tokens[i] == tokens[j], i == j);
}

TEST(Token, IsAValue) {
  EXPECT_TRUE(Token().to_value().is_null());
  EXPECT_EQ(Token(7).to_value(), Value(7));
  EXPECT_EQ(Token(Symbol("v7")).to_value(), Value("v7"));
}

TEST(Process, NemesisAndObserverAreNoClients) {
  EXPECT_TRUE(Process{0}.is_client());
  EXPECT_FALSE(kNemesis.is_client());
  EXPECT_FALSE(kObserver.is_client());
}

}  // namespace
}  // namespace assay
