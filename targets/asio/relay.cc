#include "targets/asio/relay.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <vector>

namespace assay {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

}  // namespace

struct Relay::State : std::enable_shared_from_this<Relay::State> {
  State(boost::asio::io_context& context, const std::string& address, int port)
      : context(context), acceptor(context) {
    error_code bad;
    server = {boost::asio::ip::make_address(address, bad), static_cast<uint16_t>(port)};
    const tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
    acceptor.open(any.protocol(), bad);
    if (!bad) acceptor.bind(any, bad);
    if (!bad) acceptor.listen(tcp::acceptor::max_listen_connections, bad);
    if (!bad) own_port = acceptor.local_endpoint(bad).port();
  }

  struct Link : std::enable_shared_from_this<Link> {
    Link(std::shared_ptr<State> state, tcp::socket socket)
        : state(std::move(state)), client(std::move(socket)), server(this->state->context) {}

    void begin() {
      server.async_connect(state->server, [self = shared_from_this()](const error_code& error) {
        if (error) return self->reset();
        self->pump(self->client, self->server, self->up, true);
        self->pump(self->server, self->client, self->down, false);
      });
    }

    void pump(tcp::socket& from, tcp::socket& to, std::array<char, 16384>& bytes, bool asking) {
      from.async_read_some(
          boost::asio::buffer(bytes), [self = shared_from_this(), &from, &to, &bytes, asking](
                                          const error_code& error, size_t count) {
            if (error == boost::asio::error::eof) return self->pass_end(to);
            if (error) return self->reset();
            if (asking) {
              self->note_asking();
            } else if (self->state->losing && self->round == self->state->round) {
              self->state->losing = false;
              self->state->lost = true;
              return self->reset();
            }
            boost::asio::async_write(
                to, boost::asio::buffer(bytes, count),
                [self, &from, &to, &bytes, asking](const error_code& failed, size_t) {
                  if (failed) return self->reset();
                  self->pump(from, to, bytes, asking);
                });
          });
    }

    void note_asking() {
      if (round == state->round) return;
      round = state->round;
      ++state->askers;
    }

    // One side has said all; the other may go on. Both are closed when the last reader is done.
    void pass_end(tcp::socket& to) {
      error_code ignored;
      to.shutdown(tcp::socket::shutdown_send, ignored);
    }

    // Without a word of goodbye: the client sees "connection reset".
    void reset() {
      error_code ignored;
      client.set_option(boost::asio::socket_base::linger(true, 0), ignored);
      client.close(ignored);
      server.close(ignored);
    }

    std::shared_ptr<State> state;
    tcp::socket client, server;
    std::array<char, 16384> up, down;
    int round = 0;
  };

  void accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
      if (error == boost::asio::error::connection_aborted) return self->accept();
      if (error) return;
      auto link = std::make_shared<Link>(self, std::move(socket));
      std::erase_if(self->links, [](const auto& other) { return other.expired(); });
      self->links.push_back(link);
      link->begin();
      self->accept();
    });
  }

  boost::asio::io_context& context;
  tcp::acceptor acceptor;
  tcp::endpoint server;
  int own_port = 0;
  std::vector<std::weak_ptr<Link>> links;
  int round = 0;
  int askers = 0;
  bool losing = false;
  bool lost = false;
};

Relay::Relay(boost::asio::io_context& context, const std::string& address, int port)
    : state_(std::make_shared<State>(context, address, port)) {
  if (state_->own_port != 0) state_->accept();
}

Relay::~Relay() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  for (const auto& weak : state_->links) {
    if (const auto link = weak.lock()) link->reset();
  }
}

int Relay::port() const { return state_->own_port; }
void Relay::lose_next_answer() {
  ++state_->round;
  state_->askers = 0;
  state_->losing = true;
  state_->lost = false;
}
bool Relay::lost_one() const { return state_->lost; }
int Relay::askers() const { return state_->askers; }

}  // namespace assay
