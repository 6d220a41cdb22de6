#include "targets/raft/server/peer_net.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>

#include "targets/raft/core/check.h"
#include "targets/raft/server/frame.h"
#include "targets/raft/server/log_line.h"

namespace assay::raft {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;
using ErrorCode = boost::system::error_code;

constexpr milliseconds kWatchInterval{50};
constexpr milliseconds kStaleAfter{250};
constexpr milliseconds kConnectWithin{200};
constexpr milliseconds kWelcomeWithin{1000};
constexpr milliseconds kBackoffMin{10};
constexpr milliseconds kBackoffMax{100};
constexpr milliseconds kHelloWithin{2000};
constexpr unsigned kUserTimeoutMs = 2000;
constexpr size_t kInboundMax = 256;
constexpr std::chrono::seconds kSameRefusalEvery{10};
constexpr char kWelcome = 'w';

ErrorCode tune(Socket& socket) {
  ErrorCode error;
  socket.set_option(tcp::no_delay(true), error);
  if (!error) socket.non_blocking(true, error);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs,
               sizeof kUserTimeoutMs);
  return error;
}

// True when the kernel retransmits and hears nothing back. A peer that is merely stopped still
// acknowledges.
bool is_stale(Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_retransmits > 0 && info.tcpi_last_ack_recv > kStaleAfter.count();
}

// Bytes read and not yet used, at a place that stays during one pass over them.
class ByteQueue {
 public:
  asio::mutable_buffer room(size_t wanted) {
    if (begin_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (bytes_.size() < end_ + wanted) bytes_.resize(end_ + wanted);
    return {bytes_.data() + end_, bytes_.size() - end_};
  }
  void filled(size_t count) { end_ += count; }
  std::string_view unread() const { return {bytes_.data() + begin_, end_ - begin_}; }
  void consume(size_t count) { begin_ += count; }

 private:
  std::vector<char> bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace

struct PeerNet::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, PeerNetOptions o)
      : context(io), options(std::move(o)), acceptor(io), watch(io) {}

  asio::io_context& context;
  PeerNetOptions options;
  Acceptor acceptor;
  asio::steady_timer watch;
  OnMessage on_message;
  std::map<NodeId, std::shared_ptr<Link>> links;
  std::unordered_set<std::shared_ptr<Inbound>> inbound;
  bool closed = false;
  bool accept_again = false;
  std::string last_refusal;
  std::chrono::steady_clock::time_point last_refusal_at;

  const std::string& name_of(NodeId id) const {
    for (const MemberAddress& member : options.members) {
      if (member.id == id) return member.name;
    }
    static const std::string nobody = "?";
    return nobody;
  }
  // A peer that is refused comes back many times a second.
  void log_refusal(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (text == last_refusal && now - last_refusal_at < kSameRefusalEvery) return;
    last_refusal = text;
    last_refusal_at = now;
    log_line(text);
  }
  void accept();
  void keep_watch();
  void close();
};

// --- Outgoing
// --------------------------------------------------------------------------------------

// The connection to one peer, for as long as the net lives.
class PeerNet::Link : public std::enable_shared_from_this<Link> {
 public:
  Link(State& net, const MemberAddress& peer) : net_(net), peer_(peer), timer_(net.context) {}

  void connect() {
    ++serial_;
    socket_.emplace(net_.context);
    ErrorCode error;
    const auto address = asio::ip::make_address(peer_.peer.address, error);
    const tcp::endpoint endpoint(address, static_cast<uint16_t>(peer_.peer.port));
    if (!error) socket_->open(endpoint.protocol(), error);
    if (!error) bind_to_own_address(error);
    if (error) return retry(kBackoffMax);
    give_up_after(kConnectWithin);
    socket_->async_connect(endpoint, [self = shared_from_this(), of = serial_](ErrorCode failed) {
      if (of != self->serial_) return;
      failed ? self->retry_later() : self->connected();
    });
  }

  void send(std::string_view message) {
    if (!up_) return;
    if (queue_.size() + message.size() > net_.options.queue_bytes_max) return;
    append_frame(queue_, message);
    if (writing_ || flush_due_) return;
    // What is sent until then leaves in one write.
    flush_due_ = true;
    asio::post(net_.context, [self = shared_from_this(), of = serial_] {
      self->flush_due_ = false;
      if (of == self->serial_ && self->up_ && !self->writing_) self->write();
    });
  }

  void watch() {
    if (up_ && is_stale(*socket_)) lost("no acknowledgements");
  }

  void close() {
    ++serial_;
    up_ = false;
    socket_.reset();
    timer_.cancel();
  }

 private:
  // Whoever filters by address sees this node's own.
  void bind_to_own_address(ErrorCode& error) {
    const auto own = asio::ip::make_address(net_.options.listen.address, error);
    if (!error && !own.is_unspecified()) socket_->bind({own, 0}, error);
  }

  // The peer has still to say that it is the right one.
  void connected() {
    if (tune(*socket_)) return retry(kBackoffMax);
    queue_.clear();
    append_frame(queue_,
                 encode_hello({kPeerProtocol, net_.options.cluster, net_.options.self, peer_.id}));
    give_up_after(kWelcomeWithin);
    write();
    read();
  }

  void welcome() {
    timer_.cancel();
    backoff_ = kBackoffMin;
    up_ = true;
    log_line("peer " + peer_.name + " is connected");
  }

  // After the welcome the peer sends nothing: what is read is the end.
  void read() {
    socket_->async_read_some(asio::buffer(&byte_, 1),
                             [self = shared_from_this(), of = serial_](ErrorCode error, size_t) {
                               if (of != self->serial_) return;
                               if (error) return self->lost(error.message());
                               if (!self->up_) self->welcome();
                               self->read();
                             });
  }

  void give_up_after(milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this(), of = serial_](ErrorCode cancelled) {
      if (!cancelled && of == self->serial_) self->retry(kBackoffMin);
    });
  }

  void write() {
    writing_ = true;
    in_flight_.clear();
    std::swap(in_flight_, queue_);
    asio::async_write(*socket_, asio::buffer(in_flight_),
                      [self = shared_from_this(), of = serial_](ErrorCode error, size_t) {
                        if (of != self->serial_) return;
                        self->writing_ = false;
                        if (error) return self->lost(error.message());
                        if (!self->queue_.empty()) self->write();
                      });
  }

  void lost(const std::string& why) {
    if (!up_) return retry_later();  // it closed without a welcome: it says why in its own log
    log_line("peer " + peer_.name + " is lost: " + why);
    retry(kBackoffMin);
  }

  void retry_later() {
    const milliseconds wait = backoff_;
    backoff_ = std::min(2 * backoff_, kBackoffMax);
    retry(wait);
  }

  void retry(milliseconds wait) {
    ++serial_;
    up_ = writing_ = false;
    socket_.reset();
    // What was being written is freed only now that nothing refers to it.
    queue_ = {};
    timer_.expires_after(wait);
    timer_.async_wait([self = shared_from_this(), of = serial_](ErrorCode cancelled) {
      if (!cancelled && of == self->serial_ && !self->net_.closed) self->connect();
    });
  }

  State& net_;
  const MemberAddress peer_;
  asio::steady_timer timer_;
  std::optional<Socket> socket_;
  uint64_t serial_ = 0;  // of the attempt; what reports for an earlier one is ignored
  bool up_ = false;
  bool writing_ = false;
  bool flush_due_ = false;
  std::string queue_;
  std::string in_flight_;
  char byte_ = 0;
  milliseconds backoff_ = kBackoffMin;
};

// --- Incoming
// --------------------------------------------------------------------------------------

class PeerNet::Inbound : public std::enable_shared_from_this<Inbound> {
 public:
  Inbound(State& net, Socket socket) : net_(net), socket_(std::move(socket)) {
    ErrorCode ignored;
    socket_->non_blocking(true, ignored);
  }

  NodeId from() const { return from_; }
  bool is_silent(std::chrono::steady_clock::time_point now) const {
    return !from_ && now - accepted_ > kHelloWithin;
  }

  void read(size_t wanted = kReadBytes) {
    socket_->async_read_some(input_.room(std::max(wanted, kReadBytes)),
                             [self = shared_from_this()](ErrorCode error, size_t count) {
                               if (!self->socket_) return;
                               if (error) return self->drop();
                               self->input_.filled(count);
                               self->take_frames();
                             });
  }

  void close() { socket_.reset(); }

 private:
  static constexpr size_t kReadBytes = 64 * 1024;

  void take_frames() {
    while (socket_) {
      const Frame frame = first_frame(input_.unread(), net_.options.message_bytes_max);
      if (frame.state == Frame::State::kBad) return refuse("a frame does not check");
      if (frame.state == Frame::State::kIncomplete) {
        return read(frame.bytes - input_.unread().size());
      }
      if (from_) {
        net_.on_message(frame.payload);
      } else if (!greet(frame.payload)) {
        return;
      }
      input_.consume(frame.bytes);
    }
  }

  bool greet(std::string_view payload) {
    const auto hello = decode_hello(payload);
    std::string why;
    if (!hello) {
      why = "it is no peer";
    } else if (hello->protocol != kPeerProtocol) {
      why = "it speaks protocol " + std::to_string(hello->protocol) + ", this node " +
            std::to_string(kPeerProtocol);
    } else if (hello->cluster != net_.options.cluster) {
      why = "it is of another cluster (--cluster must name the same nodes everywhere)";
    } else if (hello->to != net_.options.self || !net_.links.contains(hello->from)) {
      why = "it looks for another node";
    }
    if (!why.empty()) {
      refuse(why);
      return false;
    }
    from_ = hello->from;
    replace_earlier();
    ErrorCode error;  // one byte fits; where it does not arrive, the peer tries again
    socket_->write_some(asio::buffer(&kWelcome, 1), error);
    return true;
  }

  // The peer has given the earlier one up, even if no word of that has come.
  void replace_earlier() {
    const auto mine = shared_from_this();
    std::erase_if(net_.inbound, [&](const std::shared_ptr<Inbound>& other) {
      if (other == mine || other->from_ != from_) return false;
      other->close();
      return true;
    });
  }

  void refuse(const std::string& why) {
    ErrorCode ignored;
    const auto remote = socket_->remote_endpoint(ignored);
    const std::string who =
        from_ ? "peer " + net_.name_of(from_) : "a connection from " + remote.address().to_string();
    net_.log_refusal("refused " + who + ": " + why);
    drop();
  }

  void drop() {
    socket_.reset();
    net_.inbound.erase(shared_from_this());
  }

  State& net_;
  std::optional<Socket> socket_;
  ByteQueue input_;
  NodeId from_;
  const std::chrono::steady_clock::time_point accepted_ = std::chrono::steady_clock::now();
};

// --- The whole
// -------------------------------------------------------------------------------------

void PeerNet::State::accept() {
  acceptor.async_accept(context, [self = shared_from_this()](ErrorCode error, Socket socket) {
    if (self->closed) return;
    if (!error && self->inbound.size() < kInboundMax) {
      auto inbound = std::make_shared<Inbound>(*self, std::move(socket));
      self->inbound.insert(inbound);
      inbound->read();
    }
    if (!error) return self->accept();
    // Out of descriptors, most likely: the watch asks again.
    self->accept_again = true;
  });
}

void PeerNet::State::keep_watch() {
  watch.expires_after(kWatchInterval);
  watch.async_wait([self = shared_from_this()](ErrorCode) {
    if (self->closed) return;
    for (const auto& [id, link] : self->links) link->watch();
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(self->inbound, [&](const std::shared_ptr<Inbound>& inbound) {
      if (!inbound->is_silent(now)) return false;
      inbound->close();
      return true;
    });
    if (std::exchange(self->accept_again, false)) self->accept();
    self->keep_watch();
  });
}

void PeerNet::State::close() {
  closed = true;
  ErrorCode ignored;
  acceptor.close(ignored);
  watch.cancel();
  for (const auto& [id, link] : links) link->close();
  for (const auto& connection : inbound) connection->close();
  inbound.clear();
}

PeerNet::PeerNet(asio::io_context& context, PeerNetOptions options)
    : state_(std::make_shared<State>(context, std::move(options))) {
  for (const MemberAddress& member : state_->options.members) {
    if (member.id == state_->options.self) continue;
    state_->links.emplace(member.id, std::make_shared<Link>(*state_, member));
  }
}

PeerNet::~PeerNet() { state_->close(); }

std::string PeerNet::listen() {
  const Endpoint& own = state_->options.listen;
  const std::string where = "cannot listen for peers on " + own.to_string() + ": ";
  ErrorCode error;
  const auto address = asio::ip::make_address(own.address, error);
  if (error) return where + "not a numeric address";
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(own.port));
  Acceptor& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) return where + "the port is in use";
  return error ? where + error.message() : "";
}

void PeerNet::start(OnMessage on_message) {
  state_->on_message = std::move(on_message);
  state_->accept();
  state_->keep_watch();
  for (const auto& [id, link] : state_->links) link->connect();
}

void PeerNet::send(NodeId to, std::string message) {
  const auto link = state_->links.find(to);
  RAFT_CHECK(link != state_->links.end(), "a message to node " + std::to_string(to.value));
  link->second->send(message);
}

}  // namespace assay::raft
