#include "checkers/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkers/history/history_io.h"
#include "checkers/history/rng.h"
#include "checkers/history/test_history.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The error of the first line that the builder refuses; empty when it takes all.
std::string refusal(std::string_view script, bool with_header = true) {
  HistoryBuilder builder;
  HistoryHeader header;
  header.present = with_header;
  builder.set_header(header);
  for (const Op& op : ops_of(script)) {
    const Result<void> added = builder.add(op);
    if (!added) {
      EXPECT_EQ(added.error().fault, Fault::kInput);
      return added.error().message;
    }
  }
  return "";
}

// --- Pairing -----------------------------------------------------------------------------------

TEST(History, PairsEachInvocationWithItsCompletion) {
  const History history = history_of(R"(
      0 invoke write k 1
      1 invoke read k
      1 ok read k 0
      0 fail write k 1
      1 invoke read k
      1 info read k)");
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history.events(), 6u);
  const OpType types[] = {OpType::kFail, OpType::kOk, OpType::kInfo};
  const Position invoked[] = {0, 1, 4};
  const Position returned[] = {3, 2, 5};
  for (size_t id = 0; id < 3; ++id) {
    EXPECT_EQ(history[id].id(), id);
    EXPECT_EQ(history[id].type(), types[id]);
    EXPECT_EQ(history[id].invoke_position(), invoked[id]);
    EXPECT_EQ(history[id].return_position(), returned[id]);
    EXPECT_EQ(history[id].invoke_time(), milliseconds(invoked[id]));
    EXPECT_EQ(history[id].return_time(), milliseconds(returned[id]));
  }
  EXPECT_EQ(history.end_time(), milliseconds(5));
  EXPECT_THAT(history.warnings(), IsEmpty());
}

TEST(History, AnOperationWithoutCompletionIsInfoAndOpenForEver) {
  const History history = history_of("0 invoke write k 1 @n1 revision=3\n1 invoke read k");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].type(), OpType::kInfo);
  EXPECT_EQ(history[0].return_position(), kOpen);
  EXPECT_EQ(history[0].return_time(), kNever);
  EXPECT_EQ(history[0].return_index(), -1);
  EXPECT_TRUE(history[0].result().is_null());
  EXPECT_EQ(history[0].node(), Symbol("n1"));
}

TEST(History, EmptyHistory) {
  const History history;
  EXPECT_EQ(history.size(), 0u);
  EXPECT_EQ(history.events(), 0u);
  EXPECT_EQ(history.end_time(), Nanos{0});
  EXPECT_EQ(history.bytes_per_operation(), 0u);
  int lines = 0;
  history.for_each_line([&lines](const Op&) { ++lines; });
  EXPECT_EQ(lines, 0);
}

TEST(History, NemesisLanesOverlapAndPairByF) {
  const History history = history_of(R"(
      nemesis info start-kill
      nemesis info start-pause
      nemesis info start-kill {"victims":["n1"]}
      nemesis info stop-kill
      nemesis info start-pause {"victims":["n2"]}
      nemesis info start-kill)");
  ASSERT_EQ(history.nemesis().size(), 4u);
  EXPECT_EQ(history.size(), 0u) << "not client operations";
  const auto& kill = history.nemesis()[0];
  EXPECT_EQ(kill.invoke_position, 0u);
  EXPECT_EQ(kill.return_position, 2u);
  EXPECT_EQ(kill.completion.value["victims"], Value::array({"n1"}));
  EXPECT_EQ(history.nemesis()[1].return_position, 4u);
  for (size_t open : {2, 3}) {
    EXPECT_EQ(history.nemesis()[open].return_position, kOpen);
    EXPECT_EQ(history.nemesis()[open].completion.type, OpType::kInvoke);
  }
}

TEST(History, ObserverLinesStandAlone) {
  const History history = history_of(R"(
      observer info status {"node":"n1"}
      0 invoke read k
      observer info status {"node":"n1"})");
  ASSERT_EQ(history.observations().size(), 2u);
  EXPECT_EQ(history.observations()[1].position, 2u);
  EXPECT_EQ(history.observations()[1].op.value["node"], Value("n1"));
}

TEST(History, RefusesWhatCannotBePaired) {
  EXPECT_EQ(refusal("0 invoke read k\n0 invoke read k"),
            "expected the completion of what process 0 invoked at index 0, found another "
            "invocation by it");
  EXPECT_EQ(
      refusal("3 ok read k 1"),
      "expected an invocation of process 3 before its completion, found ok of \"read\" alone");
  EXPECT_EQ(
      refusal("0 invoke read k\n0 ok read k\n0 ok read k"),
      "expected an invocation of process 0 before its completion, found ok of \"read\" alone");
  EXPECT_EQ(refusal("0 invoke read k\n0 ok write k"),
            "expected a completion of \"read\" by process 0, found ok of \"write\"");
  EXPECT_EQ(refusal("0 invoke read k\n0 info read j"),
            "expected a completion with key \"k\" by process 0, found key \"j\"");
  EXPECT_EQ(refusal("0 invoke write k 1\n0 ok write k 2"),
            "expected the value that process 0 invoked \"write\" with, found 2");
  EXPECT_EQ(refusal("0 invoke cas k [1,2]\n0 ok cas k [1,3]"),
            "expected the value that process 0 invoked \"cas\" with, found [1,3]");
  for (const std::string f : {"put", "append", "add", "remove"}) {
    EXPECT_EQ(refusal("0 invoke " + f + " k 1\n0 ok " + f + " k 2"),
              "expected the value that process 0 invoked \"" + f + "\" with, found 2");
  }
  EXPECT_EQ(refusal("0 invoke write k 1\n0 ok write k 1.0"), "");
  EXPECT_EQ(refusal("0 invoke cas k [1,[2]]\n0 ok cas k [1,[2]]"), "");
  EXPECT_EQ(refusal("0 invoke write k 1\n0 ok write k"), "") << "it need not be said again";
  EXPECT_THAT(refusal("nemesis ok kill"), HasSubstr("\"kill\""));
  EXPECT_THAT(refusal("nemesis info kill\nnemesis invoke kill"), HasSubstr("another invocation"));
  EXPECT_EQ(refusal("0 invoke read k\n0 ok read"), "") << "the key of a completion may be missing";
  for (bool with_header : {false, true})
    EXPECT_NE(refusal("0 ok read k", with_header), "") << "also in a foreign history";
}

TEST(History, RefusesAnIndexThatDoesNotIncrease) {
  for (bool with_header : {false, true}) {
    EXPECT_EQ(refusal("0 invoke read k index=5\n0 ok read k index=5", with_header),
              "expected an index above 5, found 5");
    EXPECT_NE(refusal("0 invoke read k index=5\n0 ok read k index=4", with_header), "");
  }
}

TEST(History, ATimeThatGoesBackIsRefusedUnderOurHeaderAndWarnedOfWithout) {
  const char* script = R"(
      0 invoke read k time=5ms
      1 invoke read k time=4ms
      0 ok read k time=4ms
      1 ok read k time=3ms)";
  EXPECT_EQ(refusal(script), "expected a time that does not go back, found 4000000 after 5000000");
  EXPECT_EQ(refusal("0 invoke read k time=5ms\n0 ok read k time=5ms"), "");
  const History history = history_of(script);
  EXPECT_THAT(history.warnings(),
              ElementsAre("time goes back on 2 lines, first at event 1 (4000000 after 5000000)"));
  EXPECT_EQ(history[0].return_time(), milliseconds(4)) << "before its invocation, but kept";
}

// --- Storage: every field comes back -----------------------------------------------------------

TEST(History, KeepsEveryKindOfValue) {
  const std::vector<Value> values = {Value(),
                                     true,
                                     false,
                                     0,
                                     -1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     0.0,
                                     -1.5,
                                     1e300,
                                     "",
                                     "text",
                                     Value::array({}),
                                     Value::pair(1, 2),
                                     Value::pair(1, 3),
                                     Value::pair(3, 2),
                                     Value::pair("a", nullptr),
                                     Value::pair(1.5, true),
                                     Value::array({1}),
                                     Value::array({1, 2, 3}),
                                     Value::pair(Value::array({1}), 2),
                                     Value::object({}),
                                     Value::object({{Symbol("a"), Value::pair(1, 2)}})};
  for (const char* f : {"write", "cas"}) {
    for (const Value& argument : values) {
      for (const Value& result : values) {
        HistoryBuilder builder;
        Op op;
        op.f = Symbol(f);
        op.value = argument;
        ASSERT_TRUE(builder.add(op).ok());
        Op end = complete(op, OpType::kFail);  // an ok one repeats its argument
        end.value = result;
        ASSERT_TRUE(builder.add(end).ok());
        const History history = builder.build();
        EXPECT_EQ(history[0].argument(), argument);
        EXPECT_EQ(history[0].result(), result) << argument.to_json() << ' ' << result.to_json();
      }
    }
  }
}

TEST(History, ScalarsAreEqualExactlyWhereValuesAre) {
  const std::vector<Value> values = {Value(),
                                     true,
                                     1,
                                     1.0,
                                     "1",
                                     "true",
                                     0,
                                     0.0,
                                     -0.0,
                                     false,
                                     "",
                                     INT64_MIN,
                                     Value::array({}),
                                     Value::array({1}),
                                     Value::array({1.0}),
                                     Value::pair(1, 2),
                                     Value::pair(1, 2),
                                     Value::pair(Value::pair(1, 2), 3),
                                     Value::object({{Symbol("a"), 1}, {Symbol("b"), 2}}),
                                     Value::object({{Symbol("b"), 2}, {Symbol("a"), 1}})};
  HistoryBuilder builder;
  Op op;
  op.f = f::write;
  for (const Value& value : values) {
    op.type = OpType::kInvoke;
    op.value = value;
    ASSERT_TRUE(builder.add(op).ok());
    op.type = OpType::kOk;
    ASSERT_TRUE(builder.add(op).ok());
  }
  const History history = builder.build();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) {
      EXPECT_EQ(history[i].argument_scalar() == history[j].result_scalar(), values[i] == values[j])
          << values[i].to_json() << ' ' << values[j].to_json();
    }
  }
  EXPECT_EQ(history[0].argument_scalar().kind, 0) << "null";
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(history.scalar_of(values[i]), history[i].argument_scalar()) << values[i].to_json();
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NE(history.scalar_of(Value::array({7, 8, 9})), history[i].argument_scalar());
}

TEST(History, PairsOfACasAreTakenApart) {
  const History history = history_of(R"(
      0 invoke cas k [1,"a"]
      0 ok cas k [1,"a"]
      0 invoke cas k [[1,2],{"a":1}]
      0 info cas k [1,2]
      1 invoke write k {"a":1}
      1 info write k [1,2]
      0 invoke other k ["a",1]
      0 ok other k "a"
      0 invoke write k 1
      0 ok write k 1
      0 invoke cas k [1,2,3])");
  Scalar first;
  Scalar second;
  ASSERT_TRUE(history[0].argument_pair(first, second));
  EXPECT_EQ(first, history[4].argument_scalar());
  EXPECT_EQ(second, history[3].result_scalar());
  ASSERT_TRUE(history[1].argument_pair(first, second));
  EXPECT_EQ(first, history[2].result_scalar()) << "composite parts have their numbers";
  EXPECT_EQ(second, history[2].argument_scalar());
  ASSERT_TRUE(history[3].argument_pair(first, second)) << "also of another f";
  EXPECT_EQ(second, history[4].argument_scalar());
  EXPECT_FALSE(history[2].argument_pair(first, second));
  EXPECT_FALSE(history[4].argument_pair(first, second));
  EXPECT_FALSE(history[5].argument_pair(first, second));
}

TEST(HistoryDeathTest, TheScalarOfAnInlinePairAborts) {
  const History history = history_of("0 invoke cas k [1,2]\n0 ok cas k [1,2]");
  EXPECT_DEATH(history[0].argument_scalar(), "argument_pair");
  EXPECT_DEATH(history[0].result_scalar(), "argument_pair");
}

TEST(History, FieldsOfBothLinesComeFromWhereTheyBelong) {
  const History history = history_of(R"(
      0 invoke write 1 @n1 revision=1 at=2 expected=3
      0 ok write k 1 @n2 revision=4 at=v5 expected=6 error=odd text="…" current=7
      0 invoke write k 1 @n1 revision=1 at=2 expected=v3 scheduled=0
      0 ok write 1)");
  const Operation both = history[0];
  EXPECT_EQ(both.key(), Symbol("k"));
  EXPECT_EQ(both.node(), Symbol("n2"));
  EXPECT_EQ(both.revision(), Token(4));
  EXPECT_EQ(both.at(), Token(Symbol("v5")));
  EXPECT_EQ(both.expected(), Token(3));
  EXPECT_EQ(both.error_class(), Symbol("odd"));
  EXPECT_EQ(both.error_text(), "…");
  EXPECT_EQ(both.error_current(), Token(7));
  EXPECT_EQ(both.scheduled(), Nanos{-1});
  const Operation first_only = history[1];
  EXPECT_EQ(first_only.node(), Symbol("n1"));
  EXPECT_EQ(first_only.revision(), Token(1));
  EXPECT_EQ(first_only.at(), Token(2));
  EXPECT_EQ(first_only.expected(), Token(Symbol("v3")));
  EXPECT_TRUE(first_only.error_class().empty());
  EXPECT_TRUE(first_only.error_current().none());
  EXPECT_EQ(first_only.scheduled(), Nanos{0});
}

TEST(History, NumbersThatDoNotFitARecordAreKept) {
  const int64_t large = INT64_MAX - 1;
  HistoryBuilder builder;
  Op op;
  op.process = {large};
  op.f = f::read;
  op.time = {5};
  op.scheduled = {large};
  op.index = large - 1;
  ASSERT_TRUE(builder.add(op).ok());
  Op end = complete(op, OpType::kOk);
  end.time = {large};
  end.index = large;
  ASSERT_TRUE(builder.add(end).ok());
  op.process = {UINT32_MAX};
  op.index = large + 1;
  op.time = {-1};
  op.scheduled = {-1};
  ASSERT_TRUE(builder.add(op).ok());
  const History history = builder.build();
  EXPECT_EQ(history[0].process(), Process{large});
  EXPECT_EQ(history[0].return_time(), Nanos{large});
  EXPECT_EQ(history[0].scheduled(), Nanos{large});
  EXPECT_EQ(history[0].invoke_index(), large - 1);
  EXPECT_EQ(history[0].return_index(), large);
  EXPECT_EQ(history[1].process(), Process{UINT32_MAX});
  EXPECT_EQ(history[1].invoke_index(), large + 1);
  EXPECT_EQ(history[1].invoke_time(), Nanos{-1});
}

TEST(History, IndexesAreOnEveryLineOrOnNone) {
  for (bool first_has_index : {false, true}) {
    HistoryBuilder builder;
    Op op = op_of("0 invoke read k");
    op.index = first_has_index ? 5 : -1;
    ASSERT_TRUE(builder.add(op).ok());
    op = complete(op, OpType::kOk);
    op.index = first_has_index ? -1 : 5;
    EXPECT_EQ(builder.add(op).error().message,
              first_has_index ? "expected an index as on the lines before, found none"
                              : "expected no index as on the lines before, found 5");
    op.index = first_has_index ? 6 : -1;
    ASSERT_TRUE(builder.add(op).ok());
    EXPECT_EQ(builder.build()[0].return_index(), first_has_index ? 6 : 1) << "its position";
  }
}

TEST(History, TimesMayBeMissing) {
  HistoryBuilder builder;
  Op op;
  op.f = f::read;
  ASSERT_TRUE(builder.add(op).ok());
  ASSERT_TRUE(builder.add(complete(op, OpType::kOk)).ok());
  const History history = builder.build();
  EXPECT_EQ(history[0].invoke_time(), Nanos{-1});
  EXPECT_EQ(history[0].return_time(), Nanos{-1});
  EXPECT_EQ(history.end_time(), Nanos{0});
}

TEST(History, OperationsMayTakeLong) {
  for (const int64_t delay : {int64_t{UINT32_MAX} - 1, int64_t{UINT32_MAX}, int64_t{UINT32_MAX} + 1,
                              seconds(3'600).count}) {
    HistoryBuilder builder;
    Op op = op_of("0 invoke read k time=1s");
    ASSERT_TRUE(builder.add(op).ok());
    Op end = complete(op, OpType::kOk);
    end.index = 1;
    end.time = op.time + Nanos{delay};
    ASSERT_TRUE(builder.add(end).ok());
    Op late = op_of("0 invoke read k index=2");
    late.time = end.time;
    late.scheduled = late.time - Nanos{delay};
    ASSERT_TRUE(builder.add(late).ok());
    const History history = builder.build();
    EXPECT_EQ(history[0].return_time(), end.time);
    EXPECT_EQ(history[1].scheduled(), late.scheduled);
  }
}

TEST(History, IndexesMayJump) {
  const History history = history_of(R"(
      0 invoke read k index=10
      1 invoke read k
      1 ok read k
      0 ok read k index=100
      0 invoke read k
      0 ok read k index=200)");
  EXPECT_EQ(history[0].invoke_index(), 10);
  EXPECT_EQ(history[0].return_index(), 100);
  EXPECT_EQ(history[1].invoke_index(), 11);
  EXPECT_EQ(history[1].return_index(), 12);
  EXPECT_EQ(history[2].invoke_index(), 101);
  EXPECT_EQ(history[2].return_index(), 200);
}

TEST(History, ManyDistinctWordsAreKept) {
  HistoryBuilder builder;
  Op op;
  constexpr int kWords = 70'000;  // more than the short numbers of a record
  for (int i = 0; i < kWords; ++i) {
    op.f = Symbol("f" + std::to_string(i));
    ASSERT_TRUE(builder.add(op).ok());
    ASSERT_TRUE(builder
                    .add(complete(op, OpType::kFail,
                                  {Symbol("class"), "text " + std::to_string(i), Token()}))
                    .ok());
  }
  const History history = builder.build();
  for (int i : {0, 1, 65'533, 65'534, 65'535, 65'536, kWords - 1}) {
    EXPECT_EQ(history[i].f(), Symbol("f" + std::to_string(i)));
    EXPECT_EQ(history[i].error_text(), "text " + std::to_string(i));
    EXPECT_EQ(history[i].error_class(), Symbol("class"));
  }
}

TEST(History, FieldsOfOthersAreKept) {
  const History history = history_of(R"(
      0 invoke write k 1 session=a seq=7
      0 ok write k 1 session=b
      0 invoke write k 2)");
  EXPECT_EQ(history[0].invoke_extra().to_json(), R"({"session":"a","seq":7})");
  EXPECT_EQ(history[0].return_extra().to_json(), R"({"session":"b"})");
  EXPECT_TRUE(history[1].invoke_extra().is_null());
}

TEST(History, LinesComeBackInOrder) {
  const char* script = R"(
      0 invoke cas k [1,2] expected=7 scheduled=0 session=a index=3
      nemesis info start-kill {"shape":"one"} index=9
      1 invoke read j @n2
      observer info status {"node":"n1"}
      0 fail cas k [1,2] @n1 at=9 error=conflict text=stale current=8
      nemesis info start-kill {"victims":["n1"]}
      1 ok read j {"a":[1]} @n2 revision=v1
      7 invoke write j true @n3 error=odd)";
  const History history = history_of(script);
  std::string lines;
  history.for_each_line([&lines](const Op& op) { append_line(lines, op); });
  std::string wanted;
  for (Op op : ops_of(script)) {
    if (op.process == Process{1} && op.type == OpType::kInvoke) op.node = {};  // on its completion
    append_line(wanted, op);
  }
  EXPECT_EQ(lines, wanted);
}

// --- Memory ------------------------------------------------------------------------------------

// A history of the usual kinds of operation, with every token column in use.
History scalar_history(int operations) {
  HistoryBuilder builder;
  Rng rng(1);
  const Symbol keys[] = {Symbol("k1"), Symbol("k2"), Symbol("k3")};
  const Symbol nodes[] = {Symbol("n1"), Symbol("n2"), Symbol("n3")};
  int64_t time = 0;
  for (int i = 0; i < operations; ++i) {
    Op op;
    op.process = {static_cast<int64_t>(rng.below(20))};
    op.time = {time += 1'000};
    op.key = keys[rng.below(3)];
    op.node = nodes[rng.below(3)];
    op.f = rng.chance(1, 2) ? f::cas : f::read;
    if (op.f == f::cas) {
      op.value = Value::pair(int64_t{i}, "value " + std::to_string(i % 100));
      op.expected = Token(i);
    }
    EXPECT_TRUE(builder.add(op).ok());
    Op end = rng.chance(1, 10)
                 ? complete(op, OpType::kFail, {Symbol("conflict"), "stale", Token(i + 1)})
                 : complete(op, OpType::kOk);
    if (op.f == f::read) end.value = int64_t{i};
    end.time = {time += 1'000};
    end.revision = Token(i);
    end.at = Token(i);
    EXPECT_TRUE(builder.add(end).ok());
  }
  return builder.build();
}

TEST(History, TakesAtMost96BytesPerScalarOperation) {
  const History history = scalar_history(100'000);
  EXPECT_GT(history.bytes_per_operation(), 64u) << "the columns are counted";
  EXPECT_LE(history.bytes_per_operation(), 96u) << "with all four columns of tokens";
  HistoryBuilder plain;
  Op op;
  op.f = f::write;
  op.value = 1;
  for (int i = 0; i < 100'000; ++i) {
    op.type = OpType::kInvoke;
    ASSERT_TRUE(plain.add(op).ok());
    op.type = OpType::kOk;
    ASSERT_TRUE(plain.add(op).ok());
  }
  EXPECT_LE(plain.build().bytes_per_operation(), 66u);
}

TEST(History, EqualCompositesAreStoredOnce) {
  HistoryBuilder builder;
  Op op;
  op.f = f::write;
  for (int i = 0; i < 10'000; ++i) {
    op.type = OpType::kInvoke;
    op.value = Value::array({1, 2, 3, Value::array({i % 2})});
    op.extra = Value::object({{Symbol("phase"), "recovery"}});
    ASSERT_TRUE(builder.add(op).ok());
    op.type = OpType::kOk;
    ASSERT_TRUE(builder.add(op).ok());
  }
  EXPECT_LE(builder.build().bytes_per_operation(), 64u + sizeof(int64_t) * 12 + 40)
      << "a side entry per operation for the extra fields, and nothing for the values";
}

TEST(History, ABuilderCanBeUsedAgain) {
  HistoryBuilder builder;
  const Op op = op_of("0 invoke write k [1]");
  ASSERT_TRUE(builder.add(op).ok());
  EXPECT_EQ(builder.build().size(), 1u);
  ASSERT_TRUE(builder.add(op).ok()) << "nothing is open";
  EXPECT_EQ(builder.build()[0].argument(), Value::array({1}));
  EXPECT_EQ(builder.build().size(), 0u);
}

TEST(HistoryHeader, InitialIsOfAllKeysOrByKey) {
  HistoryHeader header;
  EXPECT_TRUE(header.initial_of(Symbol("k")).is_null());
  header.initial = 0;
  EXPECT_EQ(header.initial_of(Symbol("k")), Value(0));
  header.initial = Value::object({{Symbol("k"), 3}});
  EXPECT_EQ(header.initial_of(Symbol("k")), Value(3));
  EXPECT_TRUE(header.initial_of(Symbol("j")).is_null());
}

}  // namespace
}  // namespace assay
