#include "workloads/intents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/gen/simulate.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Writes what it has read, plus one.
class Increment final : public Change {
 public:
  void begin() override { ++begun; }
  std::optional<Op> decide(const Op& seen) override {
    Op write;
    write.f = f::write;
    write.value = Value(seen.value.is_int() ? seen.value.as_int() + 1 : int64_t{1});
    write.expected = guard_of(seen);
    return write;
  }
  int begun = 0;
};

Op conflict(const Op& op) {
  return complete(op, OpType::kFail, {Symbol("conflict"), "", Token(int64_t{9}), {}});
}

class IntentsTest : public ::testing::Test {
 protected:
  // One worker, against answers of `effect`, until `until`; gives the invocations.
  std::vector<Op> run(const Retry& retry, Nanos until, std::function<Op(const Op&, Worker)> effect,
                      int64_t operations = 0) {
    IntentOptions options;
    options.retry = retry;
    options.rest_max = rest_max_;
    const auto numbers = std::make_shared<Numbers>();
    auto gen = actors(
        [&](int) {
          return intents(std::make_unique<Increment>(), options, numbers, Rng(1));
        },
        operations);
    SimulateOptions simulation;
    simulation.clients = 1;
    simulation.until = until;
    simulation.effect = std::move(effect);
    simulated_ = simulate(*gen, simulation);
    std::vector<Op> invocations;
    for (const SimulatedEvent& event : simulated_.events)
      if (event.op.type == OpType::kInvoke) invocations.push_back(event.op);
    return invocations;
  }
  Nanos rest_max_;
  static std::string told(const std::vector<Op>& ops) {
    std::string text;
    for (const Op& op : ops) {
      text += std::string(op.f.text()) + std::to_string(op.extra["intent"].as_int());
      if (op.extra.bool_or("gives_up", false)) text += "!";
      text += " ";
    }
    return text;
  }

  SimulatedRun simulated_;
};

TEST_F(IntentsTest, ReadAgainAfterAConflictAndBeginAnewAfterAnOk) {
  int writes = 0;
  const auto ops = run({}, milliseconds(400), [&](const Op& op, Worker) {
    if (op.f == f::write && ++writes == 1) return conflict(op);
    Op done = complete(op, OpType::kOk);
    done.value = op.f == f::read ? Value(7) : op.value;
    done.revision = Token(int64_t{5});
    return done;
  });
  ASSERT_GT(ops.size(), 6u);
  EXPECT_EQ(told({ops.begin(), ops.begin() + 6}), "read1 write1 read1 write1 read2 write2 ");
  EXPECT_EQ(ops[1].expected, Token(int64_t{5}));
  EXPECT_EQ(ops[1].value, Value(8));
}

TEST_F(IntentsTest, GiveUpAfterTheirLastAttemptAndSaySoInIt) {
  const auto ops = run({.attempts_max = 3}, milliseconds(200), [](const Op& op, Worker) {
    return op.f == f::write ? conflict(op) : complete(op, OpType::kOk);
  });
  ASSERT_GT(ops.size(), 8u);
  EXPECT_EQ(told({ops.begin(), ops.begin() + 7}),
            "read1 write1 read1 write1 read1 write1! read2 ");
}

TEST_F(IntentsTest, EndWithAnUnknownOutcome) {
  int writes = 0;
  const auto ops = run({}, milliseconds(100), [&](const Op& op, Worker) {
    if (op.f == f::write && ++writes == 1) return complete(op, OpType::kInfo);
    return complete(op, OpType::kOk);
  });
  ASSERT_GT(ops.size(), 3u);
  EXPECT_EQ(told({ops.begin(), ops.begin() + 3}), "read1 write1 read2 ");
}

TEST_F(IntentsTest, PauseLongerAfterEachConflictWhereThePolicySaysSo) {
  const auto ops =
      run({.attempts_max = 4, .factor = 5, .jitter_percent = 0}, seconds(1),
          [](const Op& op, Worker) {
            return op.f == f::write ? conflict(op) : complete(op, OpType::kOk);
          });
  ASSERT_GT(ops.size(), 6u);
  std::vector<int64_t> pauses;
  for (size_t i = 2; i <= 6; i += 2)  // a write takes 1 ms
    pauses.push_back((ops[i].time - ops[i - 1].time).count / 1'000'000 - 1);
  EXPECT_THAT(pauses, ElementsAre(10, 50, 250));
}

TEST_F(IntentsTest, RestBetweenOneAndTheNextAndNeverBetweenLookingAndWriting) {
  rest_max_ = milliseconds(100);
  const auto ops = run({}, seconds(2), [](const Op& op, Worker) { return complete(op, OpType::kOk); });
  ASSERT_GT(ops.size(), 20u);
  int64_t rested = 0;
  for (size_t i = 1; i < ops.size(); ++i) {
    const Nanos gap = ops[i].time - ops[i - 1].time;
    if (ops[i].f == f::write) EXPECT_LE(gap, milliseconds(2));
    if (ops[i].f == f::read) EXPECT_LE(gap, milliseconds(102));
    rested += gap > milliseconds(10);
  }
  EXPECT_GT(rested, 5);
}

TEST_F(IntentsTest, LeaveNothingInTheMiddleWhenTheirOperationsAreUsedUp) {
  const auto ops = run({}, kNever, [](const Op& op, Worker) { return complete(op, OpType::kOk); }, 5);
  EXPECT_TRUE(simulated_.done);
  EXPECT_THAT(ops, SizeIs(6));
  EXPECT_EQ(ops.back().f, f::write);
}

TEST(Actors, WorkSideBySideAndNoneStarves) {
  auto gen = actors([](int) { return reader(); }, 0);
  SimulateOptions simulation;
  simulation.clients = 4;
  simulation.operations_max = 400;
  std::map<Worker, int> operations;
  for (const SimulatedEvent& event : simulate(*gen, simulation).events)
    operations[event.worker] += event.op.type == OpType::kInvoke;
  ASSERT_THAT(operations, SizeIs(4));
  for (const auto& [worker, count] : operations) EXPECT_GT(count, 80) << worker;
}

}  // namespace
}  // namespace assay
