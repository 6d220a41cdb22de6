// RedisConnection: one connection to a Redis server, one command at a time. The bytes are Asio's,
// the protocol is hiredis'. Nothing is ever sent twice; a connection that breaks is made anew for
// the next command.
//
// On the io_context's thread; one command at a time; destroying it abandons what is under way, and
// done then never runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "targets/target.h"

namespace boost::asio {
class io_context;
}

namespace assay {

struct RedisReply {
  enum class Fate {
    kAnswered,
    kNotSent,  // not one byte of the command has left: the server never saw it
    kLost,     // sent, at least in part, and then something broke: the server may have done it
  };
  enum class Kind { kStatus, kString, kInteger, kNull, kError, kArray, kOther };
  Fate fate = Fate::kLost;
  Kind kind = Kind::kOther;  // kOther: nothing that our commands are answered with
  std::string text;          // of kStatus, kString and kError
  int64_t integer = 0;
  std::vector<std::string> items;  // of kArray: its texts, those of arrays inside it in their place
  std::string error;  // of kNotSent and kLost: "connection refused", "connection closed", …
};

using RedisCommand = std::vector<std::string>;

class RedisConnection {
 public:
  // A numeric address.
  RedisConnection(boost::asio::io_context& context, std::string address, int port);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Calls done once, on the context and never inside this call. May be called from done.
  void send(const RedisCommand& command, std::function<void(RedisReply)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// One command on a connection of its own. Gives up after a second; the error's message is one word
// where the node is unreachable: "refused", "timeout", "reset".
void ask_redis(Loop& loop, const NodeInfo& node, const RedisCommand& command,
               Callback<RedisReply> done);

}  // namespace assay
