#include "checkers/linearizable/linearizable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/facts.h"
#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay::linearizable {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

Verdict judge(std::string_view script, std::string_view header = "") {
  const History history = history_of(script, header);
  const Checker& checker = linearizable_checker();
  const auto accepted = checker.accepts(history);
  EXPECT_TRUE(accepted) << accepted.error().message;
  LinearizableOptions options;
  options.prove = true;
  return check_linearizable(history, Budget{}, options);
}

int64_t count_of(const Verdict& verdict, const std::string& name) {
  for (const auto& [key, number] : verdict.counts) {
    if (key == name) return number;
  }
  return -1;
}

constexpr std::string_view kStaleRead = R"(
  0 invoke write k7 4 @n1 time=13s
  0 ok write k7 4 @n1
  7 invoke write k7 5 @n1
  7 ok write k7 5 @n1 time=13600ms
  3 invoke read k7 @n2 time=13812ms
  3 ok read k7 4 @n2 time=13815ms
)";

TEST(Linearizable, AValidHistoryIsCountedAndNamed) {
  const Verdict verdict = judge(R"(
    0 invoke write a 1
    1 invoke read a
    0 ok write a 1
    1 ok read a 1
    1 invoke cas b [null,2]
    1 ok cas b [null,2]
    0 invoke cas b [2,3]
    0 fail cas b [2,3] error=refused
    1 invoke write b 9
    1 info write b 9
  )");
  EXPECT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_EQ(verdict.progress, Progress::kNotDue);
  EXPECT_EQ(count_of(verdict, "keys"), 2);
  EXPECT_EQ(count_of(verdict, "operations"), 5);
  EXPECT_EQ(count_of(verdict, "ok"), 3);
  EXPECT_EQ(count_of(verdict, "fail"), 1);
  EXPECT_EQ(count_of(verdict, "info"), 1);
  EXPECT_EQ(count_of(verdict, "largest key"), 3);
  EXPECT_THAT(verdict.children, SizeIs(0)) << "valid keys are not shown one by one";
  EXPECT_THAT(verdict.facts, Contains(Pair(std::string(fact::kConvention),
                                           "each key is a cas-register (guessed)")));
}

TEST(Linearizable, AnInvalidKeyIsAChildWithAWitness) {
  const Verdict verdict = judge(kStaleRead);
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  EXPECT_EQ(verdict.reason, "stale read of k7");
  const Verdict* key = verdict.find("k7");
  ASSERT_NE(key, nullptr);
  ASSERT_TRUE(key->witness);
  EXPECT_THAT(key->witness->operations, ElementsAre(0, 1, 2));
  EXPECT_EQ(key->witness->lines[0],
            "p3 read 4 from n2, 212 ms after 5 was acknowledged to p7 by n1");
  EXPECT_THAT(key->facts,
              Contains(Pair(std::string(fact::kRestsOn), StartsWith("independent of your error"))));
}

TEST(Linearizable, TheModelIsGuessedUnlessTheHeaderNamesIt) {
  const History reads = history_of("0 invoke read k\n0 ok read k null\n");
  EXPECT_EQ(*model_of(reads), Model::kRegister);
  const History cas = history_of("0 invoke cas k [1,2]\n0 fail cas k [1,2]\n");
  EXPECT_EQ(*model_of(cas), Model::kCasRegister);
  const History named =
      history_of("0 invoke cas k [1,2]\n0 fail cas k [1,2]\n", R"({"model":"register"})");
  EXPECT_THAT(model_of(named).error().message, HasSubstr("the model register has no cas"));
  const History other = history_of("0 invoke read k\n", R"({"model":"queue"})");
  EXPECT_THAT(model_of(other).error().message, HasSubstr("the model queue is not known"));
  EXPECT_EQ(model_of(other).error().fault, Fault::kInput);
}

TEST(Linearizable, OperationsThatARegisterDoesNotHaveAreInputErrors) {
  const Checker& checker = linearizable_checker();
  const auto txn = checker.accepts(history_of("0 invoke read k\n0 ok read k 1\n0 invoke txn []\n"));
  ASSERT_FALSE(txn);
  EXPECT_THAT(txn.error().message, HasSubstr("not txn"));
  EXPECT_THAT(txn.error().message, StartsWith("operation 2"));
  const auto cas = checker.accepts(history_of("0 invoke cas k 5\n"));
  ASSERT_FALSE(cas);
  EXPECT_THAT(cas.error().message, HasSubstr("a cas needs [expected, new], found 5"));
}

TEST(Linearizable, TheInitialValueIsThatOfTheKey) {
  constexpr std::string_view kScript = "0 invoke read x\n0 ok read x 7\n";
  EXPECT_EQ(judge(kScript).safety, Safety::kInvalid);
  EXPECT_EQ(judge(kScript, R"({"initial":7})").safety, Safety::kValid);
  EXPECT_EQ(judge(kScript, R"({"initial":{"x":7,"y":0}})").safety, Safety::kValid);
  EXPECT_EQ(judge(kScript, R"({"initial":{"x":0,"y":7}})").safety, Safety::kInvalid);
  // 7, 7.0 and "7" are three values.
  EXPECT_EQ(judge(kScript, R"({"initial":"7"})").safety, Safety::kInvalid);
  // An initial value that no operation mentions, and one that only a cas does.
  EXPECT_EQ(judge("0 invoke read x\n0 ok read x null\n", R"({"initial":3})").safety,
            Safety::kInvalid);
  EXPECT_EQ(judge("0 invoke cas x [3,4]\n0 ok cas x [3,4]\n", R"({"initial":3})").safety,
            Safety::kValid);
}

TEST(Linearizable, AFailedCasObservesUnlessToldOtherwise) {
  constexpr std::string_view kScript = R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke cas k [1,2]
    0 fail cas k [1,2]
  )";
  EXPECT_EQ(judge(kScript).safety, Safety::kInvalid);
  EXPECT_EQ(judge(kScript).reason, "CAS failed although its value was there on k");
  EXPECT_NE(judge(kScript, R"({"failed_cas":"ignore"})").safety, Safety::kInvalid);
}

TEST(Linearizable, AFailedCasObservesOnlyWhenTheComparisonIsToBlame) {
  auto with_error = [](const std::string& cls) {
    return judge(
               "0 invoke write k 1\n0 ok write k 1\n0 invoke cas k [1,2]\n0 fail cas k [1,2] "
               "error=" +
               cls + "\n0 invoke read k\n0 ok read k 1\n")
        .safety;
  };
  EXPECT_EQ(with_error("mismatch"), Safety::kInvalid);
  EXPECT_EQ(with_error("conflict"), Safety::kInvalid);
  EXPECT_EQ(with_error("refused"), Safety::kValid);
  EXPECT_EQ(with_error("not-leader"), Safety::kValid);
}

TEST(Linearizable, AConflictOfTokensObservesOnlyAValueThatWasMadeOnce) {
  // The token moved on although the value came back: the conflict is right.
  constexpr std::string_view kReturned = R"(
    0 invoke write k 1
    0 ok write k 1 revision=1
    1 invoke write k 1
    1 ok write k 1 revision=2
    0 invoke cas k [1,2] expected=1
    0 fail cas k [1,2] error=conflict current=2
    0 invoke read k
    0 ok read k 1
  )";
  EXPECT_EQ(judge(kReturned).safety, Safety::kValid);
  // Nobody else wrote: a conflict needs another token.
  constexpr std::string_view kUnfounded = R"(
    0 invoke write k 1
    0 ok write k 1 revision=1
    0 invoke cas k [1,2] expected=1
    0 fail cas k [1,2] error=conflict current=1
    0 invoke read k
    0 ok read k 1
  )";
  EXPECT_EQ(judge(kUnfounded).safety, Safety::kInvalid);
}

TEST(Linearizable, AReadOfNullIsAValueUnlessItMeansNotKnown) {
  constexpr std::string_view kScript = R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke read k
    0 ok read k null
    0 invoke read k
    0 ok read k 1
  )";
  EXPECT_EQ(judge(kScript).safety, Safety::kInvalid);
  EXPECT_EQ(judge(kScript, R"({"null_read":"unknown"})").safety, Safety::kValid);
}

TEST(Linearizable, ADeleteWritesNull) {
  const std::string script = R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke delete k
    0 ok delete k
    0 invoke read k
    0 ok read k )";
  EXPECT_EQ(judge(script + "null\n").safety, Safety::kValid);
  EXPECT_EQ(judge(script + "1\n").safety, Safety::kInvalid);
}

TEST(Linearizable, AReadWithoutAnswerSaysNothing) {
  EXPECT_EQ(judge(R"(
    0 invoke read k
    0 info read k
    1 invoke read k
    1 fail read k
    2 invoke read k
    2 ok read k null
  )")
                .safety,
            Safety::kValid);
}

TEST(Linearizable, AnUnknownWriteMayHappenLateOrNever) {
  const std::string script = R"(
    0 invoke write k 1
    0 info write k 1
    1 invoke read k
    1 ok read k null
    1 invoke read k
    1 ok read k )";
  EXPECT_EQ(judge(script + "1\n").safety, Safety::kValid);
  EXPECT_EQ(judge(script + "null\n").safety, Safety::kValid);
  EXPECT_EQ(judge(script + "1\n1 invoke read k\n1 ok read k null\n").safety, Safety::kInvalid);
}

TEST(Linearizable, CompositeAndMixedValuesAreToldApart) {
  EXPECT_EQ(judge(R"(
    0 invoke write k {"a":1}
    0 ok write k {"a":1}
    0 invoke read k
    0 ok read k {"a":1}
    0 invoke cas k [{"a":1},[1,2]]
    0 ok cas k [{"a":1},[1,2]]
    0 invoke read k
    0 ok read k [1,2]
  )")
                .safety,
            Safety::kValid);
  EXPECT_EQ(
      judge("0 invoke write k 1\n0 ok write k 1\n0 invoke read k\n0 ok read k \"1\"\n").safety,
      Safety::kInvalid);
}

TEST(Linearizable, KeysAreJudgedApartAndTheSimplestWitnessComesFirst) {
  std::string script;
  for (const char* key : {"a", "b", "c"}) {
    const std::string k(key);
    script += "0 invoke write " + k + " 1\n0 ok write " + k + " 1\n";
    script += "0 invoke read " + k + "\n0 ok read " + k + " " + (k == "b" ? "2" : "1") + "\n";
  }
  const Verdict verdict = judge(script);
  EXPECT_EQ(verdict.safety, Safety::kInvalid);
  ASSERT_THAT(verdict.children, SizeIs(1));
  EXPECT_EQ(verdict.children[0].name, "b");
  EXPECT_EQ(verdict.reason, "read of a value nobody wrote on b");
}

TEST(Linearizable, ManyInvalidKeysAreShownInPart) {
  std::string script;
  for (int k = 0; k < 40; ++k) {
    const std::string key = "k" + std::to_string(k);
    script += "0 invoke read " + key + "\n0 ok read " + key + " 1\n";
  }
  const Verdict verdict = judge(script);
  EXPECT_THAT(verdict.children, SizeIs(20));
  EXPECT_THAT(verdict.facts, Contains(Pair("invalid keys", "40 of 40")));
}

TEST(Linearizable, TheVerdictDoesNotDependOnTheJobs) {
  std::string script;
  for (int k = 0; k < 50; ++k) {
    const std::string key = "k" + std::to_string(k);
    for (int i = 0; i <= k; ++i) {
      script += "0 invoke write " + key + " " + std::to_string(i) + "\n0 ok write " + key + "\n";
    }
    script += "0 invoke read " + key + "\n0 ok read " + key + " " +
              std::to_string(k == 30 ? 29 : k) + "\n";
  }
  const History history = history_of(script);
  Budget one, four;
  four.jobs = 4;
  const Verdict a = check_linearizable(history, one);
  const Verdict b = check_linearizable(history, four);
  EXPECT_EQ(a.safety, Safety::kInvalid);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.counts, b.counts);
  ASSERT_THAT(b.children, SizeIs(1));
  EXPECT_EQ(b.children[0].name, "k30");
}

TEST(Linearizable, AnExhaustedBudgetIsUnknownWithTheEventReached) {
  std::string script;
  for (int i = 0; i < 3000; ++i) {
    script += "0 invoke write k " + std::to_string(i % 7) + "\n0 ok write k\n";
    script += "1 invoke read k\n1 ok read k " + std::to_string(i % 7) + "\n";
  }
  const History history = history_of(script);
  Budget budget;
  int polls = 0;
  budget.exhausted = [&polls] { return ++polls > 1; };
  const Verdict verdict = check_linearizable(history, budget);
  EXPECT_EQ(verdict.safety, Safety::kUnknown);
  ASSERT_THAT(verdict.children, SizeIs(1));
  EXPECT_THAT(verdict.reason, HasSubstr("not decided within its budget: "));
  EXPECT_THAT(verdict.reason, HasSubstr(" of 12000 events of k explained, up to index "));
  EXPECT_GT(count_of(verdict.children[0], "event reached"), 1000);
  EXPECT_THAT(verdict.children[0].facts,
              Contains(Pair(std::string(fact::kRemedy), HasSubstr("`--budget"))));
}

TEST(Linearizable, ManySmallKeysEndWithTheBudgetAsWell) {
  std::string script;
  for (int k = 0; k < 50; ++k) {
    const std::string key = " k" + std::to_string(k);
    script += "0 invoke read" + key + "\n0 ok read" + key + " null\n";
  }
  script += "0 invoke read failed\n0 fail read failed\n";
  const History history = history_of(script);
  Budget budget;
  budget.exhausted = [] { return true; };
  const Verdict verdict = check_linearizable(history, budget);
  EXPECT_EQ(verdict.safety, Safety::kUnknown);
  EXPECT_THAT(verdict.children, SizeIs(20));
}

TEST(Linearizable, AHistoryInWhichNothingWasObservedIsVacuousWithAHeaderAndWithout) {
  for (const std::string_view header : {"", R"({"workload":"register"})"}) {
    for (const std::string_view script :
         {"", "0 invoke write k 1\n0 ok write k 1\n", "nemesis info start-kill\n",
          "0 invoke write k 1\n0 ok write k 1\n0 invoke read k\n0 info read k\n"}) {
      const Verdict verdict = judge(script, header);
      EXPECT_EQ(verdict.safety, Safety::kVacuous) << header << script;
      EXPECT_THAT(verdict.facts, Contains(Pair(std::string(fact::kMissing), testing::_)));
    }
    EXPECT_EQ(judge("0 invoke cas k [null,1]\n0 ok cas k [null,1]\n", header).safety,
              Safety::kValid);
  }
}

TEST(Linearizable, AVerdictSaysIfItRestsOnADefiniteFailure) {
  // The write of 2 is said to have failed; if it happened after all, the read is right.
  const Verdict rests = judge(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke write k 2
    1 fail write k 2 error=refused
    0 invoke read k
    0 ok read k 2
  )");
  ASSERT_EQ(rests.safety, Safety::kInvalid);
  EXPECT_THAT(rests.children[0].facts,
              Contains(Pair(std::string(fact::kRestsOn),
                            HasSubstr("rests on operation 2 being a definite failure "
                                      "(error: refused): if it may have happened"))));
  EXPECT_THAT(rests.children[0].witness->lines[0], HasSubstr("is recorded as failed"));

  const Verdict independent = judge(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke write k 2
    1 fail write k 2 error=refused
    0 invoke read k
    0 ok read k 3
  )");
  EXPECT_THAT(independent.children[0].facts,
              Contains(Pair(std::string(fact::kRestsOn),
                            HasSubstr("independent of your error mapping: still impossible when "
                                      "each of 1 failed operation"))));
}

std::string rests_on(const char* history) {
  const Verdict verdict = judge(history);
  EXPECT_EQ(verdict.safety, Safety::kInvalid);
  for (const auto& [name, text] : verdict.children.at(0).facts) {
    if (name == fact::kRestsOn) return text;
  }
  return "";
}

TEST(Linearizable, AFailureThatIsAnsweredAfterTheWitnessIsOneToo) {
  EXPECT_THAT(rests_on(R"(
    0 invoke write k 9
    0 fail write k 9 error=refused
    1 invoke write k 7
    2 invoke read k
    2 ok read k 7
    1 fail write k 7 error=timeout
  )"),
              HasSubstr("rests on operation 2 being a definite failure (error: timeout)"));
}

TEST(Linearizable, AFailedCasThatWouldFitHadItComparedNothingIsToldSo) {
  EXPECT_THAT(rests_on(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke cas k [1,2]
    1 fail cas k [1,2]
    0 invoke read k
    0 ok read k 1
  )"),
              HasSubstr("rests on operation 2 having found another value"));
}

TEST(Linearizable, WhatRestsOnNoFailureIsToldFirst) {
  const Verdict verdict = judge(R"(
    0 invoke write a 1
    0 ok write a 1
    1 invoke write a 2
    1 fail write a 2 error=refused
    0 invoke read a
    0 ok read a 2
    0 invoke write b 1
    0 ok write b 1
    0 invoke write b 2
    0 ok write b 2
    0 invoke read b
    0 ok read b 1
  )");
  ASSERT_EQ(verdict.children.size(), 2u);
  EXPECT_EQ(verdict.children[0].name, "b");
  EXPECT_EQ(verdict.children[1].name, "a");
}

// --- How anomalies are told.

struct Anomaly {
  std::string test;
  std::string script;
  std::string name;
  std::string headline;
  std::string header = R"({"nodes":["n1","n2","n3"]})";
};

class Told : public testing::TestWithParam<Anomaly> {};

TEST_P(Told, ByNameAndInWords) {
  const Verdict verdict = judge(GetParam().script, GetParam().header);
  ASSERT_EQ(verdict.safety, Safety::kInvalid) << verdict.reason;
  ASSERT_TRUE(verdict.children[0].witness);
  EXPECT_EQ(verdict.reason,
            GetParam().name + (GetParam().name == "stale read" ? " of k" : " on k"));
  EXPECT_EQ(verdict.children[0].witness->lines[0], GetParam().headline);
  EXPECT_LE(verdict.children[0].witness->operations.size(), 6u);
}

INSTANTIATE_TEST_SUITE_P(
    Anomalies, Told,
    testing::Values(
        Anomaly{"stale_read",
                "0 invoke write k 4 @n1 time=1s\n0 ok write k 4 @n1\n"
                "7 invoke write k 5 @n1 time=2s\n7 ok write k 5 @n1 time=2010ms\n"
                "2 invoke read k @n1 time=2020ms\n2 ok read k 5 @n1\n"
                "3 invoke read k @n2 time=2300ms\n3 ok read k 4 @n2\n",
                "stale read", "p3 read 4 from n2, 290 ms after 5 was acknowledged to p7 by n1"},
        Anomaly{"stale_read_on_a_node_cut_off",
                "0 invoke write k 4 @n1 time=1s\n0 ok write k 4 @n1\n"
                "nemesis info start-partition {\"shape\":\"one\"} time=1500ms\n"
                "nemesis info start-partition {\"victims\":[\"n2\"],\"cut\":[[\"n1\",\"n2\"],"
                "[\"n2\",\"n1\"],[\"n3\",\"n2\"],[\"n2\",\"n3\"]],\"installed\":true} "
                "time=1900ms\n"
                "7 invoke write k 5 @n1 time=2s\n7 ok write k 5 @n1 time=2010ms\n"
                "3 invoke read k @n2 time=2300ms\n3 ok read k 4 @n2\n"
                "2 invoke read k @n1\n2 ok read k 5 @n1\n",
                "stale read",
                "p3 read 4 from n2, 290 ms after 5 was acknowledged to p7 by n1; n2 had been cut "
                "off since 1.9 s"},
        Anomaly{"lost_write",
                "0 invoke write k 4 time=1s\n0 ok write k 4\n"
                "7 invoke write k 5 time=2s\n7 ok write k 5 time=2010ms\n"
                "3 invoke read k time=2300ms\n3 ok read k 4\n"
                "3 invoke read k\n3 ok read k 4\n",
                "lost write",
                "p3 read 4, 290 ms after 5 was acknowledged to p7, which nobody ever saw"},
        Anomaly{"write_lost_after_it_was_seen",
                "0 invoke write k 4 time=1s\n0 ok write k 4\n"
                "7 invoke write k 5 time=2s\n7 ok write k 5 time=2010ms\n"
                "2 invoke read k @n1 time=2020ms\n2 ok read k 5 @n1\n"
                "3 invoke read k @n2 time=2300ms\n3 ok read k 4 @n2\n"
                "3 invoke read k @n3\n3 ok read k 4 @n3\n",
                "lost write",
                "p3 read 4 from n2, 290 ms after 5 was acknowledged to p7, which nobody saw again"},
        Anomaly{"value_nobody_wrote",
                "0 invoke write k 4 time=1s\n0 ok write k 4\n"
                "3 invoke read k @n2 time=2300ms\n3 ok read k 9 @n2\n",
                "read of a value nobody wrote", "p3 read 9 from n2, but nobody had written 9"},
        Anomaly{"value_written_only_later",
                "3 invoke read k @n2 time=2300ms\n3 ok read k 9 @n2 time=2301ms\n"
                "0 invoke write k 9 time=2400ms\n0 ok write k 9\n",
                "read of a value nobody wrote",
                "p3 read 9 from n2, but nobody had written 9: p0 began to write it only 99 ms "
                "after that"},
        Anomaly{"double_cas",
                "0 invoke write k 1 time=1s\n0 ok write k 1\n"
                "1 invoke cas k [1,2] @n1 time=2s\n2 invoke cas k [1,3] @n2 time=2001ms\n"
                "1 ok cas k [1,2] @n1\n2 ok cas k [1,3] @n2\n",
                "CAS succeeded twice from one value",
                "p2 changed 1 to 3 through n2 while p1 changed 1 to 2 through n1: nothing made it "
                "1 again in between"},
        Anomaly{"cas_from_an_old_value",
                "0 invoke write k 1 time=1s\n0 ok write k 1\n"
                "0 invoke write k 2 time=2s\n0 ok write k 2\n"
                "1 invoke read k\n1 ok read k 2\n"
                "1 invoke cas k [1,3] @n3 time=3s\n1 ok cas k [1,3] @n3\n",
                "CAS from an old value",
                "p1 changed 1 to 3 through n3, 999 ms after 2 was acknowledged to p0"},
        Anomaly{"failed_cas",
                "0 invoke write k 1 time=1s\n0 ok write k 1\n"
                "1 invoke cas k [1,3] @n3 time=3s\n1 fail cas k [1,3] @n3 error=mismatch\n"
                "1 invoke read k\n1 ok read k 1\n",
                "CAS failed although its value was there",
                "p1's CAS of 1 to 3 through n3 failed, although the value was 1 all the time that "
                "it took"},
        Anomaly{"contradicting_reads",
                "0 invoke write k 1 time=1s\n0 ok write k 1\n"
                "0 invoke write k 2 time=2s\n0 ok write k 2\n"
                "1 invoke read k @n1 time=3s\n2 invoke read k @n2\n"
                "1 ok read k 1 @n1\n2 ok read k 2 @n2\n",
                "stale read", "p1 read 1 from n1, 999 ms after 2 was acknowledged to p0"}),
    [](const auto& info) { return info.param.test; });

TEST(Told, WithRolesProducersUnknownOperationsAndWhatDoesNotMatter) {
  const Verdict verdict = judge(R"(
    9 invoke write k 4 @n3 time=500ms
    9 info write k 4 @n3 time=600ms
    0 invoke write k 4 @n1 time=1s
    0 ok write k 4 @n1
    1 invoke read k
    1 ok read k 4
    1 invoke write k 5
    1 ok write k 5
    1 invoke read k
    1 ok read k 4
    7 invoke write k 5 @n1 time=2s
    7 ok write k 5 @n1 time=2010ms
    observer info status {"node":"n2","role":"leader","term":3} time=2100ms
    observer info status {"node":"n1","role":"leader","term":4} time=2150ms
    3 invoke read k @n2 time=2300ms
    3 ok read k 4 @n2
  )",
                                R"({"nodes":["n1","n2","n3"]})");
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  const auto& lines = verdict.children[0].witness->lines;
  EXPECT_THAT(lines,
              Contains("n2 was leader of term 3 at 2.1 s; n1 was leader of term 4 at 2.2 s"));
  EXPECT_THAT(lines,
              Contains(HasSubstr("1 operation of unknown outcome would make it 4 (p9 wrote 4 "
                                 "through n3, outcome unknown (from 0.500 s on))")));
  EXPECT_THAT(lines, Contains("p3 read 4 from n2 (2.300 s to 2.301 s)"));
}

TEST(Told, WhenTimesAreOrdinalsIndexesAreGiven) {
  const Verdict verdict = judge(
      "0 invoke write k 1 time=0\n0 ok write k 1 time=1\n0 invoke write k 2 time=2\n"
      "0 ok write k 2 time=3\n1 invoke read k time=4\n1 ok read k 1 time=5\n");
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  const auto& lines = verdict.children[0].witness->lines;
  EXPECT_EQ(lines[0], "p1 read 1, after 2 was acknowledged to p0");
  EXPECT_THAT(lines, Contains("p1 read 1 (index 4 to 5)"));
}

}  // namespace
}  // namespace assay::linearizable
