#include "targets/kv/http/http_client.h"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>

#include "checkers/history/error.h"
#include "targets/kv/http/http_parser.h"

namespace assay {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using ErrorCode = boost::system::error_code;

constexpr size_t kHeaderBytesMax = 64 * 1024;
constexpr size_t kBodyBytesMax = 256 << 20;

std::string text_of(ErrorCode error) {
  if (error == asio::error::eof) return "connection closed";
  if (error == asio::error::connection_refused) return "connection refused";
  if (error == asio::error::connection_reset) return "connection reset";
  return error.message();
}

}  // namespace

struct HttpClient::Connection : std::enable_shared_from_this<Connection> {
  using Done = std::function<void(HttpReply)>;
  using OnPiece = std::function<void(std::string_view)>;
  using Fate = HttpReply::Fate;

  Connection(asio::io_context& io, std::string a, int p)
      : context(io), address(std::move(a)), port(p) {}

  void request(std::string_view method, std::string_view target, std::string_view body,
               OnPiece piece, Done fn) {
    ASSAY_CHECK(!done, "a request is under way");
    done = std::move(fn);
    on_piece = std::move(piece);
    output.clear();
    output.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: ");
    output.append(address).append(":").append(std::to_string(port));
    if (!body.empty()) output.append("\r\nContent-Type: application/json");
    output.append("\r\nContent-Length: ").append(std::to_string(body.size()));
    output.append("\r\n\r\n").append(body);
    if (open) {
      send();
    } else {
      connect();
    }
  }

  void abandon() {
    done = nullptr;
    on_piece = nullptr;
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
    input = {};
  }

  void connect() {
    drop();
    socket.emplace(context);
    ErrorCode error;
    const tcp::endpoint endpoint(asio::ip::make_address(address, error),
                                 static_cast<uint16_t>(port));
    if (error) return answer_later({Fate::kNotSent, 0, "", "not a numeric address: " + address});
    socket->async_connect(endpoint, [self = shared_from_this(), of = serial](ErrorCode failed) {
      if (self->stale(of)) return;
      if (failed) return self->lose(Fate::kNotSent, failed);
      ErrorCode ignored;
      self->socket->non_blocking(true, ignored);
      self->socket->set_option(tcp::no_delay(true), ignored);
      self->open = true;
      self->read();
      self->send();
    });
  }

  void send() {
    parser.emplace(kHeaderBytesMax, kBodyBytesMax);
    ErrorCode error;
    const size_t sent = socket->write_some(asio::buffer(output), error);
    if (error && error != asio::error::would_block) {
      return answer_later({Fate::kNotSent, 0, "", text_of(error)});
    }
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
  // next request, which then finds out by connecting whether the server is there.
  void read() {
    socket->async_read_some(
        input.room(), [self = shared_from_this(), of = serial](ErrorCode error, size_t count) {
          if (self->stale(of)) return;
          if (error) return self->read_failed(error);
          self->input.filled(count);
          self->parse();
        });
  }

  void read_failed(ErrorCode error) {
    ErrorCode incomplete;
    if (parser && parser->got_some()) {
      parser->put_eof(incomplete);  // an answer without a length ends with the connection
      if (!incomplete && parser->is_done()) return pass_on() ? answer() : void();
    }
    if (!done) return drop();
    lose(Fate::kLost, error);
  }

  void parse() {
    if (!done || !parser) return drop();  // the server speaks unasked
    ErrorCode error;
    input.consume(parser->put(input.unread(), error));
    if (error && error != http::error::need_more) return lose(Fate::kLost, error);
    if (!pass_on()) return;
    if (!parser->is_done()) return read();
    if (parser->status == 100) {
      parser.emplace(kHeaderBytesMax, kBodyBytesMax);
      return input.size() > 0 ? parse() : read();
    }
    answer();
  }

  // What has come of a stream's body. False: that was the end of it.
  bool pass_on() {
    if (!on_piece || parser->status != 200 || parser->body.empty()) return true;
    const auto fn = on_piece;  // it may abandon all this
    fn(std::exchange(parser->body, {}));
    return parser.has_value();
  }

  void answer() {
    HttpReply reply{Fate::kAnswered, parser->status, std::move(parser->body), ""};
    const bool keep = parser->keep_alive() && input.size() == 0 && !writing;
    parser.reset();
    if (keep) {
      read();
    } else {
      drop();
    }
    std::exchange(done, nullptr)(std::move(reply));
  }

  void lose(Fate fate, ErrorCode error) {
    drop();
    std::exchange(done, nullptr)({fate, 0, "", text_of(error)});
  }

  void answer_later(HttpReply reply) {
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
  InputBuffer input;
  std::optional<HttpParser<false>> parser;
  std::string output;
  OnPiece on_piece;
  Done done;
};

HttpClient::HttpClient(asio::io_context& context, std::string address, int port)
    : connection_(std::make_shared<Connection>(context, std::move(address), port)) {}

HttpClient::~HttpClient() { connection_->abandon(); }

void HttpClient::request(std::string_view method, std::string_view target, std::string_view body,
                         std::function<void(HttpReply)> done) {
  connection_->request(method, target, body, nullptr, std::move(done));
}

void HttpClient::stream(std::string_view method, std::string_view target, std::string_view body,
                        std::function<void(std::string_view)> on_piece,
                        std::function<void(HttpReply)> done) {
  connection_->request(method, target, body, std::move(on_piece), std::move(done));
}

void HttpClient::abandon() { connection_->abandon(); }

}  // namespace assay
