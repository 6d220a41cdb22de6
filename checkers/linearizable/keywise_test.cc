#include "checkers/linearizable/keywise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/registry.h"
#include "checkers/testing_verdicts.h"

namespace assay::linearizable {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kModel = R"({"model":"cas-register"})";
const std::string kTwo = "0 invoke txn [[\"w\",\"s/a\",1],[\"w\",\"s/b\",2]]\n"
                         "0 ok txn [[\"w\",\"s/a\",1],[\"w\",\"s/b\",2]]\n"
                         "0 invoke write s/a 3 @n1\n0 ok write s/a 3 @n1\n";
std::string list(const std::string& entries) {
  return "1 invoke list s/ @n2\n1 ok list s/ " + entries + " @n2\n";
}
Verdict judge_keywise(const std::string& script) {
  return testing_verdicts::judged_by(linearizable_checker(), script, kModel);
}

TEST(Keywise, ListsAndTransactionsAreJudgedKeyByKey) {
  const Verdict valid = judge_keywise(kTwo + list("[[\"s/a\",3,9],[\"s/b\",2,9]]"));
  EXPECT_EQ(valid.safety, Safety::kValid) << valid.reason;
  EXPECT_THAT(valid.facts, Contains(Pair("not tested", HasSubstr("of one instant"))));
}

TEST(Keywise, WatchesAndCompactionsArePassedOver) {
  const std::string write = "0 invoke write k 1\n0 ok write k 1\n1 invoke compact 7\n1 ok compact 7\n";
  EXPECT_EQ(judge_keywise(write + "1 invoke read k\n1 ok read k 1\n").safety, Safety::kValid);
  EXPECT_EQ(judge_keywise(write + "1 invoke read k\n1 ok read k 2\n").safety, Safety::kInvalid);
}

TEST(Keywise, AnAnomalyIsToldInTermsOfTheOperationsThatWereRecorded) {
  const Verdict stale = judge_keywise(kTwo + list("[[\"s/a\",1,9],[\"s/b\",2,9]]"));
  ASSERT_EQ(stale.safety, Safety::kInvalid);
  EXPECT_EQ(stale.reason, "stale read of s/a");
  EXPECT_THAT(testing_verdicts::headline_of(stale), HasSubstr("p1 read 1 from n2"));
  EXPECT_THAT(stale.children[0].witness->operations, Contains(2u));
  EXPECT_EQ(judge_keywise(kTwo + list("[[\"s/a\",3,9]]")).safety, Safety::kInvalid)
      << "s/b is missing";
}

TEST(Keywise, AnUnknownTransactionMayHaveHappenedAndARefusedOneHasNot) {
  const std::string txn = "5 invoke txn [[\"w\",\"s/a\",7],[\"w\",\"s/b\",null]]\n5 ";
  EXPECT_EQ(judge_keywise(kTwo + txn + "info txn error=timeout\n" + list("[[\"s/a\",7,9]]")).safety,
            Safety::kValid);
  EXPECT_EQ(judge_keywise(kTwo + txn + "fail txn error=conflict\n" + list("[[\"s/a\",7,9]]")).safety,
            Safety::kInvalid);
}

TEST(Keywise, ListsThatAreMalformedAreInputErrors) {
  const History history = history_of("1 invoke list s/\n1 ok list s/ [1,2]\n", kModel);
  EXPECT_FALSE(linearizable_checker().accepts(history));
}

TEST(Keywise, APrefixIsRefutedByAList) {
  EXPECT_TRUE(linearizable_checker().refutes(
      history_of(kTwo + list("[[\"s/a\",1,9],[\"s/b\",2,9]]"), kModel), Budget{}));
  EXPECT_FALSE(linearizable_checker().refutes(
      history_of(kTwo + list("[[\"s/a\",3,9],[\"s/b\",2,9]]"), kModel), Budget{}));
}

}  // namespace
}  // namespace assay::linearizable
