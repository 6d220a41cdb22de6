#include "checkers/history/test_history.h"

#include <gtest/gtest.h>

#include "checkers/history/history_io.h"

namespace assay {
namespace {

TEST(TestHistory, ReadsLikeAHistory) {
  const History history = history_of(R"(
      0 invoke write k 1
      1 invoke read k              # a comment
      0 ok write k 1 @n1 revision=7

      1 info read k error=timeout text="after 5 s"
      2 invoke cas k [1, 2] expected=7 session=a
      nemesis info start-kill {"shape":"one"} time=5s
      observer info status {"node":"n1"}
      nemesis info start-kill)");
  ASSERT_EQ(history.size(), 3u);
  EXPECT_FALSE(history.header().present);
  const Operation write = history[0];
  EXPECT_EQ(write.process(), Process{0});
  EXPECT_EQ(write.type(), OpType::kOk);
  EXPECT_EQ(write.f(), f::write);
  EXPECT_EQ(write.key(), Symbol("k"));
  EXPECT_EQ(write.argument(), Value(1));
  EXPECT_EQ(write.node(), Symbol("n1"));
  EXPECT_EQ(write.revision(), Token(7));
  EXPECT_EQ(write.invoke_time(), milliseconds(0));
  EXPECT_EQ(write.return_time(), milliseconds(2));
  EXPECT_EQ(history[1].error_class(), Symbol("timeout"));
  EXPECT_EQ(history[1].error_text(), "after 5 s");
  EXPECT_EQ(history[2].argument(), Value::pair(1, 2));
  EXPECT_EQ(history[2].expected(), Token(7));
  EXPECT_EQ(history[2].invoke_extra(), Value::object({{Symbol("session"), "a"}}));
  ASSERT_EQ(history.nemesis().size(), 1u);
  EXPECT_EQ(history.nemesis()[0].invocation.time, seconds(5));
  EXPECT_EQ(history.nemesis()[0].completion.time, seconds(5) + milliseconds(2));
  ASSERT_EQ(history.observations().size(), 1u);
  EXPECT_EQ(history.observations()[0].position, 6u);
}

TEST(TestHistory, KeysAreWordsAndValuesAreJson) {
  EXPECT_EQ(op_of("0 invoke write 1").value, Value(1));
  EXPECT_TRUE(op_of("0 invoke write 1").key.empty());
  EXPECT_EQ(op_of("0 invoke write true").value, Value(true));
  EXPECT_EQ(op_of(R"(0 invoke write "k")").value, Value("k"));
  EXPECT_EQ(op_of(R"(0 invoke write /a/b "x = 1 # not a comment")").key, Symbol("/a/b"));
  EXPECT_EQ(op_of(R"(0 invoke write /a/b "x = 1 # not a comment")").value,
            Value("x = 1 # not a comment"));
  EXPECT_EQ(op_of("0 fail cas k [1,2] error=conflict current=9").error->current, Token(9));
  EXPECT_EQ(op_of("0 invoke read k scheduled=3us").scheduled, microseconds(3));
}

TEST(TestHistory, TakesMembersOfTheHeader) {
  const History history = history_of("", R"({"model":"register","initial":0})");
  EXPECT_TRUE(history.header().present);
  EXPECT_EQ(history.header().model, "register");
  EXPECT_EQ(history.header().initial, Value(0));
}

TEST(TestHistoryDeathTest, AbortsOnABadScriptAndPrintsTheLine) {
  EXPECT_DEATH(history_of("0 invoke write k 1\n0 ok read k 1"), "0 ok read k 1");
  EXPECT_DEATH(history_of("0 invokes write k 1"), "0 invokes write k 1");
  EXPECT_DEATH(history_of("0 invoke write k {1}"), "column 2");
  EXPECT_DEATH(history_of("x invoke write k"), "x invoke write k");
  EXPECT_DEATH(history_of("0 invoke"), "PROCESS TYPE F");
  EXPECT_DEATH(history_of("", R"({"model":3})"), "a string as \"model\"");
}

}  // namespace
}  // namespace assay
