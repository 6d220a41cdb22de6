#include "targets/kv/http/http_server.h"

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>
#include <unordered_set>

#include "targets/kv/http/http_parser.h"

namespace assay {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;
using ErrorCode = boost::system::error_code;

// What is read and thrown away of a connection that is being closed, so that the last answer is
// not lost by a reset.
constexpr size_t kDrainBytesMax = 8 << 20;

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

enum class After { kClose, kKeepOpen };

std::string head_of(const HttpResponse& response, bool with_connection_field, After after) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ';
  head.append(reason_of(response.status)).append("\r\nContent-Type: ");
  head.append(response.content_type).append("\r\nContent-Length: ");
  head.append(std::to_string(response.body.size()));
  if (with_connection_field) {
    head.append(after == After::kClose ? "\r\nConnection: close" : "\r\nConnection: keep-alive");
  }
  return head.append("\r\n\r\n");
}

std::string head_of_stream(std::string_view content_type, bool chunked) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: ";
  head.append(content_type).append("\r\nConnection: close");
  if (chunked) head.append("\r\nTransfer-Encoding: chunked");
  return head.append("\r\n\r\n");
}

HttpResponse refusal_of(ErrorCode error) {
  const std::string text = error.message();
  if (error == http::error::body_limit) return {413, "text/plain; charset=utf-8", text};
  if (error == http::error::header_limit) return {431, "text/plain; charset=utf-8", text};
  return {400, "text/plain; charset=utf-8", text};
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, Handler h, HttpServerOptions o)
      : context(io), handler(std::move(h)), options(o), acceptor(io), pause(io) {}

  asio::io_context& context;
  Handler handler;
  HttpServerOptions options;
  Acceptor acceptor;
  asio::steady_timer pause;  // after a failed accept
  std::unordered_set<HttpSession*> sessions;
  bool closed = false;

  void accept();
  void admit(Socket socket);
};

// One connection. It lives as long as something on it is under way.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  using Server = HttpServer::State;

  HttpSession(Socket socket, std::weak_ptr<Server> server, HttpServerOptions options)
      : socket_(std::move(socket)), server_(std::move(server)), options_(options) {
    ErrorCode ignored;
    socket_->non_blocking(true, ignored);
    socket_->set_option(tcp::no_delay(true), ignored);
  }
  ~HttpSession() { leave(); }

  void start() { work(); }

  // Frees the socket; what is under way ends without effect.
  void close() {
    events_ = {};
    socket_.reset();
    leave();
  }

  void respond(HttpResponse response) {
    if (!socket_) return;
    const bool keep = parser_->keep_alive();
    const bool say = !keep || parser_->version < 11;
    const bool bare = parser_->method == "HEAD";
    send(std::move(response), say, keep ? After::kKeepOpen : After::kClose, bare);
  }

  // --- An answer that goes on

  void begin_stream(std::string_view content_type, StreamEvents events) {
    if (!socket_) return;
    events_ = std::move(events);
    chunked_ = parser_->version >= 11;
    unsent_ = head_of_stream(content_type, chunked_);
    flush();
    notice_end();
  }

  void write(std::string_view bytes) {
    if (!socket_ || bytes.empty()) return;
    if (chunked_) {
      char size[20];
      unsent_.append(size, std::snprintf(size, sizeof size, "%zx\r\n", bytes.size()));
      unsent_.append(bytes).append("\r\n");
    } else {
      unsent_.append(bytes);
    }
    flush();
  }

  void end_stream() {
    if (!socket_) return;
    events_ = {};
    ended_ = true;
    if (chunked_) unsent_.append("0\r\n\r\n");
    flush();
  }

  size_t unsent() const { return unsent_.size() + (flushing_ ? output_.size() : 0); }

 private:
  void flush() {
    if (flushing_) return;
    if (unsent_.empty()) return ended_ ? shut_down() : drained();
    flushing_ = true;
    output_ = std::exchange(unsent_, {});
    asio::async_write(*socket_, asio::buffer(output_),
                      [self = shared_from_this()](ErrorCode failed, size_t) {
                        if (!self->socket_) return;
                        self->flushing_ = false;
                        failed ? self->lose_stream() : self->flush();
                      });
  }

  void drained() {
    // It may end the stream, and with it the events.
    if (const auto fn = events_.on_drained) fn();
  }

  void shut_down() {
    ErrorCode ignored;
    socket_->shutdown(Socket::shutdown_send, ignored);  // notice_end() waits for the other side's
  }

  // What the client sends after its request is not looked at, only that it does.
  void notice_end() {
    socket_->async_read_some(input_.room(), [self = shared_from_this()](ErrorCode error, size_t n) {
      if (!self->socket_) return;
      self->drained_ += n;
      if (error || self->drained_ > kDrainBytesMax) return self->lose_stream();
      self->notice_end();
    });
  }

  void lose_stream() {
    const auto closed = std::move(events_.on_closed);
    close();
    if (closed) closed();
  }

  void leave() {
    if (auto server = server_.lock()) server->sessions.erase(this);
  }

  // Takes the next requests from what was read, until one waits for its answer or more is needed.
  void work() {
    if (working_) return;
    working_ = true;
    while (socket_ && !busy_ && parse()) hand_over();
    working_ = false;
  }

  // True when a whole request is there; otherwise more is being read, or the end has begun.
  bool parse() {
    if (!parser_) parser_.emplace(options_.header_bytes_max, options_.body_bytes_max);
    ErrorCode error;
    if (input_.size() > 0) {
      input_.consume(parser_->put(input_.unread(), error));
      if (error && error != http::error::need_more) {
        send(refusal_of(error), true, After::kClose, false);
        return false;
      }
      if (parser_->is_done()) return true;
      if (parser_->is_header_done() && parser_->expects_continue) send_continue();
    }
    read();
    return false;
  }

  void send_continue() {
    parser_->expects_continue = false;
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    ErrorCode ignored;  // best effort: a client sends the body anyway after a while
    socket_->write_some(asio::buffer(kContinue), ignored);
  }

  void hand_over() {
    busy_ = true;
    const auto server = server_.lock();
    if (!server || server->closed) return close();
    server->handler({parser_->method, parser_->target, parser_->body},
                    Responder(shared_from_this()));
  }

  void read() {
    socket_->async_read_some(input_.room(), [self = shared_from_this()](ErrorCode error, size_t n) {
      if (!self->socket_) return;
      if (error) return self->close();
      self->input_.filled(n);
      self->work();
    });
  }

  void send(HttpResponse response, bool with_connection_field, After after, bool bare) {
    busy_ = true;
    after_ = after;
    output_ = head_of(response, with_connection_field, after);
    const size_t head = output_.size();
    body_ = bare ? std::string() : std::move(response.body);
    ErrorCode error;
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(output_), asio::buffer(body_)};
    const size_t sent = socket_->write_some(buffers, error);
    if (error && error != asio::error::would_block) return close();
    if (sent == head + body_.size()) return sent_all();
    output_.append(body_).erase(0, sent);
    body_.clear();
    asio::async_write(*socket_, asio::buffer(output_),
                      [self = shared_from_this()](ErrorCode failed, size_t) {
                        if (!self->socket_) return;
                        if (failed) return self->close();
                        self->sent_all();
                      });
  }

  void sent_all() {
    if (after_ == After::kClose) {
      ErrorCode ignored;
      socket_->shutdown(Socket::shutdown_send, ignored);
      return drain();
    }
    parser_.reset();
    busy_ = false;
    work();
  }

  void drain() {
    socket_->async_read_some(input_.room(), [self = shared_from_this()](ErrorCode error, size_t n) {
      if (!self->socket_) return;
      self->drained_ += n;
      if (error || self->drained_ > kDrainBytesMax) return self->close();
      self->drain();
    });
  }

  std::optional<Socket> socket_;
  std::weak_ptr<Server> server_;
  const HttpServerOptions options_;
  InputBuffer input_;
  std::optional<HttpParser<true>> parser_;
  std::string output_;
  std::string body_;
  After after_ = After::kKeepOpen;
  bool busy_ = false;     // a request waits for its answer, or the answer is being sent
  bool working_ = false;  // work() is on the stack
  StreamEvents events_;
  std::string unsent_;     // of a stream: what follows output_
  bool chunked_ = false;
  bool flushing_ = false;  // output_ is being sent
  bool ended_ = false;     // nothing follows unsent_
  size_t drained_ = 0;
};

Responder::Responder(std::shared_ptr<HttpSession> session) : session_(std::move(session)) {}
Responder::Responder(Responder&&) noexcept = default;
Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(session_, other.session_);
  return *this;
}
Responder::~Responder() {
  if (session_) session_->close();
}
void Responder::operator()(HttpResponse response) {
  ASSAY_CHECK(session_, "a request was answered twice");
  std::exchange(session_, nullptr)->respond(std::move(response));
}

ResponseStream Responder::stream(std::string_view content_type, StreamEvents events) {
  ASSAY_CHECK(session_, "a request was answered twice");
  session_->begin_stream(content_type, std::move(events));
  return ResponseStream(std::exchange(session_, nullptr));
}

ResponseStream::ResponseStream(std::shared_ptr<HttpSession> session)
    : session_(std::move(session)) {}
ResponseStream::ResponseStream(ResponseStream&&) noexcept = default;
ResponseStream& ResponseStream::operator=(ResponseStream&& other) noexcept {
  std::swap(session_, other.session_);
  return *this;
}
ResponseStream::~ResponseStream() {
  if (session_) session_->close();
}
void ResponseStream::write(std::string_view bytes) {
  if (session_) session_->write(bytes);
}
void ResponseStream::end() {
  if (session_) std::exchange(session_, nullptr)->end_stream();
}
size_t ResponseStream::unsent() const { return session_ ? session_->unsent() : 0; }

// Accepts until the server is closed.
void HttpServer::State::accept() {
  acceptor.async_accept(context, [self = shared_from_this()](ErrorCode error, Socket socket) {
    if (self->closed) return;
    if (!error) {
      self->admit(std::move(socket));
      return self->accept();
    }
    self->pause.expires_after(std::chrono::milliseconds(50));  // out of descriptors, most likely
    self->pause.async_wait([self](ErrorCode) {
      if (!self->closed) self->accept();
    });
  });
}

void HttpServer::State::admit(Socket socket) {
  if (sessions.size() >= options.connections_max) return;
  auto session = std::make_shared<HttpSession>(std::move(socket), weak_from_this(), options);
  sessions.insert(session.get());
  session->start();
}

HttpServer::HttpServer(asio::io_context& context, Handler handler, HttpServerOptions options)
    : state_(std::make_shared<State>(context, std::move(handler), options)) {}

HttpServer::~HttpServer() {
  state_->closed = true;
  ErrorCode ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
  for (HttpSession* session : std::exchange(state_->sessions, {})) session->close();
  state_->handler = nullptr;
}

Result<int> HttpServer::listen(const std::string& address, int port) {
  const std::string where = address + ':' + std::to_string(port);
  ErrorCode error;
  const asio::ip::address ip = asio::ip::make_address(address, error);
  if (error) return input_error("not a numeric address: " + address);
  const tcp::endpoint endpoint(ip, static_cast<uint16_t>(port));
  Acceptor& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return environment_error("cannot listen on " + where + ": the port is in use");
  }
  if (error) return environment_error("cannot listen on " + where + ": " + error.message());
  state_->accept();
  return static_cast<int>(acceptor.local_endpoint(error).port());
}

size_t HttpServer::connections() const { return state_->sessions.size(); }

}  // namespace assay
