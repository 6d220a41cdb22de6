// HttpClient: one persistent connection to one server, made when it is needed. One request at a
// time; nothing is ever sent twice.
//
// Threads: the io_context's one thread. It must be destroyed before the io_context. It has no
// deadline of its own: destroying it abandons what is under way, and done then never runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace assay {

struct HttpReply {
  enum class Fate {
    kAnswered,  // status and body are the server's
    kNotSent,   // not one byte of the request has left: the server never saw it
    kLost,      // sent, at least in part, and then something broke: the server may have done it
  };
  Fate fate = Fate::kLost;
  int status = 0;
  std::string body;
  std::string error;  // of kNotSent and kLost: "connection refused", "connection closed", …
};

class HttpClient {
 public:
  // A numeric address.
  HttpClient(boost::asio::io_context& context, std::string address, int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Calls done once, on the context and never inside this call. May be called from done.
  void request(std::string_view method, std::string_view target, std::string_view body,
               std::function<void(HttpReply)> done);
  // The same for an answer that goes on: the body of one with status 200 comes in pieces as they
  // arrive, and is not in the reply. on_piece may call abandon().
  void stream(std::string_view method, std::string_view target, std::string_view body,
              std::function<void(std::string_view piece)> on_piece,
              std::function<void(HttpReply)> done);
  // Closes the connection; what is under way ends without a call of done.
  void abandon();

 private:
  struct Connection;
  std::shared_ptr<Connection> connection_;
};

}  // namespace assay
