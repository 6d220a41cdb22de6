#include "checkers/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "checkers/history/history_io.h"
#include "checkers/history/rng.h"
#include "checkers/history/test_history.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Verdict node(std::string name, Safety safety, Progress progress = Progress::kNotDue) {
  Verdict verdict{.name = std::move(name), .safety = safety, .progress = progress};
  verdict.reason = "because of " + verdict.name;
  return verdict;
}

TEST(Verdict, TakesTheWorstOfItsChildrenWithTheReason) {
  Verdict run{.name = "run"};
  run.add(node("a", Safety::kValid, Progress::kOk));
  EXPECT_EQ(run.word(), Word::kValid);
  EXPECT_EQ(run.progress, Progress::kOk);
  run.add(node("b", Safety::kVacuous));
  EXPECT_EQ(run.word(), Word::kVacuous);
  EXPECT_EQ(run.reason, "because of b");
  run.add(node("c", Safety::kUnknown));
  EXPECT_EQ(run.word(), Word::kUnknown);
  run.add(node("d", Safety::kValid, Progress::kBlocked));
  EXPECT_EQ(run.word(), Word::kBlocked);
  EXPECT_EQ(run.safety, Safety::kUnknown);
  EXPECT_EQ(run.reason, "because of d");
  run.add(node("e", Safety::kInvalid));
  EXPECT_EQ(run.word(), Word::kInvalid);
  run.add(node("f", Safety::kInvalid));
  EXPECT_EQ(run.reason, "because of e") << "the first of equals";
  EXPECT_EQ(run.progress, Progress::kBlocked);
}

TEST(Verdict, WordIsInvalidElseBlockedElseUnknownElseVacuousElseValid) {
  EXPECT_EQ(node("x", Safety::kInvalid, Progress::kBlocked).word(), Word::kInvalid);
  EXPECT_EQ(node("x", Safety::kUnknown, Progress::kBlocked).word(), Word::kBlocked);
  EXPECT_EQ(node("x", Safety::kVacuous, Progress::kUnknown).word(), Word::kUnknown);
  EXPECT_EQ(node("x", Safety::kVacuous, Progress::kOk).word(), Word::kVacuous);
  EXPECT_EQ(node("x", Safety::kValid, Progress::kOk).word(), Word::kValid);
}

TEST(Verdict, IsFoundByItsPathThoughKeysHoldSlashes) {
  Verdict run{.name = "run"};
  Verdict linearizable{.name = "linearizable"};
  linearizable.add(node("k7", Safety::kInvalid));
  linearizable.add(node("k/8", Safety::kValid));
  run.add(linearizable);
  ASSERT_NE(run.find("linearizable/k7"), nullptr);
  EXPECT_EQ(run.find("linearizable/k7")->safety, Safety::kInvalid);
  EXPECT_NE(run.find("linearizable/k/8"), nullptr);
  EXPECT_EQ(run.find("linearizable/k"), nullptr);
  EXPECT_EQ(run.find("other"), nullptr);
  EXPECT_EQ(run.find(""), &run);
  EXPECT_EQ(run.worst()->name, "k7");
  EXPECT_EQ(node("x", Safety::kValid).worst()->name, "x");
}

TEST(CheckHistory, RunsWhatTheHeaderNamesAsFarAsItApplies) {
  const History history = history_of("0 invoke read k\n0 ok read k null\n",
                                     R"({"checkers":["stats","member-agreement"]})");
  const auto verdict = check_history(history, {}, Budget{});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->name, "run");
  ASSERT_THAT(verdict->children, SizeIs(1));
  EXPECT_EQ(verdict->children[0].name, "stats");
  EXPECT_EQ(verdict->word(), Word::kValid);
}

TEST(CheckHistory, RunsAllThatApplyWhereTheHeaderNamesNone) {
  const History history = history_of("0 invoke read k\n0 ok read k null\n");
  const auto verdict = check_history(history, {}, Budget{});
  ASSERT_TRUE(verdict);
  std::vector<std::string> names;
  for (const Verdict& child : verdict->children) names.push_back(child.name);
  EXPECT_THAT(names, ElementsAre("linearizable", "stats", "exposure"));
  EXPECT_EQ(verdict->word(), Word::kValid);
  EXPECT_EQ(verdict->reason, verdict->children[0].reason);
}

TEST(CheckHistory, NamesThatAreNotThereAndOperationsNotJudgedAreInputErrors) {
  const History history = history_of("0 invoke txn []\n0 ok txn []\n");
  const auto unknown = check_history(history, {"linearisable"}, Budget{});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().fault, Fault::kInput);
  EXPECT_THAT(unknown.error().message, HasSubstr("there is no checker linearisable"));
  EXPECT_THAT(unknown.error().message, HasSubstr("linearizable, version-order, one-history"));
  const auto txn = check_history(history, {}, Budget{});
  ASSERT_FALSE(txn);
  EXPECT_EQ(txn.error().fault, Fault::kInput);
  EXPECT_TRUE(check_history(history, {"stats"}, Budget{}));
}

TEST(CheckHistory, ARunThatWasCutShortIsAtBestUnknown) {
  const struct {
    const char* end;
    Word word;
    const char* reason;
  } rows[] = {
      {R"(observer info phase {"phase":"end"})", Word::kValid, ""},
      {R"(observer info phase {"phase":"end","why":"cut off at its deadline"})", Word::kUnknown,
       "cut off at its deadline"},
      {R"(observer info phase {"phase":"final"})", Word::kUnknown, "was its driver killed?"},
  };
  for (const auto& row : rows) {
    const History history = history_of(R"(observer info phase {"phase":"load"})"
                                       "\n"
                                       "0 invoke read k\n0 ok read k null\n" +
                                       std::string(row.end) + "\n");
    const auto verdict = check_history(history, {"linearizable"}, Budget{});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->word(), row.word) << row.end;
    EXPECT_THAT(verdict->reason, HasSubstr(row.reason));
  }
}

TEST(CheckHistory, ARunWhoseDriverDiedBeforeTheLoadIsUnknown) {
  const History history = history_of("observer info status {\"node\":\"n1\"}\n",
                                     R"({"workload":"register","timing":{"load":1000000000}})");
  const auto verdict = check_history(history, {}, Budget{});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->word(), Word::kUnknown);
  EXPECT_THAT(verdict->reason, HasSubstr("was its driver killed?"));
}

TEST(CheckHistory, InWhichNothingWasObservedIsVacuous) {
  for (const char* text : {"0 invoke write k 1\n0 info write k 1\n", "0 invoke read k\n",
                           "0 invoke cas k [1,2]\n0 fail cas k [1,2]\n"}) {
    const auto verdict = check_history(history_of(text), {}, Budget{});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->word(), Word::kVacuous) << text;
  }
}

TEST(CheckHistory, WithNothingToJudgeIsVacuous) {
  const History history = history_of("0 invoke read k\n0 ok read k null\n");
  const auto verdict = check_history(history, {"member-agreement"}, Budget{});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->word(), Word::kVacuous);
}

// --- For every registered checker.

class EveryChecker : public testing::TestWithParam<const Checker*> {
 protected:
  static Verdict check(const History& history) {
    const Checker& checker = *GetParam();
    Verdict verdict{.name = std::string(checker.name())};
    // What it does not accept never reaches it.
    if (checker.accepts(history)) verdict = checker.check(history, Budget{});
    EXPECT_EQ(verdict.name, checker.name());
    return verdict;
  }
};

INSTANTIATE_TEST_SUITE_P(Registry, EveryChecker, testing::ValuesIn(all_checkers()),
                         [](const auto& info) {
                           std::string name(info.param->name());
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryChecker, IsFoundByItsNameAndHasASummary) {
  EXPECT_EQ(find_checker(GetParam()->name()), GetParam());
  EXPECT_FALSE(GetParam()->summary().empty());
}

TEST_P(EveryChecker, NeverCallsAnEmptyHistoryValid) {
  for (std::string_view header : {"", R"({"workload":"register","nodes":["n1","n2","n3"]})",
                                  R"({"workload":"register","faults":["kill"]})"}) {
    const Verdict verdict = check(history_of("", header));
    // Exposure judges nothing: it is never but valid.
    if (verdict.name == "exposure") continue;
    EXPECT_EQ(verdict.word(), Word::kVacuous) << header;
    EXPECT_FALSE(verdict.reason.empty());
  }
}

TEST_P(EveryChecker, BearsAHistoryOfOneOperation) {
  for (const char* line : {"0 invoke read k", "0 invoke write k 1", "0 invoke cas k [1,2]"}) {
    for (const char* ending : {"", "ok", "fail", "info"}) {
      std::string script = line;
      if (*ending != 0) {
        script += "\n0 " + std::string(ending) + std::string(line).substr(8) + "\n";
      }
      const Verdict verdict = check(history_of(script, R"({"workload":"register"})"));
      if (verdict.name == "non-vacuity") {
        EXPECT_EQ(verdict.word(), Word::kVacuous);
      }
      EXPECT_FALSE(verdict.reason.empty());
    }
  }
}

// A run with everything in it.
std::vector<std::string> lines_of_a_run() {
  std::vector<std::string> lines;
  Rng rng(3);
  auto status = [&](const char* time) {
    for (const char* name : {"n1", "n2", "n3"}) {
      lines.push_back("observer info status {\"node\":\"" + std::string(name) +
                      "\",\"role\":\"follower\",\"term\":1,\"leader\":\"n1\",\"applied\":5,"
                      "\"chain\":\"c\"} time=" +
                      time);
    }
  };
  lines.push_back("observer info phase {\"phase\":\"quiet\"}");
  status("10ms");
  for (int i = 0; i < 40; ++i) {
    const std::string p = std::to_string(i % 5);
    lines.push_back(p + " invoke write k " + std::to_string(i) + " @n1");
    lines.push_back(p + " ok write k " + std::to_string(i) + " @n1");
    lines.push_back(p + " invoke cas k [" + std::to_string(i) + ",-1] @n2");
    lines.push_back(p + " ok cas k [" + std::to_string(i) + ",-1] @n2");
    if (i == 10) lines.push_back("nemesis info start-kill {\"shape\":\"one\"}");
    if (i == 11) {
      lines.push_back(
          "nemesis info start-kill {\"victims\":[\"n3\"],\"installed\":true,"
          "\"bit\":true}");
    }
    if (i == 20) lines.push_back("nemesis info stop-kill");
    if (i == 21) lines.push_back("nemesis info stop-kill {\"healed\":true}");
  }
  lines.push_back("observer info phase {\"phase\":\"recovery\"}");
  status("900ms");
  lines.push_back("observer info chain {\"node\":\"n1\",\"from\":4,\"hashes\":[\"b\",\"c\"]}");
  lines.push_back("observer info exit {\"node\":\"n1\",\"code\":0,\"expected\":true}");
  lines.push_back("observer info log {\"node\":\"n1\",\"line\":\"x\",\"finding\":\"\"}");
  lines.push_back("observer info host {\"stall\":1000}");
  return lines;
}

TEST_P(EveryChecker, BearsHistoriesThatEndAnywhere) {
  const std::vector<std::string> lines = lines_of_a_run();
  const std::string header = R"({"workload":"register","nodes":["n1","n2","n3"],)"
                             R"("faults":["kill"],"timing":{"election_timeout_min":300000000}})";
  for (size_t length = 0; length <= lines.size(); ++length) {
    std::string script;
    for (size_t i = 0; i < length; ++i) script += lines[i] + "\n";
    const Verdict verdict = check(history_of(script, header));
    EXPECT_NE(verdict.safety, Safety::kInvalid) << length << ": " << verdict.reason;
    EXPECT_FALSE(verdict.reason.empty()) << length;
    if (verdict.name == "non-vacuity" && length < 60) {
      EXPECT_EQ(verdict.safety, Safety::kVacuous) << length;
    }
  }
}

TEST_P(EveryChecker, BearsShuffledHistories) {
  std::vector<std::string> lines = lines_of_a_run();
  Rng rng(9);
  for (int round = 0; round < 50; ++round) {
    rng.shuffle(lines);
    HistoryBuilder builder;
    HistoryHeader header;
    header.nodes = {"n1", "n2", "n3"};
    header.faults = {"kill"};
    header.workload = "register";
    builder.set_header(header);
    // What cannot be paired is refused; the rest is judged.
    for (const std::string& line : lines) {
      Op op = op_of(line);
      op.time = Nanos{-1};
      op.index = -1;
      (void)builder.add(op).ok();
    }
    const Verdict verdict = check(builder.build());
    EXPECT_FALSE(verdict.reason.empty());
  }
}

}  // namespace
}  // namespace assay
