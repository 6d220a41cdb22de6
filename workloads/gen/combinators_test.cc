#include "workloads/gen/combinators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "workloads/gen/simulate.h"

namespace assay {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::SizeIs;

Op op_named(std::string_view name) {
  Op op;
  op.f = Symbol(name);
  return op;
}

Gen named(std::string_view name) { return gen::always(op_named(name)); }

// Operations that carry 1, 2, 3, …
Gen counting(std::string_view name = "count") {
  return gen::each([op = op_named(name), n = int64_t{0}](const Context&, Worker) mutable {
    op.value = Value(++n);
    return op;
  });
}

std::vector<SimulatedEvent> invocations(const SimulatedRun& run) {
  std::vector<SimulatedEvent> found;
  for (const SimulatedEvent& event : run.events) {
    if (event.op.type == OpType::kInvoke) found.push_back(event);
  }
  return found;
}

std::vector<std::string> names(const SimulatedRun& run) {
  std::vector<std::string> found;
  for (const SimulatedEvent& event : invocations(run)) found.emplace_back(event.op.f.text());
  return found;
}

std::vector<int64_t> milliseconds_of(const std::vector<SimulatedEvent>& events) {
  std::vector<int64_t> found;
  for (const SimulatedEvent& event : events) found.push_back(to_ms(event.op.time));
  return found;
}

SimulatedRun run_on(int clients, Gen gen, SimulateOptions options = {}) {
  options.clients = clients;
  return simulate(*gen, options);
}

// Drives a generator by hand, one question at a time.
class ByHand {
 public:
  ByHand(int clients, Gen gen) : workers_(clients, 0), gen_(std::move(gen)) {}

  Next ask() { return gen_->next(context()); }
  void take(const Next& next) {
    workers_.occupy(next.worker);
    gen_->taken(context(), next);
  }
  void finish(const Next& next, OpType type) {
    workers_.release(next.worker, type == OpType::kInfo);
    gen_->update(context(), next.worker, complete(next.op, type));
  }
  void sleep(Nanos span) { now_ += span; }
  Nanos now() const { return now_; }

 private:
  Context context() const { return {now_, &workers_, 0, workers_.size()}; }
  Workers workers_;
  Gen gen_;
  Nanos now_{};
};

TEST(Workers, TheIdlestIsTheOneThatHasBeenFreeTheLongest) {
  Workers workers(3, 1);
  EXPECT_EQ(workers.idlest(0, 3), 0);
  for (Worker w : {0, 1, 2}) workers.occupy(w);
  EXPECT_EQ(workers.idlest(0, 3), kNoWorker);
  EXPECT_EQ(workers.idlest(0, 4), 3);
  for (Worker w : {1, 2, 0}) workers.release(w, false);
  EXPECT_EQ(workers.idlest(0, 3), 1);
  workers.occupy(1);
  EXPECT_EQ(workers.idlest(0, 3), 2);
  EXPECT_FALSE(workers.all_free(0, 3));
  EXPECT_TRUE(workers.all_free(2, 4));
}

TEST(Workers, ACrashedClientGoesOnUnderANewProcessAndALaneDoesNot) {
  Workers workers(3, 1);
  for (Worker w : {1, 3}) {
    workers.occupy(w);
    workers.release(w, true);
    workers.occupy(w);
    workers.release(w, true);
  }
  EXPECT_EQ(workers.process(1), Process{7});
  EXPECT_EQ(workers.process(3), kNemesis);
}

TEST(Each, KeepsItsOperationUntilItIsTakenWhileTimeAndWorkerFollow) {
  ByHand hand(2, gen::any(counting(), gen::sleep(seconds(1))));
  const Next first = hand.ask();
  hand.sleep(milliseconds(5));
  const Next again = hand.ask();
  EXPECT_EQ(first.op.value, Value(1));
  EXPECT_EQ(again.op.value, Value(1));
  EXPECT_EQ(again.op.time, milliseconds(5));
  hand.take(again);
  const Next second = hand.ask();
  EXPECT_EQ(second.op.value, Value(2));
  EXPECT_EQ(second.worker, 1);
  EXPECT_EQ(second.op.process, Process{1});
  hand.take(second);
  EXPECT_EQ(hand.ask().kind, Next::Kind::kPending);
}

TEST(Limit, GivesExactlyItsCount) {
  EXPECT_THAT(names(run_on(3, gen::limit(7, named("a")))), SizeIs(7));
  EXPECT_THAT(names(run_on(3, gen::limit(0, named("a")))), SizeIs(0));
  EXPECT_THAT(names(run_on(3, gen::once(named("a")))), SizeIs(1));
}

TEST(TimeLimit, GivesNothingThatIsDueAtTheEndOrLaterAndTakesTheWholeSpan) {
  const auto run = run_on(
      1, gen::sequence(
             gen::sleep(seconds(1)),
             gen::time_limit(seconds(1), gen::stagger(milliseconds(300), Rng(1), named("a"))),
             gen::once(named("b"))));
  const auto made = invocations(run);
  ASSERT_GE(made.size(), 3u);
  for (size_t i = 0; i + 1 < made.size(); ++i) {
    EXPECT_EQ(made[i].op.f.text(), "a");
    EXPECT_LT(made[i].op.time, seconds(2));
  }
  EXPECT_EQ(made.back().op.f.text(), "b");
  EXPECT_EQ(made.back().op.time, seconds(2));
  EXPECT_TRUE(run.done);
}

TEST(TimeLimit, DoesNotEvenProposeWhatIsDueTooLate) {
  int too_late = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    ByHand hand(2, gen::time_limit(seconds(1), gen::stagger(seconds(1), Rng(seed), named("a"))));
    hand.take(hand.ask());
    const Next next = hand.ask();  // due within 2 s
    if (next.kind == Next::Kind::kOp) {
      EXPECT_LT(next.op.time, seconds(1));
    } else {
      EXPECT_EQ(next.ask_again(), seconds(1));
      ++too_late;
    }
  }
  EXPECT_NEAR(too_late, 25, 15);
}

TEST(TimeLimit, EndsEarlyWithItsChild) {
  const auto run = run_on(1, gen::time_limit(seconds(9), gen::once(named("a"))));
  EXPECT_EQ(run.end, milliseconds(1));
}

TEST(UntilOk, EndsAtTheFirstOkOfItsOwnOperations) {
  SimulateOptions options;
  options.lanes = 0;
  options.effect = [n = 0](const Op& op, Worker) mutable {
    if (op.f.text() == "other") return complete(op, OpType::kOk);
    return complete(op, ++n < 4 ? OpType::kFail : OpType::kOk);
  };
  const auto run = run_on(2,
                          gen::any(gen::on_workers(0, 1, gen::until_ok(named("mine"))),
                                   gen::on_workers(1, 2, gen::limit(20, named("other")))),
                          options);
  const auto found = names(run);
  EXPECT_EQ(std::count(found.begin(), found.end(), "mine"), 4);
}

TEST(UntilOk, IsNotEndedByAnOkOfAnotherOnItsWorkers) {
  SimulateOptions options;
  options.operations_max = 50;
  options.effect = [](const Op& op, Worker) {
    return complete(op, op.f.text() == "other" ? OpType::kOk : OpType::kFail);
  };
  const auto run = run_on(1, gen::any(gen::until_ok(named("mine")), named("other")), options);
  const auto found = names(run);
  EXPECT_EQ(std::count(found.begin(), found.end(), "mine"), 25);
}

struct StaggerCase {
  int clients;
  int64_t per_second;
};

class StaggerRate : public ::testing::TestWithParam<StaggerCase> {};

TEST_P(StaggerRate, IsTheTotalOverAllWorkers) {
  const auto [clients, per_second] = GetParam();
  const Nanos interval = seconds(1) / per_second;
  SimulateOptions options;
  options.until = seconds(20);
  options.latency = drawn_latency(Rng(5), microseconds(100));
  const auto made =
      invocations(run_on(clients, gen::stagger(interval, Rng(2), named("a")), options));
  EXPECT_NEAR(static_cast<double>(made.size()), static_cast<double>(20 * per_second),
              0.04 * 20 * static_cast<double>(per_second));
  Nanos last{};
  int64_t below_half = 0;
  for (const SimulatedEvent& event : made) {
    // Late at most by what one worker's operation takes.
    EXPECT_LE(event.op.scheduled, event.op.time);
    EXPECT_LT(event.op.time - event.op.scheduled, microseconds(200));
    const Nanos gap = event.op.time - last;
    EXPECT_LT(gap, interval * 2 + microseconds(200));
    below_half += gap < interval / 2;
    last = event.op.time;
  }
  // Uniform in [0, 2 interval): a quarter of the gaps is below half an interval.
  EXPECT_NEAR(static_cast<double>(below_half), 0.25 * static_cast<double>(made.size()),
              0.04 * static_cast<double>(made.size()));
}

INSTANTIATE_TEST_SUITE_P(Rates, StaggerRate,
                         ::testing::Values(StaggerCase{1, 100}, StaggerCase{5, 100},
                                           StaggerCase{20, 1000}, StaggerCase{7, 333}));

TEST(Stagger, AnOperationThatFoundNoWorkerGoesAheadLateAndNoBurstFollows) {
  ByHand hand(1, gen::stagger(milliseconds(10), Rng(3), counting()));
  const Next first = hand.ask();
  hand.take(first);
  const Next waits = hand.ask();
  EXPECT_EQ(waits.kind, Next::Kind::kPending);
  hand.sleep(seconds(1));
  hand.finish(first, OpType::kOk);
  const Next late = hand.ask();
  EXPECT_LT(late.op.scheduled, milliseconds(20));  // when it was due
  EXPECT_LE(late.op.time, hand.now());             // it may go ahead at once
  hand.take(late);
  hand.finish(late, OpType::kOk);
  int at_once = 0;
  for (int i = 0; i < 5; ++i) {
    const Next next = hand.ask();
    if (next.op.time <= hand.now()) ++at_once;
    if (next.op.time > hand.now()) hand.sleep(next.op.time - hand.now());
    hand.take(next);
    hand.finish(next, OpType::kOk);
  }
  EXPECT_EQ(at_once, 0);
  EXPECT_GT(hand.now(), milliseconds(1010));
}

TEST(Stagger, ACallerThatAsksLateDoesNotLowerTheRate) {
  ByHand hand(50, gen::stagger(microseconds(100), Rng(4), named("a")));
  int taken = 0;
  while (hand.now() < seconds(1)) {
    const Next next = hand.ask();
    if (next.op.time > hand.now()) {
      hand.sleep(next.op.time - hand.now() + microseconds(60));
      continue;
    }
    hand.take(next);
    hand.finish(next, OpType::kOk);
    ++taken;
  }
  EXPECT_NEAR(taken, 10'000, 400);
}

TEST(Stagger, ACallerThatStoodStillMakesUpOneMillisecondAtMost) {
  ByHand hand(50, gen::stagger(microseconds(100), Rng(4), named("a")));
  hand.take(hand.ask());
  hand.ask();
  hand.sleep(seconds(2));
  int at_once = 0;
  for (Next next = hand.ask(); next.op.time <= hand.now(); next = hand.ask()) {
    hand.take(next);
    ++at_once;
  }
  EXPECT_GE(at_once, 2);
  EXPECT_LE(at_once, 30);
}

TEST(Stagger, NemesisOperationsCarryNoSchedule) {
  SimulateOptions options;
  options.lanes = 1;
  const auto run =
      run_on(0, gen::stagger(seconds(1), Rng(1), gen::limit(3, named("start-kill"))), options);
  EXPECT_THAT(invocations(run), SizeIs(3));
  for (const auto& event : run.events) EXPECT_EQ(event.op.scheduled, Nanos{-1});
}

TEST(Sequence, BeginsTheNextWhileOperationsOfTheLastAreUnderWay) {
  const auto run = run_on(2, gen::sequence(gen::once(named("a")), gen::once(named("b"))));
  EXPECT_THAT(names(run), ElementsAre("a", "b"));
  EXPECT_THAT(milliseconds_of(invocations(run)), ElementsAre(0, 0));
}

TEST(Phases, BeginEachOnlyWhenAllWorkersAreFree) {
  SimulateOptions options;
  options.latency = [](const Op&, Worker w) { return Latency{Nanos{}, milliseconds(10 + w)}; };
  const auto run = run_on(
      3, gen::phases(gen::limit(3, named("a")), gen::once(named("b")), gen::limit(3, named("c"))),
      options);
  EXPECT_THAT(names(run), ElementsAre("a", "a", "a", "b", "c", "c", "c"));
  EXPECT_THAT(milliseconds_of(invocations(run)), ElementsAre(0, 0, 0, 12, 22, 22, 22));
}

TEST(Sleep, WaitsFromWhenItIsReachedOrUntilAPoint) {
  const auto run =
      run_on(1, gen::sequence(gen::sleep(milliseconds(30)), gen::once(named("a")),
                              gen::sleep(milliseconds(30)), gen::once(named("b")),
                              gen::sleep_until(milliseconds(100)), gen::once(named("c")),
                              gen::sleep_until(milliseconds(50)), gen::once(named("d"))));
  EXPECT_THAT(milliseconds_of(invocations(run)), ElementsAre(30, 60, 100, 101));
  EXPECT_TRUE(run.done);
}

TEST(Repeat, MakesANewGeneratorEachTime) {
  const auto twice = [] {
    return gen::sequence(gen::once(named("a")), gen::sleep(milliseconds(5)), gen::once(named("b")));
  };
  const auto run = run_on(1, gen::repeat(2, twice));
  EXPECT_THAT(names(run), ElementsAre("a", "b", "a", "b"));
  SimulateOptions options;
  options.operations_max = 7;
  EXPECT_THAT(names(run_on(1, gen::cycle(twice), options)), SizeIs(7));
}

TEST(Cycle, OfSomethingThatIsDoneAtOnceIsDone) {
  const auto run = run_on(1, gen::cycle([] { return gen::limit(0, named("a")); }));
  EXPECT_TRUE(run.done);
  EXPECT_TRUE(run.events.empty());
}

TEST(Mix, FollowsItsWeightsAndItsSeed) {
  const auto mixed = [](uint64_t seed) {
    return names(run_on(
        2, gen::limit(6000, gen::mix(Rng(seed), gen::weighted(1, named("a")),
                                     gen::weighted(2, named("b")), gen::weighted(3, named("c"))))));
  };
  const auto found = mixed(1);
  EXPECT_NEAR(std::count(found.begin(), found.end(), "a"), 1000, 120);
  EXPECT_NEAR(std::count(found.begin(), found.end(), "b"), 2000, 150);
  EXPECT_NEAR(std::count(found.begin(), found.end(), "c"), 3000, 150);
  EXPECT_EQ(found, mixed(1));
  EXPECT_NE(found, mixed(2));
}

TEST(Mix, KeepsTheChildThatItDrewUntilItsOperationIsTaken) {
  ByHand hand(1000, gen::mix(Rng(1), gen::weighted(1, named("a")), gen::weighted(1, named("b"))));
  for (int i = 0; i < 20; ++i) {
    const Next first = hand.ask();
    for (int j = 0; j < 20; ++j) ASSERT_EQ(hand.ask().op.f, first.op.f);
    hand.take(first);
  }
}

TEST(Mix, GoesOnWithoutTheChildrenThatAreDone) {
  const auto run = run_on(2, gen::mix(Rng(1), gen::weighted(5, gen::limit(3, named("a"))),
                                      gen::weighted(1, gen::limit(4, named("b")))));
  EXPECT_TRUE(run.done);
  auto found = names(run);
  std::sort(found.begin(), found.end());
  EXPECT_THAT(found, ElementsAre("a", "a", "a", "b", "b", "b", "b"));
}

TEST(Any, TakesWhatIsDueFirstAndHonoursEveryWake) {
  const auto run =
      run_on(4, gen::any(gen::sequence(gen::sleep(milliseconds(30)), gen::once(named("a"))),
                         gen::stagger(seconds(2), Rng(1), gen::limit(2, named("b"))),
                         gen::sequence(gen::sleep(milliseconds(20)), gen::once(named("c")))));
  EXPECT_THAT(names(run), ElementsAre("b", "c", "a", "b"));
  const auto times = milliseconds_of(invocations(run));
  EXPECT_EQ(times[1], 20);
  EXPECT_EQ(times[2], 30);
  EXPECT_TRUE(run.done);
}

TEST(Any, DoesNotLetTheSlowerChildKeepTheFasterWaiting) {
  SimulateOptions options;
  options.until = seconds(20);
  const auto found = names(run_on(4,
                                  gen::any(gen::stagger(seconds(1), Rng(1), named("slow")),
                                           gen::stagger(milliseconds(50), Rng(2), named("fast"))),
                                  options));
  EXPECT_NEAR(std::count(found.begin(), found.end(), "slow"), 20, 8);
  EXPECT_NEAR(std::count(found.begin(), found.end(), "fast"), 400, 40);
}

TEST(Any, ServesEqualsByTurns) {
  SimulateOptions options;
  options.operations_max = 300;
  const auto found = names(run_on(1, gen::any(named("a"), named("b"), named("c")), options));
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(std::count(found.begin(), found.end(), name), 100) << name;
  }
}

TEST(Reserve, GivesEachChildItsOwnWorkersAndStarvesNone) {
  SimulateOptions options;
  options.operations_max = 3000;
  options.latency = drawn_latency(Rng(7), milliseconds(3));
  const auto run = run_on(10,
                          gen::reserve(gen::listed<gen::Reserved>(gen::reserved(2, named("a")),
                                                                  gen::reserved(3, named("b"))),
                                       named("c")),
                          options);
  std::map<Worker, int> count;
  for (const SimulatedEvent& event : invocations(run)) {
    EXPECT_EQ(event.op.f.text(), event.worker < 2 ? "a" : event.worker < 5 ? "b" : "c");
    ++count[event.worker];
  }
  ASSERT_THAT(count, SizeIs(10));
  for (const auto& [worker, operations] : count) EXPECT_GT(operations, 200) << worker;
}

TEST(Reserve, IsDoneWhenAllChildrenAre) {
  const auto run = run_on(
      4, gen::reserve(gen::reserved(2, gen::limit(3, named("a"))), gen::limit(5, named("b"))));
  EXPECT_TRUE(run.done);
  EXPECT_THAT(names(run), SizeIs(8));
}

TEST(OnWorkers, LeavesTheOthersAlone) {
  SimulateOptions options;
  options.operations_max = 100;
  options.lanes = 1;
  const auto run = run_on(6,
                          gen::any(gen::on_workers(2, 4, named("a")),
                                   gen::on_workers(6, 7, gen::limit(3, named("start-kill")))),
                          options);
  std::set<Worker> workers;
  for (const SimulatedEvent& event : run.events) {
    workers.insert(event.worker);
    EXPECT_EQ(event.op.process.is_client(), event.worker < 6);
  }
  EXPECT_THAT(workers, ElementsAre(2, 3, 6));
}

TEST(EachWorker, GivesEveryWorkerAGeneratorOfItsOwn) {
  const auto run = run_on(3, gen::each_worker([](Worker) { return gen::limit(2, counting()); }));
  EXPECT_TRUE(run.done);
  std::map<Worker, std::vector<int64_t>> values;
  for (const SimulatedEvent& event : invocations(run)) {
    values[event.worker].push_back(event.op.value.as_int());
  }
  ASSERT_THAT(values, SizeIs(3));
  for (const auto& [worker, found] : values) EXPECT_THAT(found, ElementsAre(1, 2)) << worker;
}

TEST(EachWorker, WakesForTheSoonestOfThem) {
  const auto run =
      run_on(3, gen::each_worker([](Worker w) {
               return gen::sequence(gen::sleep(milliseconds(30 - 10 * w)), gen::once(named("a")));
             }));
  EXPECT_THAT(milliseconds_of(invocations(run)), ElementsAre(10, 20, 30));
}

TEST(EachProcess, MakesANewGeneratorAfterACrash) {
  SimulateOptions options;
  options.effect = [](const Op& op, Worker w) {
    const bool crashes = w == 1 && op.process == Process{1};
    return complete(op, crashes ? OpType::kInfo : OpType::kOk);
  };
  const auto run =
      run_on(2, gen::each_process([](Process) { return gen::limit(3, counting()); }), options);
  EXPECT_TRUE(run.done);
  std::map<Process, std::vector<int64_t>> values;
  for (const SimulatedEvent& event : invocations(run)) {
    values[event.op.process].push_back(event.op.value.as_int());
  }
  EXPECT_THAT(values[Process{0}], ElementsAre(1, 2, 3));
  EXPECT_THAT(values[Process{1}], ElementsAre(1));
  EXPECT_THAT(values[Process{3}], ElementsAre(1, 2, 3));
}

TEST(Map, AltersEveryOperation) {
  const auto run =
      run_on(2, gen::map([](Op& op) { op.key = Symbol("k"); }, gen::limit(5, named("a"))));
  for (const SimulatedEvent& event : run.events) EXPECT_EQ(event.op.key.text(), "k");
  EXPECT_THAT(run.events, SizeIs(10));
}

TEST(Borrow, GoesOnWhereTheOneBeforeWasLeft) {
  const Gen owned = gen::limit(10, counting());
  const auto run = run_on(1, gen::sequence(gen::limit(4, gen::borrow(*owned)),
                                           gen::once(named("between")), gen::borrow(*owned)));
  std::vector<int64_t> values;
  for (const SimulatedEvent& event : invocations(run)) {
    if (event.op.value.is_int()) values.push_back(event.op.value.as_int());
  }
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

// Everything that completes in these tests goes through it, so it must keep the runner's order.
TEST(Simulate, DrainsCompletionsBeforeItInvokesAndPairsEveryOperation) {
  SimulateOptions options;
  options.operations_max = 2000;
  options.latency = drawn_latency(Rng(1), microseconds(5));
  options.effect = drawn_outcome(Rng(2), 100, 50);
  const auto run = run_on(6, named("a"), options);
  std::map<Process, bool> open;
  std::set<Process> crashed;
  Nanos last{};
  bool invoked_now = false;
  for (const SimulatedEvent& event : run.events) {
    if (event.op.time != last) invoked_now = false;
    const bool invocation = event.op.type == OpType::kInvoke;
    EXPECT_GE(event.op.time, last);
    EXPECT_FALSE(invoked_now && !invocation) << "a completion after an invocation of its moment";
    EXPECT_EQ(open[event.op.process], !invocation);
    EXPECT_EQ(event.op.process.id % 6, event.worker);
    EXPECT_FALSE(crashed.contains(event.op.process));
    open[event.op.process] = invocation;
    if (event.op.type == OpType::kInfo) crashed.insert(event.op.process);
    invoked_now |= invocation;
    last = event.op.time;
  }
  EXPECT_EQ(run.events.size(), 4000u);
  EXPECT_GT(crashed.size(), 20u);
  for (const auto& [process, is_open] : open) EXPECT_FALSE(is_open) << process.id;
}

TEST(Simulate, SaysWhenAGeneratorWaitsForNothing) {
  SimulateOptions options;
  const auto run = run_on(2, gen::on_workers(1, 1, named("a")), options);
  EXPECT_TRUE(run.stuck);
  EXPECT_FALSE(run.done);
}

}  // namespace
}  // namespace assay
