#include "targets/third_party/redis_client.h"

#include "checkers/history/history_io.h"
#include "targets/asio/asio_loop.h"

namespace assay {
namespace {

using Fate = RedisReply::Fate;
using Kind = RedisReply::Kind;

// --- What is sent --------------------------------------------------------------------------------

// Redis 7 takes a script that begins so and has no flags for one that may write: a replica refuses
// it before it runs (READONLY), whatever it does.
constexpr const char* kReadScript = R"(#!lua
return redis.call('GET', KEYS[1]))";

// No JSON text is empty: the empty one stands for absence.
constexpr const char* kCasScript = R"(#!lua
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1)";

std::string stored(const Value& value) { return value.is_null() ? "" : value.to_json(); }

// --- What comes back -----------------------------------------------------------------------------

// Redis looks at all of these before it executes a command, and at those of a script before the
// script runs (scriptPrepareForRun); a write inside a script that is refused ends ours, which has
// written nothing before.
constexpr RedisErrorMeaning kMeanings[] = {
    {"READONLY ", "not-leader", true},
    {"MOVED ", "not-leader", true},
    {"MASTERDOWN ", "unavailable", true},
    {"LOADING ", "unavailable", true},
    {"CLUSTERDOWN ", "unavailable", true},
    {"NOREPLICAS ", "unavailable", true},
    {"MISCONF ", "unavailable", true},
    {"BUSY ", "unavailable", true},
    {"OOM ", "exhausted", true},
    {"ERR max number of clients reached", "unavailable", true},
    {"NOAUTH ", "denied", true},
    {"NOPERM ", "denied", true},
    {"WRONGPASS ", "denied", true},
    {"DENIED ", "denied", true},
    {"WRONGTYPE ", "invalid", true},
    {"NOSCRIPT ", "invalid", true},
    {"ERR unknown command", "invalid", true},
    {"ERR wrong number of arguments", "invalid", true},
    // A blocked command that was broken off, when the node became a replica.
    {"UNBLOCKED ", "unknown", false},
    {"", "unknown", false},
};

Op unknown(const Op& op, std::string_view cls, std::string text) {
  return complete(op, OpType::kInfo, {Symbol(cls), std::move(text), {}, {}});
}
Op failed(const Op& op, std::string_view cls, std::string text) {
  return complete(op, OpType::kFail, {Symbol(cls), std::move(text), {}, {}});
}
Op malformed(const Op& op) { return unknown(op, "malformed", "the answer makes no sense"); }

Op read_completion(const Op& op, const RedisReply& reply) {
  if (reply.kind != Kind::kNull && reply.kind != Kind::kString) return malformed(op);
  Op done = complete(op, OpType::kOk);
  done.value = Value();
  if (reply.kind == Kind::kNull) return done;
  // What others have stored there may be no JSON: then it is text.
  const auto value = parse_value(reply.text);
  done.value = value ? *value : Value(reply.text);
  return done;
}

Op cas_completion(const Op& op, const RedisReply& reply) {
  if (reply.kind != Kind::kInteger) return malformed(op);
  if (reply.integer == 0) return failed(op, "mismatch", "the value is another");
  return reply.integer == 1 ? complete(op, OpType::kOk) : malformed(op);
}

Op change_completion(const Op& op, const RedisReply& reply) {
  const bool set = reply.kind == Kind::kStatus && reply.text == "OK";
  const bool deleted = reply.kind == Kind::kInteger;
  return set || deleted ? complete(op, OpType::kOk) : malformed(op);
}

// --- The client ----------------------------------------------------------------------------------

class RedisClient : public Client {
 public:
  RedisClient(Loop& loop, boost::asio::io_context& context, const NodeInfo& node,
              const RedisClientOptions& options)
      : loop_(loop), connection_(context, node.address, node.client_port), options_(options) {}

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (auto refusal = redis_refusal_of(op)) {
      loop_.post([done = std::move(done), refusal = std::move(*refusal)] { done(refusal); });
      return;
    }
    connection_.send(redis_command_of(op, options_),
                     [this, op, done = std::move(done)](const RedisReply& reply) {
                       Op completion = redis_completion_of(op, reply);
                       const bool changed = completion.type == OpType::kOk && op.f != f::read;
                       if (changed && options_.wait > 0) return wait(op, done);
                       done(std::move(completion));
                     });
  }

 private:
  // On the connection of the change: Redis waits for what was written on this one.
  void wait(const Op& op, std::function<void(Op)> done) {
    connection_.send({"WAIT", std::to_string(options_.wait), std::to_string(options_.wait_ms)},
                     [this, op, done = std::move(done)](const RedisReply& reply) {
                       done(redis_wait_completion_of(op, options_, reply));
                     });
  }

  Loop& loop_;
  RedisConnection connection_;
  const RedisClientOptions options_;
};

}  // namespace

std::optional<Op> redis_refusal_of(const Op& op) {
  if (op.f == f::read || op.expected.none()) return std::nullopt;
  return failed(op, "invalid", "Redis has no revisions to compare");
}

RedisCommand redis_command_of(const Op& op, const RedisClientOptions& options) {
  const std::string key(op.key.text());
  if (op.f == f::read) {
    if (options.any_node_reads) return {"GET", key};
    return {"EVAL", kReadScript, "1", key};
  }
  if (op.f == f::cas) {
    const auto& values = op.value.as_array();
    return {"EVAL", kCasScript, "1", key, stored(values[0]), stored(values[1])};
  }
  if (op.f == f::delete_) return {"DEL", key};
  ASSAY_CHECK(op.f == f::write, "operation %s", std::string(op.f.text()).c_str());
  if (op.value.is_null()) return {"DEL", key};
  return {"SET", key, stored(op.value)};
}

const RedisErrorMeaning& redis_meaning_of(std::string_view error) {
  for (const RedisErrorMeaning& row : kMeanings) {
    if (error.starts_with(row.begins)) return row;
  }
  return *std::prev(std::end(kMeanings));
}

Op redis_completion_of(const Op& op, const RedisReply& reply) {
  if (reply.fate == Fate::kNotSent) return failed(op, "refused", reply.error);
  if (reply.fate == Fate::kLost) return unknown(op, "reset", reply.error);
  if (reply.kind == Kind::kError) {
    const RedisErrorMeaning& meaning = redis_meaning_of(reply.text);
    return meaning.definite ? failed(op, meaning.cls, reply.text)
                            : unknown(op, meaning.cls, reply.text);
  }
  if (op.f == f::read) return read_completion(op, reply);
  if (op.f == f::cas) return cas_completion(op, reply);
  return change_completion(op, reply);
}

Op redis_wait_completion_of(const Op& op, const RedisClientOptions& options,
                            const RedisReply& reply) {
  if (reply.fate != Fate::kAnswered) return unknown(op, "reset", reply.error);
  if (reply.kind == Kind::kError) return unknown(op, "unknown", reply.text);
  if (reply.kind != Kind::kInteger) return malformed(op);
  if (reply.integer >= options.wait) return complete(op, OpType::kOk);
  return unknown(
      op, "not-replicated",
      std::to_string(reply.integer) + " of " + std::to_string(options.wait) + " replicas have it");
}

void open_redis_client(Loop& loop, const NodeInfo& node, const RedisClientOptions& options,
                       Callback<std::unique_ptr<Client>> done) {
  loop.post([&loop, node, options, done = std::move(done)] {
    boost::asio::io_context* context = context_of(loop);
    if (context == nullptr)
      return done(environment_error(
          "this target needs a loop with sockets: it cannot run in virtual time"));
    done(std::unique_ptr<Client>(std::make_unique<RedisClient>(loop, *context, node, options)));
  });
}

}  // namespace assay
