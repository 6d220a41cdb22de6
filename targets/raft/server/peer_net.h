// PeerNet: Net (env.h) over TCP: one connection for each directed pair of members, made by the one
// that sends. What cannot be sent now is dropped: Raft tolerates loss, and stale messages help
// nobody.
//
// On the wire: frames of length u32 | crc32c u32 | payload, little-endian; the first payload is the
// hello: magic, protocol version, cluster, sender, receiver; the receiver accepts it with one byte,
// and sends nothing more. A frame that does not check closes the connection.
//
// A connection on which nothing is acknowledged any more (a cut link) is given up after a quarter
// of a second, and made anew at short intervals: after a heal the peers talk again at once, and do
// not wait for TCP's next retransmission.
//
// Threads: the io_context's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "targets/raft/replica/env.h"
#include "targets/raft/server/options.h"

namespace boost::asio {
class io_context;
}

namespace assay::raft {

struct PeerNetOptions {
  NodeId self;
  uint64_t cluster = 0;
  Endpoint listen;
  std::vector<MemberAddress> members;  // with this node
  size_t queue_bytes_max = 16 << 20;   // per peer; beyond it messages are dropped
  size_t message_bytes_max = 8 << 20;  // larger frames are no frames
};

class PeerNet : public Net {
 public:
  using OnMessage = std::function<void(std::string_view message)>;

  PeerNet(boost::asio::io_context& context, PeerNetOptions options);
  ~PeerNet() override;

  // Returns an error in words.
  std::string listen();
  // From now on connects, and hands over what comes.
  void start(OnMessage on_message);

  void send(NodeId to, std::string message) override;

 private:
  struct State;
  class Link;
  class Inbound;
  std::shared_ptr<State> state_;
};

}  // namespace assay::raft
