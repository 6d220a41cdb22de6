#include "targets/exec/client_pool.h"

#include <gtest/gtest.h>

#include "targets/virtual_loop.h"

namespace assay::exec {
namespace {

// What happened to the clients of a test.
struct Count {
  int started = 0;
  int alive = 0;
  bool silent = false;  // those that are started now never answer
  bool broken = false;  // … have ended before they answer
};

class PoolClient : public Client {
 public:
  PoolClient(Loop& loop, Count& count)
      : loop_(loop), count_(count), silent_(count.silent), broken_(count.broken) {
    ++count_.started;
    ++count_.alive;
  }
  ~PoolClient() override { --count_.alive; }
  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (silent_ || op.key == Symbol("silence")) return;
    Op answer = complete(op, OpType::kOk);
    if (op.key == Symbol("unknown")) answer = complete(op, OpType::kInfo);
    if (broken_) answer = complete(op, OpType::kInfo, {Symbol("client-ended"), "it ended", {}, {}});
    loop_.at(loop_.now() + milliseconds(5), [answer, done = std::move(done)] { done(answer); });
  }
  bool usable() const override { return !broken_; }

 private:
  Loop& loop_;
  Count& count_;
  bool silent_, broken_;
};

class ClientPoolTest : public testing::Test {
 protected:
  ClientPoolTest() {
    ClientPool::Options options;
    options.start = [this] {
      return Result<std::unique_ptr<Client>>(std::make_unique<PoolClient>(loop_, count_));
    };
    options.first_request.f = f::read;
    pool_ = std::make_shared<ClientPool>(loop_, std::move(options));
  }

  Result<void> filled(int count) {
    std::optional<Result<void>> result;
    pool_->fill(count, [&](Result<void> r) { result = std::move(r); });
    loop_.run();
    return result.value_or(environment_error("not told"));
  }
  std::unique_ptr<Client> taken() {
    std::unique_ptr<Client> client;
    pool_->take([&](Result<std::unique_ptr<Client>> got) {
      if (got) client = std::move(*got);
    });
    loop_.run();
    return client;
  }
  static Op read(const char* key) {
    Op op;
    op.f = f::read;
    op.key = Symbol(key);
    return op;
  }

  VirtualLoop loop_;
  Count count_;
  std::shared_ptr<ClientPool> pool_;
};

TEST_F(ClientPoolTest, WhatWaitsIsGivenOutBeforeAnotherIsStarted) {
  EXPECT_TRUE(filled(2).ok());
  const auto a = taken(), b = taken();
  EXPECT_TRUE(a && b);
  EXPECT_EQ(count_.started, 2);
  const auto c = taken();
  EXPECT_TRUE(c);
  EXPECT_EQ(count_.started, 3);
}

TEST_F(ClientPoolTest, AClientDroppedBetweenOperationsComesBack) {
  auto client = taken();
  bool done = false;
  client->invoke(read("k"), [&](const Op&) { done = true; });
  loop_.run();
  EXPECT_TRUE(done);
  client.reset();
  EXPECT_TRUE(taken());
  EXPECT_EQ(count_.started, 1);
}

TEST_F(ClientPoolTest, AClientDroppedAfterAnUnknownOutcomeIsKilledAndReplaced) {
  auto client = taken();
  bool done = false;
  client->invoke(read("unknown"), [&](const Op&) { done = true; });
  loop_.run();
  EXPECT_TRUE(done);
  client.reset();
  EXPECT_EQ(count_.started, 2);
  EXPECT_EQ(count_.alive, 1);
}

TEST_F(ClientPoolTest, AClientDroppedDuringOneIsKilledAndReplaced) {
  auto client = taken();
  client->invoke(read("silence"), [](const Op&) { ADD_FAILURE(); });
  client.reset();
  EXPECT_EQ(count_.started, 2);
  EXPECT_EQ(count_.alive, 1);
  EXPECT_TRUE(taken());
  EXPECT_EQ(count_.started, 2);
}

TEST_F(ClientPoolTest, OneThatCameTooLateForItsWorkerIsNotLost) {
  std::unique_ptr<Client> client;
  pool_->take([](const Result<std::unique_ptr<Client>>&) {});  // does not want it any more
  pool_->take([&](Result<std::unique_ptr<Client>> got) { client = std::move(*got); });
  loop_.run();
  EXPECT_TRUE(client);
  EXPECT_EQ(count_.alive, 1);
}

TEST_F(ClientPoolTest, WhoeverWaitsAndGivesUpStartsNoFurtherPrograms) {
  count_.silent = true;
  for (int i = 0; i < 10; ++i) pool_->take([](const Result<std::unique_ptr<Client>>&) {});
  loop_.run(milliseconds(100));
  EXPECT_EQ(count_.started, 1);
}

TEST_F(ClientPoolTest, AFirstRequestWithoutAnAnswerIsAnError) {
  count_.silent = true;
  EXPECT_NE(filled(2).error().message.find("did not answer its first request within 30 s"),
            std::string::npos);
  EXPECT_EQ(count_.alive, 0);
  count_ = {.broken = true};
  EXPECT_EQ(filled(2).error().message, "it ended");
  EXPECT_EQ(count_.alive, 0);
}

TEST_F(ClientPoolTest, NothingComesBackOnceItIsClosed) {
  auto client = taken();
  pool_->close();
  client.reset();
  EXPECT_EQ(count_.alive, 0);
  EXPECT_EQ(count_.started, 1);
}

}  // namespace
}  // namespace assay::exec
