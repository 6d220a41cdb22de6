// What every model promises the search, on random operations and states; and what each rejects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/check_model.h"
#include "checkers/facts.h"
#include "checkers/history/history_io.h"
#include "checkers/history/test_history.h"
#include "checkers/linearizable/general_problem.h"
#include "checkers/linearizable/testing_toys.h"
#include "checkers/models/registry.h"
#include "checkers/registry.h"

namespace assay {
namespace {

using linearizable::all_toys;
using linearizable::Toy;
using linearizable::ToyHistory;
using linearizable::ToyOp;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

// Operations as a model reads them, answers drawn.
class RandomCalls {
 public:
  RandomCalls(const Toy& toy, const Model& model, Rng rng) : model_(model) {
    ToyHistory ops;
    for (Position i = 0; i < 40; ++i) {
      ToyOp op = toy.draw(rng);
      op.result = toy.draw_result(op, rng);
      op.type = OpType::kOk;
      op.call = 2 * i, op.ret = 2 * i + 1;
      ops.push_back(op);
    }
    const History history = linearizable::history_of(toy, std::vector<ToyHistory>{ops});
    const auto groups = linearizable::group_by_part(history, model);
    part = groups[0].part;
    for (uint32_t id : groups[0].ids) {
      const Operation operation = history[id];
      ModelOp op{operation.f(), operation.key(), operation.argument(), operation.result(),
                 operation.type()};
      if (model.role(history.header(), operation, op) == CallRole::kMust) all.push_back(op);
    }
  }
  const ModelOp& draw(Rng& rng) const { return all[rng.below(all.size())]; }
  bool observes(const ModelOp& op) const { return model_.effect(op) == CallEffect::kObserves; }

  ModelPart part;
  std::vector<ModelOp> all;

 private:
  const Model& model_;
};

StateId walk(ModelStates& states, StateId state, const std::vector<ModelOp>& ops) {
  for (const ModelOp& op : ops) {
    if (state != kNoState) state = states.step(state, op);
  }
  return state;
}

void for_each_model(const std::function<void(const Model&, const RandomCalls&, Rng&)>& fn) {
  for (const auto& toy : all_toys()) {
    SCOPED_TRACE(toy->model());
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      Rng rng(seed);
      const Model& model = *find_model(toy->model());
      fn(model, RandomCalls(*toy, model, rng.stream("calls")), rng);
    }
  }
}

TEST(Models, WhatObservesNeverChangesTheState) {
  for_each_model([](const Model& model, const RandomCalls& calls, Rng& rng) {
    const auto states = model.states();
    StateId state = states->initial(calls.part);
    for (int i = 0; i < 100; ++i) {
      const ModelOp& op = calls.draw(rng);
      const StateId next = states->step(state, op);
      ASSERT_TRUE(!calls.observes(op) || next == kNoState || next == state);
      if (next != kNoState) state = next;
    }
  });
}

TEST(Models, WhatIsHiddenLeavesNoTrace) {
  size_t hidden = 0;
  for_each_model([&](const Model& model, const RandomCalls& calls, Rng& rng) {
    const auto states = model.states();
    StateId state = states->initial(calls.part);
    for (int i = 0; i < 100; ++i) {
      const ModelOp &earlier = calls.draw(rng), &later = calls.draw(rng);
      const StateId next = states->step(state, calls.draw(rng));
      if (next != kNoState) state = next;
      if (calls.observes(earlier) || !model.hides(later, earlier)) continue;
      ++hidden;
      ASSERT_EQ(walk(*states, state, {earlier, later}), states->step(state, later));
      ASSERT_NE(states->step(state, earlier), kNoState);
    }
  });
  EXPECT_GT(hidden, 1000u);
}

TEST(Models, ResetsThatOverwriteLeadToOneStateFromEveryOther) {
  size_t overwritten = 0;
  for_each_model([&](const Model& model, const RandomCalls& calls, Rng& rng) {
    if (!model.resets_overwrite()) return;
    const auto states = model.states();
    StateId state = states->initial(calls.part);
    for (int i = 0; i < 100; ++i) {
      const ModelOp& op = calls.draw(rng);
      if (calls.observes(op)) continue;
      const StateId next = states->step(state, op);
      ASSERT_NE(next, kNoState);
      if (model.effect(op) == CallEffect::kResets) {
        ++overwritten;
        ASSERT_EQ(next, states->step(states->initial(calls.part), op));
      }
      state = next;
    }
  });
  EXPECT_GT(overwritten, 1000u);
}

TEST(Models, WhatIsLostStaysLostUntilAResetThatShows) {
  size_t lost = 0;
  for_each_model([&](const Model& model, const RandomCalls& calls, Rng& rng) {
    const auto states = model.states();
    for (int i = 0; i < 100; ++i) {
      StateId state = walk(*states, states->initial(calls.part), {calls.draw(rng), calls.draw(rng)});
      const ModelOp& observer = calls.draw(rng);
      if (state == kNoState || !calls.observes(observer)) continue;
      if (!states->lost(state, observer)) continue;
      ++lost;
      for (int step = 0; step < 10; ++step) {
        ASSERT_EQ(states->step(state, observer), kNoState);
        const ModelOp& op = calls.draw(rng);
        if (model.effect(op) == CallEffect::kResets && model.shows(observer, op)) continue;
        const StateId next = states->step(state, op);
        if (next != kNoState) state = next;
      }
    }
  });
  EXPECT_GT(lost, 1000u);
}

TEST(Models, WhatShowsInNothingCanBeLeftOut) {
  size_t left_out = 0;
  for_each_model([&](const Model& model, const RandomCalls& calls, Rng& rng) {
    const auto states = model.states();
    for (int i = 0; i < 200; ++i) {
      const ModelOp& change = calls.draw(rng);
      if (calls.observes(change)) continue;
      std::vector<ModelOp> before, after;
      for (uint64_t n = rng.below(3); n > 0; --n) before.push_back(calls.draw(rng));
      for (uint64_t n = rng.below(4); n > 0; --n) after.push_back(calls.draw(rng));
      const StateId start = walk(*states, states->initial(calls.part), before);
      if (start == kNoState || states->step(start, change) == kNoState) continue;
      if (walk(*states, states->step(start, change), after) == kNoState) continue;
      const bool shows = std::any_of(after.begin(), after.end(), [&](const ModelOp& later) {
        return model.shows(later, change);
      });
      if (shows) continue;
      ++left_out;
      ASSERT_NE(walk(*states, start, after), kNoState);
    }
  });
  EXPECT_GT(left_out, 1000u);
}

// --- Verdicts.
Verdict judged(std::string_view script, std::string_view header = "") {
  const History history = history_of(script, header);
  const auto accepted = linearizable_checker().accepts(history);
  EXPECT_TRUE(accepted) << accepted.error().message;
  return linearizable_checker().check(history, Budget{});
}

struct Case {
  const char* model;
  const char* script;
  const char* reason;  // of an invalid one; else empty
  const char* first_line;
};

TEST(Models, EachAcceptsWhatItShouldAndRejectsWhatItMust) {
  const Case cases[] = {
      {"kv", "0 invoke append k \"a\"\n1 invoke get k\n1 ok get k \"a\"\n0 ok append k \"a\"\n", "", ""},
      {"kv",
       "0 invoke put k \"a\"\n0 ok put k \"a\"\n0 invoke append k \"b\"\n0 ok append k \"b\"\n"
       "1 invoke get k\n1 ok get k \"a\"\n",
       "get of a value that no order explains on k",
       "p1 got \"a\", 1 ms after p0 appended \"b\", and nothing changed it from \"ab\""},
      {"mutex",
       "0 invoke acquire\n0 ok acquire\n0 invoke release\n1 invoke acquire\n1 ok acquire\n"
       "0 info release\n",
       "", ""},
      {"mutex", "0 invoke acquire\n0 ok acquire\n1 invoke acquire\n1 ok acquire\n",
       "lock acquired while it was held",
       "p1 acquired the lock, 1 ms after p0 acquired the lock, and nothing changed it from held"},
      {"set", "0 invoke add 1\n0 ok add 1\n1 invoke add 2\n0 invoke read\n0 ok read [2,1]\n", "", ""},
      {"set", "0 invoke add 1\n0 ok add 1\n0 invoke read\n0 ok read []\n",
       "read of elements that no order explains",
       "p0 read [], 1 ms after p0 added 1, and nothing changed it from [1]"},
      {"multi-register",
       "0 invoke txn [[\"write\",\"x\",1],[\"write\",\"y\",1]]\n"
       "1 invoke txn [[\"read\",\"y\",null],[\"read\",\"x\",null]]\n"
       "0 ok txn [[\"write\",\"x\",1],[\"write\",\"y\",1]]\n"
       "1 ok txn [[\"read\",\"y\",1],[\"read\",\"x\",1]]\n",
       "", ""},
      {"multi-register",
       "0 invoke txn [[\"write\",\"x\",1],[\"write\",\"y\",1]]\n"
       "1 invoke txn [[\"read\",\"y\",null],[\"read\",\"x\",null]]\n"
       "0 ok txn [[\"write\",\"x\",1],[\"write\",\"y\",1]]\n"
       "1 ok txn [[\"read\",\"y\",1],[\"read\",\"x\",null]]\n",
       "values of registers that no order explains on x+y", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.script);
    const Verdict verdict = judged(c.script);
    EXPECT_THAT(verdict.facts, Contains(Pair(std::string(fact::kConvention),
                                             "the model is " + std::string(c.model) + " (guessed)")));
    const bool valid = c.reason[0] == 0;
    EXPECT_EQ(verdict.word(), valid ? Word::kValid : Word::kInvalid) << verdict.reason;
    if (valid) continue;
    EXPECT_EQ(verdict.reason, c.reason);
    ASSERT_TRUE(verdict.children.at(0).witness);
    EXPECT_THAT(verdict.children[0].witness->lines[0], HasSubstr(c.first_line));
    EXPECT_LE(verdict.children[0].witness->operations.size(), 6u);
  }
}

TEST(Models, AWitnessSaysOnWhoseWordItRests) {
  const Verdict rests = judged(
      "0 invoke acquire\n0 ok acquire\n0 invoke release\n0 fail release error=timeout\n"
      "1 invoke acquire\n1 ok acquire\n");
  EXPECT_THAT(rests.children.at(0).facts,
              Contains(Pair(std::string(fact::kRestsOn), HasSubstr("rests on operation 2"))));
}

TEST(Models, WhatAModelDoesNotHaveIsAnInputError) {
  const Checker& checker = linearizable_checker();
  auto refused = [&](std::string_view script, std::string_view header) {
    const auto accepted = checker.accepts(history_of(script, header));
    EXPECT_FALSE(accepted);
    return accepted ? "" : accepted.error().message;
  };
  EXPECT_EQ(refused("0 invoke read k\n", R"({"model":"kv"})"),
            "operation 0: the model kv judges get, put, append and delete, not read");
  EXPECT_THAT(refused("0 invoke append k 5\n", R"({"model":"kv"})"),
              HasSubstr("operation 0: append needs a text, found 5"));
  EXPECT_THAT(refused("0 invoke txn [[\"append\",\"x\",1]]\n", R"({"model":"multi-register"})"),
              HasSubstr("needs [[\"read\" or \"write\", register, value], ...]"));
  EXPECT_THAT(refused("0 invoke read k\n", R"({"model":"queue"})"),
              HasSubstr("register, cas-register, multi-register, mutex, kv, set"));
  // An answer to other steps than those that were asked for.
  const std::string asked = "0 invoke txn [[\"write\",\"x\",1],[\"read\",\"y\",null]]\n0 ok txn ";
  for (const char* answer : {"[[\"write\",\"x\",2],[\"read\",\"y\",null]]", "[[\"write\",\"x\",1]]",
                             "[[\"write\",\"x\",1],[\"read\",\"z\",null]]",
                             "[[\"read\",\"x\",1],[\"read\",\"y\",null]]"}) {
    EXPECT_THAT(refused(asked + answer + "\n", R"({"model":"multi-register"})"),
                HasSubstr("operation 0: txn needs an answer to the steps that were asked for"));
  }
  EXPECT_TRUE(checker.accepts(history_of(
      asked + "[[\"write\",\"x\",1],[\"read\",\"y\",5]]\n", R"({"model":"multi-register"})")));
}

TEST(Models, WhereNothingNeedNotHaveFittedTheVerdictIsVacuous) {
  struct Told {
    const char* script;
    Safety safety;
  };
  const Told cases[] = {
      {"0 invoke append k \"a\"\n0 ok append k \"a\"\n", Safety::kVacuous},
      {"0 invoke add 1\n0 ok add 1\n0 invoke read\n0 info read\n", Safety::kVacuous},
      {"0 invoke add 1\n0 ok add 1\n0 invoke read\n0 ok read [1]\n", Safety::kValid},
      {"0 invoke acquire\n0 ok acquire\n", Safety::kValid},
      {"0 invoke txn [[\"write\",\"x\",1]]\n0 ok txn [[\"write\",\"x\",1]]\n", Safety::kVacuous},
      {"0 invoke txn [[\"read\",\"x\",null],[\"write\",\"x\",1]]\n"
       "0 ok txn [[\"read\",\"x\",null],[\"write\",\"x\",1]]\n",
       Safety::kValid},
  };
  for (const Told& c : cases) EXPECT_EQ(judged(c.script).safety, c.safety) << c.script;
  const auto by_search = [](const char* script) {
    return check_model(history_of(script), cas_register_model(), Budget{}).safety;
  };
  EXPECT_EQ(by_search("0 invoke write k 1\n0 ok write k 1\n"), Safety::kVacuous);
  EXPECT_EQ(by_search("0 invoke cas k [null,1]\n0 ok cas k [null,1]\n"), Safety::kValid);
}

TEST(Models, AnInitialValueThatAModelDoesNotHaveIsAnInputError) {
  struct Given {
    const char* model;
    const char* initial;
    const char* error;  // empty: accepted
  };
  const Given cases[] = {
      {"set", "null", ""},
      {"set", "[1]", ""},
      {"set", R"({"s":[1]})", ""},
      {"set", "5", "initial: the model set begins with an array of elements, or null, found 5"},
      {"set", R"({"s":5})", "found 5"},
      {"mutex", "\"free\"", ""},
      {"mutex", "true", ""},
      {"mutex", "0", "initial: the model mutex begins with \"free\" (or null, false) or"},
      {"mutex", "\"busy\"", "found \"busy\""},
      {"kv", "\"\"", ""},
      {"kv", "[1]", "initial: the model kv begins with a text, a number, true, false or null"},
      {"register", "[1]", ""},
  };
  for (const Given& c : cases) {
    const History history = history_of(
        "", R"({"model":")" + std::string(c.model) + R"(","initial":)" + c.initial + "}");
    const auto accepted = linearizable_checker().accepts(history);
    EXPECT_EQ(accepted.ok(), *c.error == 0) << c.model << c.initial;
    if (!accepted) {
      EXPECT_THAT(accepted.error().message, HasSubstr(c.error)) << c.initial;
    }
  }
}

TEST(Models, TheMicroOperationsOfJepsenAreStepsOfTheMultiRegister) {
  const auto judge = [](const std::string& found) {
    const auto history = parse_history(
        "{:process 0, :type :invoke, :f :txn, :value [[:w :x 1] [:w :y 2]]}\n"
        "{:process 0, :type :ok, :f :txn, :value [[:w :x 1] [:w :y 2]]}\n"
        "{:process 1, :type :invoke, :f :txn, :value [[:r :x nil] [:w :y 3]]}\n"
        "{:process 1, :type :ok, :f :txn, :value [[:r :x 1] [:w :y 3]]}\n"
        "{:process 0, :type :invoke, :f :txn, :value [[:r :y nil]]}\n"
        "{:process 0, :type :ok, :f :txn, :value [[:r :y " +
        found + "]]}\n");
    EXPECT_TRUE(history) << history.error().message;
    const auto accepted = linearizable_checker().accepts(*history);
    EXPECT_TRUE(accepted) << accepted.error().message;
    return linearizable_checker().check(*history, Budget{}).word();
  };
  EXPECT_EQ(judge("3"), Word::kValid);
  EXPECT_EQ(judge("2"), Word::kInvalid);
}

TEST(Models, OperationsWithAKeyAndOnesWithoutAreNotOfOneHistory) {
  struct Mixed {
    const char* script;
    const char* error;  // empty: accepted
  };
  const Mixed cases[] = {
      {"0 invoke write k 1\n0 ok write k 1\n0 invoke read\n0 ok read 1\n",
       "operation 2: expected a key as operation 0 has one, \"k\", found none"},
      {"0 invoke put 1\n0 ok put 1\n1 invoke get k\n",
       "operation 0: expected a key as operation 2"},
      {"0 invoke write k 1\n0 ok write\n0 invoke read\n0 ok read k 1\n", ""},
      {"0 invoke write 1\n0 ok write 1\n0 invoke read\n0 ok read 1\n", ""},
      {"0 invoke txn [[\"write\",\"x\",1]]\n1 invoke read x\n", ""},
      {"0 invoke txn [[\"write\",\"x\",1]]\n1 invoke read\n",
       "operation 1: expected a key as operation 0 has one, found none"},
  };
  for (const Mixed& c : cases) {
    const auto accepted = linearizable_checker().accepts(history_of(c.script));
    EXPECT_EQ(accepted.ok(), *c.error == 0) << c.script;
    if (!accepted) {
      EXPECT_THAT(accepted.error().message, HasSubstr(c.error)) << c.script;
    }
  }
}

TEST(Models, ASetMayBeginWithElements) {
  const Checker& checker = linearizable_checker();
  auto judge = [&](const char* read) {
    return checker
        .check(history_of(std::string("0 invoke add s 3\n0 ok add s 3\n1 invoke read s\n1 ok read s ") +
                              read + "\n",
                          R"({"model":"set","initial":[1,2]})"),
               Budget{})
        .safety;
  };
  EXPECT_EQ(judge("[3,2,1]"), Safety::kValid);
  EXPECT_EQ(judge("[3]"), Safety::kInvalid);
}

TEST(Models, AnExhaustedBudgetIsUnknownWithTheEventReached) {
  std::string script;
  for (int i = 0; i < 12; ++i) script += std::to_string(i) + " invoke append k \"" + std::to_string(i) + "\"\n";
  for (int i = 0; i < 12; ++i) script += std::to_string(i) + " ok append k \"" + std::to_string(i) + "\"\n";
  script += "0 invoke get k\n0 ok get k \"no order gives this\"\n";
  Budget budget;
  budget.exhausted = [] { return true; };
  const Verdict verdict = check_model(history_of(script), kv_model(), budget);
  EXPECT_EQ(verdict.safety, Safety::kUnknown);
  EXPECT_THAT(verdict.reason, HasSubstr("not decided within its budget: 0 of 26 events"));
  EXPECT_EQ(check_model(history_of(script), kv_model(), Budget{}).safety, Safety::kInvalid);
}

}  // namespace
}  // namespace assay
