#include "harness/run/runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "checkers/history/history_io.h"
#include "checkers/history/watch_value.h"
#include "targets/virtual_loop.h"
#include "workloads/gen/combinators.h"

namespace assay {
namespace {

Op read_op(const char* key) {
  Op op;
  op.f = f::read;
  op.key = Symbol(key);
  return op;
}

// Answers after a latency, as its script says; never when it says kInvoke.
class FakeClient : public Client {
 public:
  FakeClient(Loop& loop, std::function<OpType(const Op&)> outcome, int& alive)
      : loop_(loop), outcome_(std::move(outcome)), alive_(alive) {
    ++alive_;
  }
  ~FakeClient() override { --alive_; }
  void invoke(const Op& op, std::function<void(Op)> done) override {
    const OpType type = outcome_(op);
    if (type == OpType::kInvoke) {
      lost.push_back(std::move(done));
      last = op;
      return;
    }
    loop_.at(loop_.now() + milliseconds(10),
             [op, type, done = std::move(done)] { done(complete(op, type)); });
  }
  bool usable() const override { return !worn_out; }
  static inline bool worn_out = false;
  static inline std::vector<std::function<void(Op)>> lost;
  static inline Op last;

 private:
  Loop& loop_;
  std::function<OpType(const Op&)> outcome_;
  int& alive_;
};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    FakeClient::lost.clear();
    FakeClient::worn_out = false;
    path_ = testing::TempDir() + "/runner_test." + std::to_string(::getpid()) + ".jsonl";
    EXPECT_TRUE(writer_.open(path_, Value::object({})).ok());
  }
  ~RunnerTest() override { std::filesystem::remove(path_); }

  Runner::Ports ports() {
    return {.open_client =
                [this](Worker, Callback<std::unique_ptr<Client>> done) {
                  ++opened_;
                  loop_.post([this, done = std::move(done)] {
                    if (refuse_) return done(environment_error("no route"));
                    done(std::unique_ptr<Client>(
                        std::make_unique<FakeClient>(loop_, outcome_, alive_)));
                  });
                },
            .node_of = [](Worker w) { return Symbol("n" + std::to_string(w % 3 + 1)); },
            .nemesis =
                [this](Worker, const Op& op, std::function<void(Op)> done) {
                  loop_.at(loop_.now() + seconds(3),
                           [op, done = std::move(done)] { done(complete(op, OpType::kInfo)); });
                }};
  }

  // Runs to the end, and gives the recorded history.
  History play(RunnerOptions options, Gen gen) {
    Runner runner(loop_, recorder_, options, ports());
    bool finished = false;
    runner.run(std::move(gen), [&] { finished = true; });
    loop_.run();
    EXPECT_TRUE(finished);
    counts_ = runner.counts();
    EXPECT_TRUE(writer_.close().ok());
    auto history = read_history(path_);
    EXPECT_TRUE(history.ok()) << history.error().message;
    return std::move(*history);
  }

  VirtualLoop loop_;
  HistoryWriter writer_;
  Recorder recorder_{loop_, writer_, [](const Error& error) { ADD_FAILURE() << error.message; }};
  std::string path_;
  std::function<OpType(const Op&)> outcome_ = [](const Op&) { return OpType::kOk; };
  bool refuse_ = false;
  int opened_ = 0;
  int alive_ = 0;
  RunnerCounts counts_;
};

TEST_F(RunnerTest, AClientThatIsNoLongerUsableIsReplacedBeforeTheNextOperation) {
  FakeClient::worn_out = true;
  const History history = play({.clients = 1}, gen::limit(5, gen::always(read_op("k"))));
  EXPECT_EQ(opened_, 5);
  EXPECT_EQ(alive_, 0);
  for (size_t i = 0; i < history.size(); ++i) EXPECT_EQ(history[i].process().id, 0);
}

TEST_F(RunnerTest, EveryOperationOfTheGeneratorIsRecordedTwice) {
  const History history = play({.clients = 4}, gen::limit(100, gen::always(read_op("k"))));
  EXPECT_EQ(history.size(), 100u);
  EXPECT_EQ(history.events(), 200u);
  EXPECT_EQ(counts_.ok, 100);
  for (size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i].type(), OpType::kOk);
    EXPECT_GE(history[i].return_time() - history[i].invoke_time(), milliseconds(10));
  }
}

TEST_F(RunnerTest, AWorkerRunsOneOperationAtATimeOnItsNode) {
  const History history = play({.clients = 3}, gen::limit(60, gen::always(read_op("k"))));
  std::map<int64_t, Position> last_return;
  for (size_t i = 0; i < history.size(); ++i) {
    const Operation op = history[i];
    const auto found = last_return.find(op.process().id);
    if (found != last_return.end()) {
      EXPECT_LT(found->second, op.invoke_position());
    }
    last_return[op.process().id] = op.return_position();
    EXPECT_EQ(op.node(), Symbol("n" + std::to_string(op.process().id % 3 + 1)));
  }
  EXPECT_EQ(opened_, 3);  // one connection each, kept
}

TEST_F(RunnerTest, AnInfoEndsTheProcessAndTheConnection) {
  int count = 0;
  outcome_ = [&](const Op&) { return ++count % 4 == 0 ? OpType::kInfo : OpType::kOk; };
  const History history = play({.clients = 2}, gen::limit(40, gen::always(read_op("k"))));
  EXPECT_EQ(counts_.info, 10);
  std::set<int64_t> crashed;
  for (size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(crashed.count(history[i].process().id), 0u);
    if (history[i].type() == OpType::kInfo) crashed.insert(history[i].process().id);
  }
  EXPECT_EQ(crashed.size(), 10u);
  for (int64_t process : crashed) EXPECT_LT(process, 2 + 2 * 10);
  EXPECT_GE(opened_, 10);
  EXPECT_EQ(alive_, 0);  // the runner is gone
}

TEST_F(RunnerTest, AFailKeepsTheConnection) {
  outcome_ = [](const Op&) { return OpType::kFail; };
  play({.clients = 1}, gen::limit(10, gen::always(read_op("k"))));
  EXPECT_EQ(opened_, 1);
  EXPECT_EQ(counts_.fail, 10);
}

TEST_F(RunnerTest, AtTheDeadlineAnOperationIsInfoAndALateAnswerIsDropped) {
  int count = 0;
  outcome_ = [&](const Op&) { return ++count == 1 ? OpType::kInvoke : OpType::kOk; };
  loop_.at(seconds(2), [&] { FakeClient::lost[0](complete(FakeClient::last, OpType::kOk)); });
  // The second operation is due after the late answer has come.
  const History history =
      play({.clients = 1, .op_timeout = milliseconds(500)},
           gen::sequence(gen::once(gen::always(read_op("k"))), gen::sleep(seconds(3)),
                         gen::once(gen::always(read_op("k")))));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].type(), OpType::kInfo);
  EXPECT_EQ(history[0].error_class(), Symbol("timeout"));
  EXPECT_EQ(history[0].return_time() - history[0].invoke_time(), milliseconds(500));
  EXPECT_EQ(history[1].type(), OpType::kOk);
  EXPECT_NE(history[0].process().id, history[1].process().id);
  EXPECT_EQ(counts_.late, 1);
  EXPECT_EQ(opened_, 2);
}

TEST_F(RunnerTest, AConnectionThatCannotBeOpenedIsADefiniteFailure) {
  refuse_ = true;
  const History history = play({.clients = 2}, gen::limit(6, gen::always(read_op("k"))));
  ASSERT_EQ(history.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(history[i].type(), OpType::kFail);
    EXPECT_EQ(history[i].error_class(), Symbol("refused"));
  }
}

TEST_F(RunnerTest, NemesisLanesHaveNoDeadlineAndDoNotBlockClients) {
  Op start;
  start.process = kNemesis;
  start.f = Symbol("start-kill");
  const History history =
      play({.clients = 1, .lanes = 1, .op_timeout = milliseconds(500)},
           gen::any(gen::on_workers(0, 1, gen::limit(100, gen::always(read_op("k")))),
                    gen::on_workers(1, 2, gen::once(gen::always(start)))));
  EXPECT_EQ(history.size(), 100u);
  ASSERT_EQ(history.nemesis().size(), 1u);
  EXPECT_NE(history.nemesis()[0].return_position, kOpen);
  EXPECT_EQ(history.nemesis()[0].completion.time - history.nemesis()[0].invocation.time,
            seconds(3));
}

TEST_F(RunnerTest, StopAbandonsClientsAndWaitsForTheNemesis) {
  outcome_ = [](const Op&) { return OpType::kInvoke; };
  Op start;
  start.process = kNemesis;
  start.f = Symbol("start-kill");
  Runner runner(loop_, recorder_, {.clients = 2, .lanes = 1, .op_timeout = seconds(60)}, ports());
  Nanos finished{-1};
  runner.run(gen::any(gen::on_workers(0, 2, gen::always(read_op("k"))),
                      gen::on_workers(2, 3, gen::once(gen::always(start)))),
             [&] { finished = loop_.now(); });
  loop_.at(seconds(1), [&] { runner.stop(); });
  loop_.run(seconds(10));
  EXPECT_EQ(finished, seconds(3));
  ASSERT_TRUE(writer_.close().ok());
  auto history = read_history(path_);
  ASSERT_TRUE(history.ok()) << history.error().message;
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ((*history)[0].return_position(), kOpen);
  EXPECT_NE(history->nemesis()[0].return_position, kOpen);
}

TEST_F(RunnerTest, AWatchHasItsTimeOutAfterTheTimeThatItIsAskedToLast) {
  outcome_ = [](const Op&) { return OpType::kInvoke; };
  Op watch;
  watch.f = f::watch;
  watch.value = to_value(WatchWish{Symbol("w/"), 2, seconds(2)});
  const History history =
      play({.clients = 1, .op_timeout = milliseconds(500)}, gen::once(gen::always(watch)));
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].error_class(), Symbol("timeout"));
  EXPECT_EQ(history[0].return_time() - history[0].invoke_time(), milliseconds(2500));
}

}  // namespace
}  // namespace assay
