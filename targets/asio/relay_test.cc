#include "targets/asio/relay.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <optional>

#include "targets/asio/testing_loop.h"

namespace assay {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Sends back what it reads, and counts the bytes.
class Echo {
 public:
  explicit Echo(boost::asio::io_context& context)
      : acceptor_(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  int port() const { return acceptor_.local_endpoint().port(); }
  size_t read_bytes() const { return read_bytes_; }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error) return;
      serve(std::make_shared<tcp::socket>(std::move(socket)));
      accept();
    });
  }
  void serve(std::shared_ptr<tcp::socket> socket) {
    auto bytes = std::make_shared<std::array<char, 100>>();
    socket->async_read_some(boost::asio::buffer(*bytes),
                            [this, socket, bytes](const error_code& error, size_t count) {
                              if (error) return;
                              read_bytes_ += count;
                              boost::asio::write(*socket, boost::asio::buffer(*bytes, count));
                              serve(socket);
                            });
  }

  tcp::acceptor acceptor_;
  size_t read_bytes_ = 0;
};

class RelayTest : public testing::Test {
 protected:
  tcp::socket connect() {
    tcp::socket socket(loop_.context());
    socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(relay_.port())});
    return socket;
  }
  // Sends a letter; what came back, or the error with which the connection ended.
  error_code ask(tcp::socket& socket, char& letter) {
    error_code failed;
    boost::asio::write(socket, boost::asio::buffer(&letter, 1), failed);
    if (failed) return failed;
    std::optional<error_code> end;
    boost::asio::async_read(socket, boost::asio::buffer(&letter, 1),
                            [&](const error_code& error, size_t) { end = error; });
    EXPECT_TRUE(loop_.run_until([&] { return end.has_value(); }));
    return end.value_or(error_code());
  }

  TestingLoop loop_;
  Echo echo_{loop_.context()};
  Relay relay_{loop_.context(), "127.0.0.1", echo_.port()};
};

TEST_F(RelayTest, PassesBothWays) {
  tcp::socket socket = connect();
  for (char letter : {'a', 'b', 'c'}) {
    char back = letter;
    EXPECT_FALSE(ask(socket, back));
    EXPECT_EQ(back, letter);
  }
}

TEST_F(RelayTest, AnAnswerThatIsLostWasAskedForAndItsConnectionIsReset) {
  tcp::socket socket = connect();
  char letter = 'a';
  ASSERT_FALSE(ask(socket, letter));
  relay_.lose_next_answer();
  EXPECT_EQ(relay_.askers(), 0);
  EXPECT_EQ(ask(socket, letter), boost::asio::error::connection_reset);
  EXPECT_TRUE(relay_.lost_one());
  EXPECT_EQ(relay_.askers(), 1);
  EXPECT_EQ(echo_.read_bytes(), 2u);
  // Only the one: the next connection works, and is counted.
  tcp::socket again = connect();
  EXPECT_FALSE(ask(again, letter));
  EXPECT_FALSE(ask(again, letter));
  EXPECT_EQ(relay_.askers(), 2);
}

TEST_F(RelayTest, BeforeAServerThatIsNotThereConnectionsEnd) {
  Relay nowhere(loop_.context(), "127.0.0.1", 1);
  tcp::socket socket(loop_.context());
  socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(nowhere.port())});
  char letter = 'a';
  EXPECT_TRUE(ask(socket, letter));
}

}  // namespace
}  // namespace assay
