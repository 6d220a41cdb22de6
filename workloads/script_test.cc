#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"
#include "workloads/gen/combinators.h"
#include "workloads/simulated_map.h"
#include "workloads/workload.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kClients = 10;

WorkloadOptions with_steps(std::string_view json) {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1", "n2", "n3"};
  options.concurrency = kClients;
  auto steps = parse_value(json);
  EXPECT_TRUE(steps.ok()) << json;
  options.script = *steps;
  return options;
}

class ScriptWorkload : public ::testing::Test {
 protected:
  void start(std::string_view steps) {
    auto run = find_workload("script")->start(with_steps(steps));
    ASSERT_TRUE(run.ok()) << run.error().message;
    run_ = std::move(*run);
  }

  // Performs the script on a correct map, or where given, with answers by `effect`.
  void perform(std::string_view steps, std::function<Op(const Op&, Worker)> effect = {}) {
    start(steps);
    auto map = std::make_shared<SimulatedMap>(
        SimulatedMapOptions{.refused_of_1000 = 0, .unknown_of_1000 = 0}, Rng(1));
    SimulateOptions options;
    options.clients = kClients;
    options.lanes = 1;
    options.latency = latency_;
    options.effect = [=](const Op& op, Worker w) {
      return effect && op.process.is_client() ? effect(op, w) : map->serve(op, w);
    };
    const Gen load = run_->load();
    simulated_ = simulate(*load, options);
    EXPECT_TRUE(simulated_.done);
  }

  // "n1 write k 1", "n2 cas k [1,2] @7", "nemesis start-partition {…}": the invocations, in order.
  std::vector<std::string> invocations() const {
    std::vector<std::string> lines;
    for (const SimulatedEvent& event : simulated_.events) {
      const Op& op = event.op;
      if (op.type != OpType::kInvoke) continue;
      std::string line = op.process.is_client()
                             ? "n" + std::to_string(node_of_worker(event.worker, 10, 3) + 1)
                             : "nemesis";
      line += " " + std::string(op.f.text());
      if (!op.key.empty()) line += " " + std::string(op.key.text());
      if (!op.value.is_null()) line += " " + op.value.to_json();
      if (!op.expected.none()) line += " @" + op.expected.to_value().to_json();
      lines.push_back(line);
    }
    return lines;
  }

  std::unique_ptr<WorkloadRun> run_;
  SimulatedRun simulated_;
  std::function<Latency(const Op&, Worker)> latency_;  // 1 ms where it is empty
};

TEST_F(ScriptWorkload, StepsRunOneAfterAnotherOnTheNodesThatTheyName) {
  perform(R"([{"on":"n1","f":"write","key":"k","value":1},
              {"on":"n3","f":"read","key":"k"},
              {"on":"n1","f":"cas","key":"k","value":[1,2]},
              {"on":"n2","f":"delete","key":"k"}])");
  EXPECT_THAT(invocations(),
              ElementsAre("n1 write k 1", "n3 read k", "n1 cas k [1,2]", "n2 delete k"));
  for (size_t i = 0; i < simulated_.events.size(); ++i) {
    EXPECT_EQ(simulated_.events[i].op.type == OpType::kInvoke, i % 2 == 0) << "they overlap";
  }
  EXPECT_EQ(simulated_.events[0].op.process, simulated_.events[4].op.process)
      << "one client per node";
}

TEST_F(ScriptWorkload, AnswersAreUsedInLaterSteps) {
  perform(R"([{"on":"n1","f":"read","key":"k","as":"none"},
              {"on":"n1","f":"cas","key":"k","value":["$none.value",5],"expected":"$none.revision","as":"first"},
              {"on":"n2","f":"read","key":"k","as":"got"},
              {"on":"n2","f":"cas","key":"k","value":["$got.value",6],"expected":"$got.revision"},
              {"on":"n3","f":"cas","key":"k","value":["$got.value",7],"expected":"$first.revision","as":"late"},
              {"on":"n3","f":"cas","key":"k","value":[6,8],"expected":"$late.current"},
              {"on":"n1","f":"write","key":"copy","value":{"seen":["$got.value","$$5"],"at":"$got.at"}}])");
  EXPECT_THAT(invocations(),
              ElementsAre("n1 read k", "n1 cas k [null,5] @0", "n2 read k", "n2 cas k [5,6] @1",
                          "n3 cas k [5,7] @1", "n3 cas k [6,8] @2",
                          R"(n1 write copy {"seen":[5,"$5"],"at":1})"));
  EXPECT_THAT(run_->remarks(), IsEmpty());
}

TEST_F(ScriptWorkload, TextTokensAreCompared) {
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"as":"a"},
              {"on":"n1","f":"write","key":"k","value":2,"expected":"$a.revision"},
              {"on":"n1","f":"delete","key":"k","expected":"v7"},
              {"on":"n1","f":"delete","key":"k","expected":"$$7"}])",
          [](const Op& op, Worker) {
            Op done = complete(op, OpType::kOk);
            done.revision = Token(Symbol("v1"));
            return done;
          });
  EXPECT_THAT(invocations(), ElementsAre("n1 write k 1", R"(n1 write k 2 @"v1")",
                                         R"(n1 delete k @"v7")", R"(n1 delete k @"$7")"));
}

TEST_F(ScriptWorkload, FaultsAndWaitsGoToTheFirstLaneWithWhatTheyNeed) {
  perform(R"([{"nemesis":"cut","from":"n1","to":"n3"},
              {"nemesis":"kill","node":"n2"},{"nemesis":"start","node":"n2"},
              {"nemesis":"pause","node":"n1"},{"nemesis":"resume","node":"n1"},
              {"nemesis":"delay","from":"n2","to":"n3","by":"300ms","reorder":true},
              {"nemesis":"undelay"},{"nemesis":"heal"},
              {"wait":"converged","for":"1500ms"},{"wait":"leader"},
              {"on":"n1","f":"read","key":"k"}])");
  EXPECT_THAT(
      invocations(),
      ElementsAre(R"(nemesis start-partition {"from":"n1","to":"n3"})",
                  R"(nemesis start-kill {"node":"n2"})", R"(nemesis stop-kill {"node":"n2"})",
                  R"(nemesis start-pause {"node":"n1"})", R"(nemesis stop-pause {"node":"n1"})",
                  R"(nemesis start-delay {"from":"n2","to":"n3","by":"300ms","reorder":true})",
                  "nemesis stop-delay", "nemesis stop-partition",
                  R"(nemesis wait {"wait":"converged","for":"1500ms"})",
                  R"(nemesis wait {"wait":"leader","for":"10s"})", "n1 read k"));
  for (const SimulatedEvent& event : simulated_.events) {
    EXPECT_EQ(event.worker == kClients, event.op.process == kNemesis);
  }
}

TEST_F(ScriptWorkload, ASplitNamesEveryNodeAndAWaitForAnswersIsForAllThatAreUnderWay) {
  latency_ = [](const Op&, Worker w) {
    return Latency{Nanos{}, w == 0 ? milliseconds(50) : milliseconds(1)};
  };
  perform(R"([{"nemesis":"split","sides":[["n1"],["n2","n3"]]},
              {"on":"n1","f":"write","key":"k","value":1,"async":true},
              {"on":"n2","f":"write","key":"k","value":2,"async":true},
              {"wait":"answers"},
              {"nemesis":"heal"}])");
  EXPECT_THAT(invocations(),
              ElementsAre(R"(nemesis start-partition {"sides":[["n1"],["n2","n3"]]})",
                          "n1 write k 1", "n2 write k 2", "nemesis stop-partition"));
  int answered = 0;
  for (const SimulatedEvent& event : simulated_.events) {
    answered += event.op.process.is_client() && event.op.type == OpType::kOk;
    if (event.op.f == Symbol("stop-partition")) EXPECT_EQ(answered, 2);
  }
}

TEST_F(ScriptWorkload, AnOperationIsTriedAgainUntilItIsOkOrItsTimeIsOver) {
  int left = 3;
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"until_ok":"5s","as":"a"},
              {"on":"n2","f":"write","key":"k","value":2,"until_ok":"80ms","async":true},
              {"on":"n3","f":"write","key":"k","value":3,"expected":"$a.revision"}])",
          [&](const Op& op, Worker) {
            const bool first = op.value == Value(1), second = op.value == Value(2);
            Op done = complete(op, second || (first && --left > 0) ? OpType::kFail : OpType::kOk);
            if (done.type == OpType::kOk) done.revision = Token(int64_t{9});
            return done;
          });
  EXPECT_THAT(invocations(), ElementsAre("n1 write k 1", "n1 write k 1", "n1 write k 1", "n2 write k 2",
                                         "n3 write k 3 @9", "n2 write k 2", "n2 write k 2"));
  EXPECT_EQ(simulated_.events[0].op.extra.text_or("step", ""), "a");
}

TEST_F(ScriptWorkload, NothingWaitsForAnAsyncStepButWhatUsesItsAnswer) {
  latency_ = [](const Op&, Worker w) {
    return Latency{Nanos{}, w == 0 ? milliseconds(50) : milliseconds(1)};
  };
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"as":"a","async":true},
              {"on":"n1","f":"write","key":"k","value":2,"async":true},
              {"on":"n2","f":"read","key":"k"},
              {"on":"n3","f":"write","key":"k","value":3,"expected":"$a.revision"}])");
  std::vector<std::string> order;
  for (const SimulatedEvent& event : simulated_.events) {
    order.push_back(std::string(to_string(event.op.type)) + " " + std::to_string(event.worker));
  }
  EXPECT_THAT(order, ElementsAre("invoke 0", "invoke 3", "invoke 1",  // n1 twice, two workers
                                 "ok 3", "ok 1", "ok 0", "invoke 2", "fail 2"));
}

TEST_F(ScriptWorkload, WhatComesBehindItWaitsForItsLastStep) {
  start(R"([{"on":"n1","f":"write","key":"k","value":1}])");
  const Gen all = gen::sequence(run_->load(), gen::once(gen::always({.f = Symbol("behind")})));
  SimulateOptions options;
  options.clients = kClients;
  options.lanes = 1;
  const auto events = simulate(*all, options).events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].op.type, OpType::kOk);
  EXPECT_EQ(events[2].op.f.text(), "behind");
}

TEST_F(ScriptWorkload, AfterAnUnknownAnswerItsNodeIsServedByANewProcess) {
  perform(R"([{"on":"n2","f":"write","key":"k","value":1},{"on":"n2","f":"read","key":"k"}])",
          [](const Op& op, Worker) { return complete(op, OpType::kInfo); });
  ASSERT_EQ(simulated_.events.size(), 4u);
  EXPECT_EQ(simulated_.events[2].op.process.id, simulated_.events[0].op.process.id + kClients);
}

TEST_F(ScriptWorkload, WhatRefersToAnAnswerThatDidNotComeIsLeftOutWithARemark) {
  perform(R"([{"on":"n1","f":"read","key":"k","as":"a"},
              {"on":"n1","f":"cas","key":"k","value":["$a.value",1],"expected":"$a.revision","as":"b"},
              {"on":"n1","f":"write","key":"k","value":2,"expected":"$b.revision"},
              {"on":"n2","f":"write","key":"k","value":3}])",
          [](const Op& op, Worker) {
            return complete(op, op.f == f::read ? OpType::kInfo : OpType::kOk);
          });
  EXPECT_THAT(invocations(), ElementsAre("n1 read k", "n2 write k 3"));
  EXPECT_THAT(run_->remarks(),
              ElementsAre("script step 2 was left out: there is no $a.value: step 1 ended as info",
                          "script step 3 was left out: there is no $b.revision: step 2 was not "
                          "performed"));
}

TEST_F(ScriptWorkload, AGuardIsNeverDroppedWhereAStoreGivesNoToken) {
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"as":"a"},
              {"on":"n1","f":"write","key":"k","value":2,"expected":"$a.revision"}])",
          [](const Op& op, Worker) { return complete(op, OpType::kOk); });
  EXPECT_THAT(invocations(), ElementsAre("n1 write k 1"));
  EXPECT_THAT(run_->remarks(), ElementsAre("script step 2 was left out: there is no $a.revision: "
                                           "step 1 ended as ok"));
}

TEST_F(ScriptWorkload, SaysWhatItNeedsByItsSteps) {
  start(R"([{"on":"n1","f":"append","key":"k","value":1},{"nemesis":"heal"},
            {"on":"n1","f":"append","key":"k","value":2},{"on":"n1","f":"txn","value":[]}])");
  EXPECT_THAT(run_->ops(), ElementsAre(f::append, f::txn));
  EXPECT_FALSE(run_->guarded());
  EXPECT_EQ(run_->lanes(), 1);
  start(R"([{"on":"n1","f":"delete","key":"k","expected":0}])");
  EXPECT_TRUE(run_->guarded());
  start(R"([{"on":"n1","f":"read","key":"k","as":"a"},
            {"on":"n1","f":"delete","key":"k","expected":"$a.revision"}])");
  EXPECT_TRUE(run_->guarded());
}

TEST_F(ScriptWorkload, FinalReadsAskEveryNodeForTheKeysOfTheScript) {
  start(R"([{"on":"n1","f":"write","key":"x","value":1},{"on":"n1","f":"read","key":"y"}])");
  SimulateOptions options;
  options.clients = kClients;
  options.lanes = 1;
  const Gen reads = run_->final_reads();
  std::map<int, std::set<std::string>> keys;
  for (const SimulatedEvent& event : simulate(*reads, options).events) {
    if (event.op.type != OpType::kInvoke) continue;
    EXPECT_EQ(event.op.extra["phase"], Value("final"));
    keys[node_of_worker(event.worker, 10, 3)].emplace(event.op.key.text());
  }
  EXPECT_EQ(keys.size(), 3u);
  for (const auto& [node, read] : keys) EXPECT_THAT(read, ElementsAre("x", "y"));
}

TEST_F(ScriptWorkload, IsLinearizableOnACorrectMap) {
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"async":true},
              {"on":"n2","f":"write","key":"k","value":2,"async":true},
              {"on":"n3","f":"cas","key":"k","value":[1,3],"async":true},
              {"on":"n1","f":"read","key":"k"},{"on":"n2","f":"read","key":"k"}])");
  EXPECT_THAT(keys_that_are_not_linearizable(simulated_), IsEmpty());
}

// The whole way: written as a history, read, and judged by the checkers.
Word judged(const Workload& workload, const std::vector<SimulatedEvent>& events) {
  Value::Object members = workload.header().as_object();
  members.emplace_back(Symbol("workload"), Value("script"));
  std::string text = header_line(Value::object(std::move(members)));
  for (const SimulatedEvent& event : events) append_line(text, event.op);
  auto history = parse_history(text);
  EXPECT_TRUE(history.ok()) << history.error().message;
  auto verdict = check_history(*history, {"linearizable", "non-vacuity"}, {});
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return verdict->word();
}

TEST_F(ScriptWorkload, OfAFewOperationsIsNotVacuousOnceItsFinalReadsWereAnswered) {
  perform(R"([{"on":"n1","f":"write","key":"k","value":1,"as":"a"},
              {"on":"n1","f":"write","key":"k","value":2},
              {"on":"n2","f":"cas","key":"k","value":[1,3],"expected":"$a.revision"}])");
  const Workload& script = *find_workload("script");
  SimulateOptions options;
  options.clients = kClients;
  options.effect = [](const Op& op, Worker) {
    Op done = complete(op, OpType::kOk);
    done.value = Value(2);
    return done;
  };
  const Gen reads = run_->final_reads();
  for (SimulatedEvent event : simulate(*reads, options).events) {
    event.op.time += simulated_.end;
    simulated_.events.push_back(event);
  }
  EXPECT_EQ(judged(script, simulated_.events), Word::kValid);
  options.effect = [](const Op& op, Worker) { return complete(op, OpType::kFail); };
  perform(R"([{"on":"n1","f":"write","key":"k","value":1}])");
  const Gen unanswered = run_->final_reads();
  for (SimulatedEvent event : simulate(*unanswered, options).events) {
    event.op.time += simulated_.end;
    simulated_.events.push_back(event);
  }
  EXPECT_EQ(judged(script, simulated_.events), Word::kVacuous);
}

// --- Errors

struct BadScript {
  const char* steps;
  const char* message;
};

class BadScriptStep : public ::testing::TestWithParam<BadScript> {};

TEST_P(BadScriptStep, IsAnInputErrorThatNamesItAndSaysWhatWasExpected) {
  const auto run = find_workload("script")->start(with_steps(GetParam().steps));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().fault, Fault::kInput);
  EXPECT_EQ(run.error().message, GetParam().message);
}

#define READ R"({"on":"n1","f":"read","key":"k","as":"a"},)"
INSTANTIATE_TEST_SUITE_P(
    All, BadScriptStep,
    ::testing::Values(
        BadScript{"null", "script: expected a list of steps, found null"},
        BadScript{"[]", "script: expected a list of steps, found an empty one"},
        BadScript{"[7]", "script step 1: expected an object, found 7"},
        BadScript{R"([{"on":"n1"}])",
                  R"(script step 1: expected one of "f", "nemesis" and "wait" in {"on":"n1"})"},
        BadScript{R"([{"f":"read","wait":"leader"}])",
                  R"(script step 1: expected one of "f", "nemesis" and "wait" in )"
                  R"({"f":"read","wait":"leader"})"},
        BadScript{"[" READ R"({"on":"n1","f":"reed","key":"k"}])",
                  R"(script step 2: unknown f "reed": expected one of read, write, cas, delete, )"
                  "add, append, txn, watch, list, compact"},
        BadScript{R"([{"on":"n1","f":7,"key":"k"}])",
                  "script step 1: unknown f 7: expected one of read, write, cas, delete, add, "
                  "append, txn, watch, list, compact"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","valeu":1}])",
                  R"(script step 1: unknown member "valeu": expected one of on, f, key, value, )"
                  "expected, as, async, until_ok"},
        BadScript{R"([{"f":"read","key":"k"}])", R"(script step 1: missing "on")"},
        BadScript{R"([{"on":"n9","f":"read","key":"k"}])",
                  R"(script step 1: unknown node "n9" in "on": expected one of n1, n2, n3)"},
        BadScript{R"([{"on":1,"f":"read","key":"k"}])",
                  R"(script step 1: unknown node 1 in "on": expected one of n1, n2, n3)"},
        BadScript{R"([{"on":"n1","f":"read"}])", R"(script step 1: missing "key")"},
        BadScript{R"([{"on":"n1","f":"read","key":5}])",
                  R"(script step 1: "key": expected a text, found 5)"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","value":1}])",
                  R"(script step 1: a read takes no "value")"},
        BadScript{R"([{"on":"n1","f":"write","key":"k"}])", R"(script step 1: missing "value")"},
        BadScript{R"([{"on":"n1","f":"cas","key":"k"}])", R"(script step 1: missing "value")"},
        BadScript{R"([{"on":"n1","f":"cas","key":"k","value":[1]}])",
                  R"(script step 1: "value": expected [the value before, the value after], )"
                  "found [1]"},
        BadScript{R"([{"on":"n1","f":"txn","value":1}])",
                  R"(script step 1: "value": expected a list, found 1)"},
        BadScript{R"([{"on":"n1","f":"watch","value":1}])",
                  R"(script step 1: "value": expected an object, found 1)"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","expected":1}])",
                  R"(script step 1: a read takes no "expected")"},
        BadScript{R"([{"on":"n1","f":"delete","key":"k","expected":1.5}])",
                  R"(script step 1: "expected": expected a token: an integer, a text or )"
                  R"("$name.revision", found 1.5)"},
        BadScript{"[" READ R"({"on":"n1","f":"write","key":"k","value":1,"expected":"$a.value"}])",
                  R"(script step 2: "expected" takes a token, and "$a.value" is a value)"},
        BadScript{"[" READ R"({"on":"n1","f":"write","key":"k","value":"$b.value"}])",
                  R"(script step 2: unknown name in "$b.value": no earlier step says "as": "b")"},
        BadScript{R"([{"on":"n1","f":"write","key":"k","value":"$a.value","as":"a"}])",
                  R"(script step 1: unknown name in "$a.value": no earlier step says "as": "a")"},
        BadScript{"[" READ R"({"on":"n1","f":"write","key":"k","value":[{"x":"$a.token"}]}])",
                  R"(script step 2: "$a.token" is no reference: expected $name.value, )"
                  R"($name.revision, $name.at, $name.current (a text that begins with "$" itself )"
                  R"(is written with "$$"))"},
        BadScript{"[" READ READ R"({"wait":"leader"}])",
                  R"(script step 2: the name "a" is that of step 1)"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","as":"a.b"}])",
                  R"(script step 1: "as": expected a name without "$" and ".", found "a.b")"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","async":"yes"}])",
                  R"(script step 1: "async": expected true or false, found "yes")"},
        BadScript{R"([{"nemesis":"partition"}])",
                  R"(script step 1: unknown nemesis "partition": expected one of cut, heal, )"
                  "split, kill, start, pause, resume, delay, undelay"},
        BadScript{R"([{"nemesis":"split","sides":[["n1","n2","n3"]]}])",
                  R"(script step 1: "sides": expected lists of nodes, found [["n1","n2","n3"]])"},
        BadScript{R"([{"nemesis":"split","sides":[["n1"],["n2","n1"]]}])",
                  R"(script step 1: the node "n1" is on two of the "sides")"},
        BadScript{R"([{"nemesis":"split","sides":[["n1"],["n2"]]}])",
                  R"(script step 1: the node "n3" is on none of the "sides")"},
        BadScript{R"([{"nemesis":"split","sides":[["n1"],["n4"]]}])",
                  R"(script step 1: unknown node "n4" in "sides": expected one of n1, n2, n3)"},
        BadScript{R"([{"wait":"answers","for":"1s"}])",
                  R"(script step 1: unknown member "for": expected one of wait)"},
        BadScript{R"([{"on":"n1","f":"read","key":"k","until_ok":5}])",
                  R"(script step 1: "until_ok": expected a span of time such as "5s", found 5)"},
        BadScript{R"([{"nemesis":"delay","from":"n1","to":"n2"}])",
                  R"(script step 1: missing "by")"},
        BadScript{R"([{"nemesis":"delay","from":"n1","to":"n2","by":"90s"}])",
                  R"(script step 1: "by": expected a span of time such as "300ms", at most )"
                  R"(1 min, found "90s")"},
        BadScript{
            R"([{"nemesis":"delay","from":"n1","to":"n2","by":"1s","duplicate":101}])",
            R"(script step 1: "duplicate": expected a whole number from 0 to 100, found 101)"},
        BadScript{R"([{"nemesis":"delay","from":"n1","to":"n1","by":"1s"}])",
                  R"(script step 1: a delay is between two nodes, and both are "n1")"},
        BadScript{R"([{"nemesis":"cut","from":"n1"}])", R"(script step 1: missing "to")"},
        BadScript{R"([{"nemesis":"cut","from":"n1","to":"n1"}])",
                  R"(script step 1: a cut is between two nodes, and both are "n1")"},
        BadScript{R"([{"nemesis":"kill"}])", R"(script step 1: missing "node")"},
        BadScript{R"([{"nemesis":"kill","node":"n4"}])",
                  R"(script step 1: unknown node "n4" in "node": expected one of n1, n2, n3)"},
        BadScript{R"([{"nemesis":"heal","node":"n1"}])",
                  R"(script step 1: unknown member "node": expected one of nemesis, async)"},
        BadScript{R"([{"wait":"peace"}])",
                  R"(script step 1: unknown wait "peace": expected one of converged, leader, )"
                  "blocked, answers"},
        BadScript{R"([{"wait":"leader","for":5}])",
                  R"(script step 1: "for": expected a span of time such as "5s", found 5)"},
        BadScript{R"([{"wait":"leader","for":"5"}])",
                  R"(script step 1: "for": expected a span of time such as 30s, 500ms, 10m or )"
                  R"(2h, found "5")"}));
#undef READ

TEST(ScriptWithFewWorkers, IsRefusedWhereANodeHasNone) {
  WorkloadOptions options = with_steps(R"([{"on":"n3","f":"read","key":"k"}])");
  options.concurrency = 2;
  options.group_size = 2;
  const auto run = find_workload("script")->start(options);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message,
            "script step 1: no worker is on the node n3: more concurrency is needed");
}

}  // namespace
}  // namespace assay
