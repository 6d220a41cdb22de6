#include "targets/third_party/redis_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <optional>

#include "targets/asio/testing_loop.h"
#include "targets/virtual_loop.h"

namespace assay {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using testing::ElementsAre;
using testing::HasSubstr;
using Fate = RedisReply::Fate;
using Kind = RedisReply::Kind;

Op op_of(Symbol f, Value value) {
  Op op;
  op.f = f;
  op.key = Symbol("k1");
  op.value = std::move(value);
  return op;
}
Op read() { return op_of(f::read, {}); }
Op write(Value value) { return op_of(f::write, std::move(value)); }
Op cas(Value old_value, Value new_value) {
  return op_of(f::cas, Value::pair(std::move(old_value), std::move(new_value)));
}
Op del() { return op_of(f::delete_, {}); }

// "ok", "fail not-leader", "info reset"
std::string words(const Op& op) {
  std::string text(to_string(op.type));
  if (op.error) text += " " + std::string(op.error->cls.text());
  return text;
}

RedisReply status(std::string text) { return {Fate::kAnswered, Kind::kStatus, std::move(text)}; }
RedisReply text(std::string text) { return {Fate::kAnswered, Kind::kString, std::move(text)}; }
RedisReply error(std::string text) { return {Fate::kAnswered, Kind::kError, std::move(text)}; }
RedisReply number(int64_t value) { return {Fate::kAnswered, Kind::kInteger, "", value}; }
RedisReply nothing() { return {Fate::kAnswered, Kind::kNull}; }
RedisReply nonsense() { return {Fate::kAnswered, Kind::kOther}; }
RedisReply broken(Fate fate) { return {.fate = fate, .error = "connection closed"}; }

// --- What is sent --------------------------------------------------------------------------------

TEST(RedisCommand, IsOnePerOperation) {
  EXPECT_THAT(redis_command_of(write(7), {}), ElementsAre("SET", "k1", "7"));
  EXPECT_THAT(redis_command_of(write("a b"), {}), ElementsAre("SET", "k1", "\"a b\""));
  EXPECT_THAT(redis_command_of(write(Value()), {}), ElementsAre("DEL", "k1"));
  EXPECT_THAT(redis_command_of(del(), {}), ElementsAre("DEL", "k1"));
  EXPECT_THAT(redis_command_of(cas(1, 2), {}),
              ElementsAre("EVAL", HasSubstr("#!lua\n"), "1", "k1", "1", "2"));
  EXPECT_THAT(redis_command_of(cas(Value(), ""), {}),
              ElementsAre("EVAL", HasSubstr("#!lua\n"), "1", "k1", "", "\"\""));
  EXPECT_THAT(redis_command_of(cas("x", Value()), {}),
              ElementsAre("EVAL", HasSubstr("#!lua\n"), "1", "k1", "\"x\"", ""));
}

TEST(RedisCommand, AReadIsRefusedByReplicasUnlessAnyNodeMayAnswer) {
  EXPECT_THAT(redis_command_of(read(), {}), ElementsAre("EVAL", HasSubstr("#!lua\n"), "1", "k1"));
  EXPECT_THAT(redis_command_of(read(), {.any_node_reads = true}), ElementsAre("GET", "k1"));
}

TEST(RedisCommand, AGuardIsRefused) {
  for (Op op : {write(1), cas(1, 2), del()}) {
    EXPECT_FALSE(redis_refusal_of(op));
    op.expected = Token(0);
    ASSERT_TRUE(redis_refusal_of(op));
    EXPECT_EQ(words(*redis_refusal_of(op)), "fail invalid");
  }
}

// --- What became of it ---------------------------------------------------------------------------

TEST(RedisOutcome, OfEveryError) {
  const std::pair<const char*, const char*> cases[] = {
      {"READONLY You can't write against a read only replica.", "fail not-leader"},
      {"READONLY Can not run script with write flag on readonly replica.", "fail not-leader"},
      {"MOVED 3999 127.0.0.1:6381", "fail not-leader"},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       "fail unavailable"},
      {"LOADING Redis is loading the dataset in memory", "fail unavailable"},
      {"CLUSTERDOWN The cluster is down", "fail unavailable"},
      {"NOREPLICAS Not enough good replicas to write.", "fail unavailable"},
      {"MISCONF Errors writing to the AOF file: No space left on device", "fail unavailable"},
      {"BUSY Redis is busy running a script.", "fail unavailable"},
      {"ERR max number of clients reached", "fail unavailable"},
      {"OOM command not allowed when used memory > 'maxmemory'.", "fail exhausted"},
      {"NOAUTH Authentication required.", "fail denied"},
      {"NOPERM this user has no permissions", "fail denied"},
      {"WRONGPASS invalid username-password pair", "fail denied"},
      {"DENIED Redis is running in protected mode", "fail denied"},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", "fail invalid"},
      {"NOSCRIPT No matching script", "fail invalid"},
      {"ERR unknown command 'SETT'", "fail invalid"},
      {"ERR wrong number of arguments for 'set' command", "fail invalid"},
      {"UNBLOCKED force unblock from blocking operation, instance state changed (master -> "
       "replica?)",
       "info unknown"},
      {"ERR Error running script", "info unknown"},
      {"ERR", "info unknown"},
      {"READONLYISH", "info unknown"},
      {"", "info unknown"},
  };
  for (const auto& [message, outcome] : cases) {
    for (const Op& op : {read(), write(1), cas(1, 2), del()})
      EXPECT_EQ(words(redis_completion_of(op, error(message))), outcome) << message;
  }
}

TEST(RedisOutcome, OfTheTransport) {
  for (const Op& op : {read(), write(1), cas(1, 2), del()}) {
    EXPECT_EQ(words(redis_completion_of(op, broken(Fate::kNotSent))), "fail refused");
    EXPECT_EQ(words(redis_completion_of(op, broken(Fate::kLost))), "info reset");
  }
}

TEST(RedisOutcome, OfAnswers) {
  const struct {
    Op op;
    RedisReply reply;
    const char* outcome;
  } cases[] = {
      {write(1), status("OK"), "ok"},
      {write(Value()), number(0), "ok"},
      {del(), number(1), "ok"},
      {del(), number(0), "ok"},
      {cas(1, 2), number(1), "ok"},
      {cas(1, 2), number(0), "fail mismatch"},
      {read(), nothing(), "ok"},
      {read(), text("1"), "ok"},
      {write(1), status("QUEUED"), "info malformed"},
      {write(1), text("OK"), "info malformed"},
      {write(1), nonsense(), "info malformed"},
      {cas(1, 2), number(2), "info malformed"},
      {cas(1, 2), nothing(), "info malformed"},
      {read(), number(1), "info malformed"},
      {read(), nonsense(), "info malformed"},
      {read(), {.fate = Fate::kAnswered, .kind = Kind::kArray}, "info malformed"},
  };
  for (const auto& [op, reply, outcome] : cases)
    EXPECT_EQ(words(redis_completion_of(op, reply)), outcome) << op.f.text() << reply.text;
}

TEST(RedisOutcome, OfAReadIsTheValueThatWasStored) {
  for (const Value& value :
       {Value(7), Value("x"), Value(true), Value::array({1, nullptr}), Value("")}) {
    EXPECT_EQ(redis_completion_of(read(), text(value.to_json())).value, value);
  }
  EXPECT_EQ(redis_completion_of(read(), nothing()).value, Value());
  EXPECT_EQ(redis_completion_of(read(), text("no JSON")).value, Value("no JSON"));
}

TEST(RedisOutcome, OfWaitIsNeverAFailure) {
  const RedisClientOptions two{.wait = 2};
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, number(2))), "ok");
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, number(3))), "ok");
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, number(1))), "info not-replicated");
  for (const char* message : {"READONLY x", "UNBLOCKED x", "ERR WAIT cannot be used with replicas"})
    EXPECT_EQ(words(redis_wait_completion_of(write(1), two, error(message))), "info unknown");
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, broken(Fate::kNotSent))), "info reset");
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, broken(Fate::kLost))), "info reset");
  EXPECT_EQ(words(redis_wait_completion_of(write(1), two, nonsense())), "info malformed");
}

// --- On a loop -----------------------------------------------------------------------------------

// Answers one command after another by its script, and keeps what it was asked.
class ScriptedRedis {
 public:
  // What is sent for a command; "close": the connection ends instead; "": nothing comes.
  ScriptedRedis(boost::asio::io_context& context, std::deque<std::string> script)
      : acceptor_(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
        script_(std::move(script)) {
    accept();
  }
  int port() const { return acceptor_.local_endpoint().port(); }
  int connections() const { return static_cast<int>(connections_.size()); }
  const std::vector<std::string>& asked() const { return asked_; }
  void say(const std::string& bytes) {
    boost::asio::write(connections_.back()->socket, boost::asio::buffer(bytes));
  }
  void close_all() {
    for (const auto& connection : connections_) connection->socket.close();
  }

 private:
  struct Connection {
    explicit Connection(tcp::socket s) : socket(std::move(s)) {}
    ~Connection() { redisReaderFree(reader); }
    tcp::socket socket;
    redisReader* reader = redisReaderCreate();
    std::array<char, 4096> bytes;
  };

  void accept() {
    acceptor_.async_accept([this](const error_code& failed, tcp::socket socket) {
      if (failed) return;
      connections_.push_back(std::make_shared<Connection>(std::move(socket)));
      serve(connections_.back());
      accept();
    });
  }
  void serve(const std::shared_ptr<Connection>& connection) {
    connection->socket.async_read_some(boost::asio::buffer(connection->bytes),
                                       [this, connection](const error_code& failed, size_t count) {
                                         if (failed) return;
                                         redisReaderFeed(connection->reader,
                                                         connection->bytes.data(), count);
                                         answer(*connection);
                                         if (connection->socket.is_open()) serve(connection);
                                       });
  }
  void answer(Connection& connection) {
    void* found = nullptr;
    while (redisReaderGetReply(connection.reader, &found) == REDIS_OK && found != nullptr) {
      const auto* command = static_cast<const redisReply*>(found);
      std::string line;
      for (size_t i = 0; i < command->elements; ++i)
        line += (i == 0 ? "" : " ") + std::string(command->element[i]->str);
      asked_.push_back(line);
      freeReplyObject(found);
      const std::string next = script_.empty() ? "close" : script_.front();
      if (!script_.empty()) script_.pop_front();
      if (next == "close") return connection.socket.close();
      boost::asio::write(connection.socket, boost::asio::buffer(next));
    }
  }

  tcp::acceptor acceptor_;
  std::deque<std::string> script_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::string> asked_;
};

class RedisClientTest : public testing::Test {
 protected:
  void serve(std::deque<std::string> script, const RedisClientOptions& options = {}) {
    server_.emplace(loop_.context(), std::move(script));
    node_.address = "127.0.0.1";
    node_.client_port = server_->port();
    open_redis_client(loop_, node_, options, [&](Result<std::unique_ptr<Client>> opened) {
      ASSERT_TRUE(opened.ok());
      client_ = std::move(*opened);
    });
    ASSERT_TRUE(loop_.run_until([&] { return client_ != nullptr; }));
  }
  std::string run(const Op& op) {
    std::optional<Op> done;
    client_->invoke(op, [&](Op completion) { done = std::move(completion); });
    EXPECT_FALSE(done) << "from within invoke";
    EXPECT_TRUE(loop_.run_until([&] { return done.has_value(); }));
    return done ? words(*done) : "";
  }

  TestingLoop loop_;
  std::optional<ScriptedRedis> server_;
  NodeInfo node_;
  std::unique_ptr<Client> client_;
};

TEST_F(RedisClientTest, KeepsOneConnection) {
  serve({"+OK\r\n", "$1\r\n7\r\n", "-READONLY You can't.\r\n", ":1\r\n"});
  EXPECT_EQ(run(write(7)), "ok");
  EXPECT_EQ(run(read()), "ok");
  EXPECT_EQ(run(write(8)), "fail not-leader");
  EXPECT_EQ(run(del()), "ok");
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(server_->asked().size(), 4u);
}

TEST_F(RedisClientTest, ALostAnswerIsUnknownAndTheCommandWasSentOnce) {
  serve({"+OK\r\n", "close", "+OK\r\n"});
  EXPECT_EQ(run(write(1)), "ok");
  EXPECT_EQ(run(write(2)), "info reset");
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_THAT(server_->asked(), ElementsAre("SET k1 1", "SET k1 2"));
  EXPECT_EQ(run(write(3)), "ok");
  EXPECT_EQ(server_->connections(), 2);
}

TEST_F(RedisClientTest, AnIdleConnectionThatWasClosedCostsNothing) {
  serve({"+OK\r\n", "+OK\r\n"});
  EXPECT_EQ(run(write(1)), "ok");
  server_->close_all();
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(run(write(2)), "ok");
}

TEST_F(RedisClientTest, AServerThatIsNotThereHasCertainlyDoneNothing) {
  serve({"+OK\r\n"});
  EXPECT_EQ(run(write(1)), "ok");
  server_->close_all();
  server_.reset();
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(run(write(2)), "fail refused");
}

TEST_F(RedisClientTest, AnAnswerMayComeInPieces) {
  serve({"$5\r\n\"a", "+OK\r\n"});
  std::optional<Op> done;
  client_->invoke(read(), [&](Op completion) { done = std::move(completion); });
  ASSERT_TRUE(loop_.run_until([&] { return server_->asked().size() == 1; }));
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done);
  server_->say("bc\"\r\n");
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(done->value, Value("abc"));
  EXPECT_EQ(run(write(1)), "ok");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(RedisClientTest, WhatIsNotRedisIsUnknownAndItsConnectionIsGone) {
  serve({"HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n:1\r\n", "+OK\r\n"});
  EXPECT_EQ(run(write(1)), "info malformed");
  EXPECT_EQ(run(write(2)), "ok");  // an answer too many
  EXPECT_EQ(run(write(3)), "ok");
  EXPECT_EQ(server_->connections(), 3);
}

TEST_F(RedisClientTest, AChangeIsWaitedForOnItsConnection) {
  serve({"+OK\r\n", ":2\r\n", ":1\r\n", ":1\r\n", "$1\r\n1\r\n", ":0\r\n", "-READONLY x\r\n",
         "+OK\r\n", "close"},
        {.wait = 2, .wait_ms = 300});
  EXPECT_EQ(run(write(1)), "ok");
  EXPECT_EQ(run(cas(1, 2)), "info not-replicated");
  EXPECT_EQ(run(read()), "ok");  // not a change
  EXPECT_EQ(run(cas(1, 2)), "fail mismatch");
  EXPECT_EQ(run(write(1)), "fail not-leader");
  EXPECT_EQ(run(write(1)), "info reset");
  std::vector<std::string> firsts;
  for (const std::string& command : server_->asked())
    firsts.push_back(command.starts_with("WAIT") ? command : command.substr(0, command.find(' ')));
  EXPECT_THAT(firsts, ElementsAre("SET", "WAIT 2 300", "EVAL", "WAIT 2 300", "EVAL", "EVAL", "SET",
                                  "SET", "WAIT 2 300"));
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(RedisClientTest, DestroyedItAbandonsWhatIsUnderWay) {
  serve({""});
  client_->invoke(write(1), [](const Op&) { FAIL(); });
  ASSERT_TRUE(loop_.run_until([&] { return server_->asked().size() == 1; }));
  client_.reset();
  server_->close_all();
  loop_.run_for(std::chrono::milliseconds(20));
}

TEST_F(RedisClientTest, AQuestionThatIsNotAnsweredGivesUp) {
  serve({"", "close"});
  std::vector<std::string> errors;
  const auto ask = [&] {
    ask_redis(loop_, node_, {"INFO"}, [&](const Result<RedisReply>& reply) {
      ASSERT_FALSE(reply.ok());
      errors.push_back(reply.error().message);
    });
  };
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return errors.size() == 1; }));
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return errors.size() == 2; }));
  server_.reset();
  ask();
  ASSERT_TRUE(loop_.run_until([&] { return errors.size() == 3; }));
  EXPECT_THAT(errors, ElementsAre("timeout", "reset", "refused"));
}

TEST_F(RedisClientTest, ArraysComeAsTheirTexts) {
  serve({"*2\r\n*2\r\n$2\r\nip\r\n$1\r\nx\r\n*3\r\n$4\r\nport\r\n:7\r\n$1\r\n7\r\n"});
  std::optional<RedisReply> said;
  ask_redis(loop_, node_, {"SENTINEL", "REPLICAS"}, [&](const Result<RedisReply>& reply) {
    ASSERT_TRUE(reply.ok());
    said = *reply;
  });
  ASSERT_TRUE(loop_.run_until([&] { return said.has_value(); }));
  EXPECT_EQ(said->kind, Kind::kArray);
  EXPECT_THAT(said->items, ElementsAre("ip", "x", "port", "7"));
}

TEST_F(RedisClientTest, VirtualTimeHasNoSockets) {
  VirtualLoop loop;
  std::string error;
  open_redis_client(loop, node_, {}, [&](Result<std::unique_ptr<Client>> opened) {
    if (!opened) error = opened.error().message;
  });
  ask_redis(loop, node_, {"INFO"},
            [](const Result<RedisReply>& reply) { EXPECT_FALSE(reply.ok()); });
  loop.run();
  EXPECT_EQ(error, "this target needs a loop with sockets: it cannot run in virtual time");
}

}  // namespace
}  // namespace assay
