#include "checkers/linearizable/last_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/check_model.h"
#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay::linearizable {
namespace {

struct Case {
  const char* script;
  const char* header;
  const char* order;  // "start, operation>state …, the one that breaks"
};

std::string text_of(const LastOrder& order) {
  std::string text = order.start;
  for (const OrderStep& step : order.steps) {
    text += " " + std::to_string(step.operation) + ">" + step.state;
  }
  return text + " x" + (order.breaks ? std::to_string(*order.breaks) : "");
}

const Verdict* told(const Verdict& verdict) {
  if (verdict.witness) return &verdict;
  for (const Verdict& child : verdict.children) {
    if (const Verdict* found = told(child)) return found;
  }
  return nullptr;
}

constexpr Case kCases[] = {
    {"0 invoke write k 4\n0 ok write k 4\n0 invoke write k 5\n0 ok write k 5\n"
     "1 invoke read k\n1 ok read k 4\n1 invoke read k\n1 ok read k 5\n",
     "", "null 0>4 1>5 x2"},
    {"0 invoke write k 4\n0 info write k 4\n1 invoke cas k [4,5]\n1 ok cas k [4,5]\n"
     "2 invoke write k 9\n2 fail write k 9\n3 invoke read k\n3 ok read k 4\n",
     R"({"initial":3})", "3 0>4 1>5 x3"},
    // Not yet answered when it breaks: it may have happened.
    {"0 invoke write k 4\n1 invoke read k\n1 ok read k 4\n1 invoke read k\n1 ok read k null\n"
     "0 fail write k 4\n",
     "", "null x1"},
    {"0 invoke delete k\n0 ok delete k\n1 invoke read k\n1 ok read k 1\n", R"({"initial":1})",
     "1 0>null x1"},
    {"0 invoke acquire\n0 ok acquire\n1 invoke acquire\n1 ok acquire\n", "", "free 0>held x1"},
    {"0 invoke put k \"a\"\n0 ok put k \"a\"\n1 invoke append k \"b\"\n1 ok append k \"b\"\n"
     "2 invoke get k\n2 ok get k \"b\"\n",
     "", "null 0>\"a\" 1>\"ab\" x2"},
};

TEST(LastOrder, HoldsWhatCameBeforeWithTheStatesAndSaysWhereItBreaks) {
  for (const Case& c : kCases) {
    const History history = history_of(c.script, c.header);
    const Verdict verdict = linearizable_checker().check(history, Budget{});
    ASSERT_EQ(verdict.safety, Safety::kInvalid) << c.script;
    const Verdict* key = told(verdict);
    ASSERT_TRUE(key && key->witness->order) << c.script;
    EXPECT_EQ(text_of(*key->witness->order), c.order) << c.script;
    EXPECT_EQ(key->witness->order->of, "") << c.script;
  }
}

TEST(LastOrder, OfALongHistoryOnlyTheLastStepsAreKept) {
  std::string script;
  for (int i = 0; i < 100; ++i) {
    const std::string value = std::to_string(i);
    script += "0 invoke write k " + value + "\n0 ok write k " + value + "\n";
  }
  const History history = history_of(script + "0 invoke read k\n0 ok read k 3\n");
  const Verdict verdict = linearizable_checker().check(history, Budget{});
  const LastOrder& order = *told(verdict)->witness->order;
  EXPECT_EQ(order.before, 92u);
  EXPECT_EQ(order.start, "91");
  EXPECT_EQ(order.steps.size(), 8u);
  EXPECT_EQ(order.steps.back().state, "99");
}

// Two keys of trouble in one: what is told breaks later than another thing does.
TEST(LastOrder, WhereTheKeyBreaksEarlierItIsThatOfTheValuesConcerned) {
  const History history = history_of(
      "0 invoke write k 1\n0 ok write k 1\n0 invoke write k 2\n0 ok write k 2\n"
      "1 invoke read k\n1 ok read k 1\n"
      "0 invoke cas k [2,3]\n0 ok cas k [2,3]\n1 invoke cas k [2,4]\n1 ok cas k [2,4]\n");
  const Verdict verdict = linearizable_checker().check(history, Budget{});
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  const Witness& witness = *told(verdict)->witness;
  ASSERT_TRUE(witness.order) << witness.lines[0];
  // The cas is told, which breaks at the end; the read of 1 had no place before.
  ASSERT_EQ(witness.order->breaks, 4u) << witness.lines[0];
  EXPECT_THAT(witness.order->of, testing::StartsWith("the operations on"));
}

}  // namespace
}  // namespace assay::linearizable
