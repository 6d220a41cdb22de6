// Relay: a TCP proxy on 127.0.0.1 in front of one address, which can lose an answer: the request
// has reached the server, and whoever asked sees its connection reset.
//
// On the io_context's thread. Destroying it ends its connections.
#pragma once

#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace assay {

class Relay {
 public:
  // Port 0 where no port could be had; what cannot be reached behind it looks closed to clients.
  Relay(boost::asio::io_context& context, const std::string& address, int port);
  ~Relay();

  int port() const;
  // The next bytes that come from the server are not passed on: that connection is reset. Counting
  // starts anew.
  void lose_next_answer();
  bool lost_one() const;
  // Connections on which a client has sent something since then. More than one: it asked again.
  int askers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace assay
