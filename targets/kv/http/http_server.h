// HttpServer: HTTP/1.1 for programs: connections stay open, and each answers its requests in their
// order, one at a time; the handler answers whenever it can.
//
// Threads: everything runs on the io_context's one thread, and so must Responder's call. The server
// must be destroyed before the io_context. What does not fit the limits is answered (400, 413, 431)
// and the connection is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "checkers/history/error.h"
#include "targets/kv/http/http_message.h"

namespace boost::asio {
class io_context;
}

namespace assay {

class HttpSession;

// What happens to a ResponseStream besides what is written into it; never inside its own calls.
struct StreamEvents {
  std::function<void()> on_drained;  // all that was written has left
  std::function<void()> on_closed;   // the client has gone, or the connection broke
};

// An answer whose end is not known when it begins: chunked, to a client of HTTP/1.0 until the
// connection closes. It is the last answer on its connection. Destroyed without end(), it closes
// the connection. Once on_closed has run, and when the server is gone, it does nothing.
class ResponseStream {
 public:
  explicit ResponseStream(std::shared_ptr<HttpSession> session);
  ResponseStream(ResponseStream&&) noexcept;
  ResponseStream& operator=(ResponseStream&&) noexcept;
  ~ResponseStream();

  void write(std::string_view bytes);
  void end();
  // Bytes that were written and are still here: the client reads more slowly than that.
  size_t unsent() const;

 private:
  std::shared_ptr<HttpSession> session_;
};

// The right to answer one request, once. Dropped unused, it closes the connection: the request's
// sender then knows nothing, as when the process had died.
class Responder {
 public:
  explicit Responder(std::shared_ptr<HttpSession> session);
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();
  void operator()(HttpResponse response);
  // Status 200, and a body that goes on.
  ResponseStream stream(std::string_view content_type, StreamEvents events);

 private:
  std::shared_ptr<HttpSession> session_;
};

struct HttpServerOptions {
  size_t header_bytes_max = 16 * 1024;
  size_t body_bytes_max = 4 << 20;
  size_t connections_max = 4096;  // further ones are closed at once
};

class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, Responder)>;

  HttpServer(boost::asio::io_context& context, Handler handler, HttpServerOptions options = {});
  ~HttpServer();  // closes everything; handlers are not called any more
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves on a numeric address ("127.0.0.1", "::1"); port 0 takes a free one. Gives the port.
  Result<int> listen(const std::string& address, int port);
  size_t connections() const;

 private:
  friend class HttpSession;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace assay
