#include "targets/third_party/redis_connection.h"

#include <hiredis/hiredis.h>

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <optional>

#include "targets/asio/asio_loop.h"

namespace assay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using ErrorCode = boost::system::error_code;
using Fate = RedisReply::Fate;
using Kind = RedisReply::Kind;

constexpr Nanos kQuestionDeadline = seconds(1);

std::string text_of(ErrorCode error) {
  if (error == asio::error::eof) return "connection closed";
  if (error == asio::error::connection_refused) return "connection refused";
  if (error == asio::error::connection_reset) return "connection reset";
  return error.message();
}

RedisReply broken(Fate fate, std::string why) { return {.fate = fate, .error = std::move(why)}; }

std::string bytes_of(const RedisCommand& command) {
  std::vector<const char*> words;
  std::vector<size_t> lengths;
  for (const std::string& word : command) {
    words.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* bytes = nullptr;
  const int length =
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), words.data(), lengths.data());
  ASSAY_CHECK(length > 0, "a command of %zu words", words.size());
  std::string out(bytes, static_cast<size_t>(length));
  redisFreeCommand(bytes);
  return out;
}

void append_texts(const redisReply& array, std::vector<std::string>& texts) {
  for (size_t i = 0; i < array.elements; ++i) {
    const redisReply& element = *array.element[i];
    if (element.type == REDIS_REPLY_ARRAY) append_texts(element, texts);
    if (element.type == REDIS_REPLY_STRING) texts.emplace_back(element.str, element.len);
  }
}

RedisReply reply_of(const redisReply& answer) {
  RedisReply reply{.fate = Fate::kAnswered};
  const auto text = [&] { return std::string(answer.str, answer.len); };
  switch (answer.type) {
    case REDIS_REPLY_STATUS:
      reply.kind = Kind::kStatus;
      reply.text = text();
      break;
    case REDIS_REPLY_STRING:
      reply.kind = Kind::kString;
      reply.text = text();
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = Kind::kError;
      reply.text = text();
      break;
    case REDIS_REPLY_INTEGER:
      reply.kind = Kind::kInteger;
      reply.integer = answer.integer;
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = Kind::kArray;
      append_texts(answer, reply.items);
      break;
    case REDIS_REPLY_NIL:
      reply.kind = Kind::kNull;
      break;
    default:
      break;
  }
  return reply;
}

// hiredis' parser, fed with what comes.
class Parser {
 public:
  void feed(const char* bytes, size_t count) { redisReaderFeed(reader_.get(), bytes, count); }
  // False: not a whole one yet. What is not Redis' protocol comes as a reply of kOther.
  bool next(RedisReply& reply) {
    void* found = nullptr;
    if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
      reply = {.fate = Fate::kAnswered};
      return true;
    }
    if (found == nullptr) return false;
    const std::unique_ptr<redisReply, void (*)(void*)> answer(static_cast<redisReply*>(found),
                                                              freeReplyObject);
    reply = reply_of(*answer);
    return true;
  }
  bool has_unread() const { return reader_->err != 0 || reader_->pos < reader_->len; }

 private:
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{redisReaderCreate(),
                                                               redisReaderFree};
};

}  // namespace

struct RedisConnection::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, std::string a, int p) : context(io), address(std::move(a)), port(p) {}

  void send(const RedisCommand& command, std::function<void(RedisReply)> fn) {
    ASSAY_CHECK(!done, "a command is under way");
    done = std::move(fn);
    output = bytes_of(command);
    open ? write() : connect();
  }

  void abandon() {
    done = nullptr;
    drop();
  }

 private:
  // Each connection has a number, so that what an earlier one still reports is told apart.
  bool stale(uint64_t of) const { return of != serial; }

  void drop() {
    ++serial;
    open = writing = false;
    socket.reset();
    parser.reset();
  }

  void connect() {
    drop();
    socket.emplace(context);
    ErrorCode error;
    const tcp::endpoint endpoint(asio::ip::make_address(address, error),
                                 static_cast<uint16_t>(port));
    if (error) return answer_later(broken(Fate::kNotSent, "not a numeric address: " + address));
    socket->async_connect(endpoint, [self = shared_from_this(), of = serial](ErrorCode failed) {
      if (self->stale(of)) return;
      if (failed) return self->lose(Fate::kNotSent, failed);
      ErrorCode ignored;
      self->socket->non_blocking(true, ignored);
      self->socket->set_option(tcp::no_delay(true), ignored);
      self->open = true;
      self->parser.emplace();
      self->read();
      self->write();
    });
  }

  void write() {
    ErrorCode error;
    const size_t sent = socket->write_some(asio::buffer(output), error);
    if (error && error != asio::error::would_block)
      return answer_later(broken(Fate::kNotSent, text_of(error)));
    if (sent == output.size()) return;
    writing = true;
    const auto rest = asio::buffer(output) + sent;
    asio::async_write(*socket, rest, [self = shared_from_this(), of = serial](ErrorCode e, size_t) {
      if (self->stale(of)) return;
      self->writing = false;
      if (e) self->lose(Fate::kLost, e);
    });
  }

  // One read is always waiting: an idle connection that the server closes is noticed before the
  // next command, which then finds out by connecting whether the server is there.
  void read() {
    socket->async_read_some(asio::buffer(input),
                            [self = shared_from_this(), of = serial](ErrorCode error, size_t n) {
                              if (self->stale(of)) return;
                              if (error)
                                return self->done ? self->lose(Fate::kLost, error) : self->drop();
                              self->parser->feed(self->input.data(), n);
                              self->parse();
                            });
  }

  void parse() {
    if (!done) return drop();  // the server speaks unasked
    RedisReply reply;
    if (!parser->next(reply)) return read();
    if (parser->has_unread() || writing) {
      drop();
    } else {
      read();
    }
    std::exchange(done, nullptr)(std::move(reply));
  }

  void lose(Fate fate, ErrorCode error) {
    drop();
    std::exchange(done, nullptr)(broken(fate, text_of(error)));
  }

  void answer_later(RedisReply reply) {
    drop();
    asio::post(context,
               [self = shared_from_this(), of = serial, reply = std::move(reply)]() mutable {
                 if (!self->stale(of)) std::exchange(self->done, nullptr)(std::move(reply));
               });
  }

  asio::io_context& context;
  const std::string address;
  const int port;
  std::optional<Socket> socket;
  bool open = false;
  bool writing = false;
  uint64_t serial = 0;
  std::array<char, 16 * 1024> input;
  std::optional<Parser> parser;
  std::string output;
  std::function<void(RedisReply)> done;
};

RedisConnection::RedisConnection(asio::io_context& context, std::string address, int port)
    : state_(std::make_shared<State>(context, std::move(address), port)) {}

RedisConnection::~RedisConnection() { state_->abandon(); }

void RedisConnection::send(const RedisCommand& command, std::function<void(RedisReply)> done) {
  state_->send(command, std::move(done));
}

namespace {

// One command, and whoever waits for it. The timer owns it; the connection's callback only looks.
struct Question {
  Question(asio::io_context& context, const NodeInfo& node, Callback<RedisReply> d)
      : connection(context, node.address, node.client_port), done(std::move(d)) {}
  RedisConnection connection;
  Callback<RedisReply> done;

  void answer(Result<RedisReply> reply) {
    if (auto first = std::exchange(done, nullptr)) first(std::move(reply));
  }
};

Result<RedisReply> answered(RedisReply reply) {
  if (reply.fate == Fate::kNotSent) return environment_error("refused");
  if (reply.fate == Fate::kLost) return environment_error("reset");
  return reply;
}

}  // namespace

void ask_redis(Loop& loop, const NodeInfo& node, const RedisCommand& command,
               Callback<RedisReply> done) {
  asio::io_context* context = context_of(loop);
  if (context == nullptr) {
    return loop.post([done = std::move(done)] {
      done(environment_error(
          "this target needs a loop with sockets: it cannot run in virtual time"));
    });
  }
  auto question = std::make_shared<Question>(*context, node, std::move(done));
  question->connection.send(command, [weak = std::weak_ptr(question)](RedisReply reply) {
    if (const auto q = weak.lock()) q->answer(answered(std::move(reply)));
  });
  loop.at(loop.now() + kQuestionDeadline,
          [question] { question->answer(environment_error("timeout")); });
}

}  // namespace assay
