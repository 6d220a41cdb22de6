// HttpServer and HttpClient, with each other and with sockets that misbehave.
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <optional>

#include "targets/asio/testing_loop.h"
#include "targets/kv/http/http_client.h"
#include "targets/kv/http/http_server.h"

namespace assay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Fate = HttpReply::Fate;

class HttpTest : public testing::Test {
 protected:
  // A server whose answers are the method, the target and the body of what came.
  HttpServer& start_echo(HttpServerOptions options = {}) {
    return start(
        [](const HttpRequest& request, Responder respond) {
          respond({200, "text/plain",
                   std::string(request.method) + ' ' + std::string(request.target) + ' ' +
                       std::string(request.body)});
        },
        options);
  }
  HttpServer& start(HttpServer::Handler handler, HttpServerOptions options = {}) {
    server_.emplace(loop_.context(), std::move(handler), options);
    const auto port = server_->listen("127.0.0.1", 0);
    EXPECT_TRUE(port.ok());
    port_ = *port;
    return *server_;
  }

  HttpReply ask(HttpClient& client, std::string_view method, std::string_view target,
                std::string_view body) {
    std::optional<HttpReply> reply;
    client.request(method, target, body, [&](HttpReply r) { reply = std::move(r); });
    EXPECT_FALSE(reply) << "done must not run inside the call";
    EXPECT_TRUE(loop_.run_until([&] { return reply.has_value(); }));
    return reply.value_or(HttpReply{});
  }

  // A connection of the test's own, and what has come back on it.
  struct Raw {
    explicit Raw(asio::io_context& context) : socket(context) {}
    tcp::socket socket;
    std::string received;
    bool closed = false;
    char chunk[4096];
  };
  std::shared_ptr<Raw> connect_raw() {
    auto raw = std::make_shared<Raw>(loop_.context());
    raw->socket.connect({asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port_)});
    read_on(raw);
    return raw;
  }
  static void read_on(std::shared_ptr<Raw> raw) {
    raw->socket.async_read_some(asio::buffer(raw->chunk),
                                [raw](boost::system::error_code error, size_t n) {
                                  raw->received.append(raw->chunk, n);
                                  raw->closed = error.failed();
                                  if (!error) read_on(raw);
                                });
  }
  // Sends bytes as they are and gives what comes back until the server closes, or `wanted` bytes.
  std::string raw(std::string_view bytes, size_t wanted = SIZE_MAX) {
    auto raw = connect_raw();
    asio::write(raw->socket, asio::buffer(bytes));
    EXPECT_TRUE(loop_.run_until([&] { return raw->closed || raw->received.size() >= wanted; }));
    raw->socket.close();
    return raw->received;
  }

  TestingLoop loop_;
  std::optional<HttpServer> server_;
  int port_ = 0;
};

TEST_F(HttpTest, RequestsAreAnsweredOnOneConnection) {
  HttpServer& server = start_echo();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = ask(client, "POST", "/a?b=c", "body");
    EXPECT_EQ(reply.fate, Fate::kAnswered);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "POST /a?b=c body");
    EXPECT_EQ(server.connections(), 1u);
  }
}

TEST_F(HttpTest, BodiesOfAnySizePass) {
  start_echo();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  for (size_t size : {0u, 1u, 4095u, 4096u, 70'000u, 3'000'000u}) {
    const std::string body(size, 'x');
    EXPECT_EQ(ask(client, "POST", "/", body).body, "POST / " + body);
  }
}

TEST_F(HttpTest, AnswersMayComeMuchLater) {
  std::deque<Responder> waiting;
  start([&](const HttpRequest&, Responder respond) { waiting.push_back(std::move(respond)); });
  HttpClient a(loop_.context(), "127.0.0.1", port_);
  HttpClient b(loop_.context(), "127.0.0.1", port_);
  std::string of_a, of_b;
  a.request("POST", "/", "", [&](HttpReply reply) { of_a = reply.body; });
  ASSERT_TRUE(loop_.run_until([&] { return waiting.size() == 1; }));
  b.request("POST", "/", "", [&](HttpReply reply) { of_b = reply.body; });
  ASSERT_TRUE(loop_.run_until([&] { return waiting.size() == 2; }));
  waiting[1]({200, "text/plain", "for b"});
  waiting[0]({200, "text/plain", "for a"});
  ASSERT_TRUE(loop_.run_until([&] { return !of_a.empty() && !of_b.empty(); }));
  EXPECT_EQ(of_a, "for a");
  EXPECT_EQ(of_b, "for b");
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrderOneAtATime) {
  std::deque<std::pair<std::string, Responder>> waiting;
  start([&](const HttpRequest& request, Responder respond) {
    waiting.emplace_back(request.target, std::move(respond));
  });
  auto raw = connect_raw();
  asio::write(raw->socket,
              asio::buffer(std::string("POST /1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"
                                       "GET /2 HTTP/1.1\r\n\r\n"
                                       "GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n")));
  for (const char* target : {"/1", "/2", "/3"}) {
    ASSERT_TRUE(loop_.run_until([&] { return !waiting.empty(); }));
    EXPECT_EQ(waiting.size(), 1u);
    EXPECT_EQ(waiting[0].first, target);
    waiting[0].second({200, "text/plain", target});
    waiting.pop_front();
  }
  ASSERT_TRUE(loop_.run_until([&] { return raw->closed; }));
  EXPECT_LT(raw->received.find("/1"), raw->received.find("/2"));
  EXPECT_LT(raw->received.find("/2"), raw->received.find("/3"));
  EXPECT_NE(raw->received.find("/3"), std::string::npos);
}

TEST_F(HttpTest, AThousandPipelinedRequestsDoNotNest) {
  int depth = 0;
  int deepest = 0;
  start([&](const HttpRequest& request, Responder respond) {
    deepest = std::max(deepest, ++depth);
    respond({200, "text/plain", std::string(request.target)});
    --depth;
  });
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "GET /x HTTP/1.1\r\n\r\n";
  requests += "GET /last HTTP/1.1\r\nConnection: close\r\n\r\n";
  EXPECT_NE(raw(requests).find("/last"), std::string::npos);
  EXPECT_EQ(deepest, 1);
}

TEST_F(HttpTest, ADroppedResponderClosesTheConnection) {
  start([](const HttpRequest&, Responder) {});
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  const HttpReply reply = ask(client, "POST", "/", "body");
  EXPECT_EQ(reply.fate, Fate::kLost);
  EXPECT_FALSE(reply.error.empty());
}

TEST_F(HttpTest, WhatDoesNotFitIsRefused) {
  start_echo({.header_bytes_max = 1000, .body_bytes_max = 1000});
  const std::string long_header(2000, 'h');
  const std::pair<std::string, std::string> cases[] = {
      {"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 413 "},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 400 "},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n", "HTTP/1.1 413 "},
      {"GET / HTTP/1.1\r\nX: " + long_header + "\r\n\r\n", "HTTP/1.1 431 "},
      {"GET /" + long_header, "HTTP/1.1 431 "},
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {std::string("\0\1\2\3\r\n\r\n", 8), "HTTP/1.1 400 "},
  };
  for (const auto& [bytes, start] : cases) {
    EXPECT_EQ(raw(bytes + std::string("the rest"), 1).substr(0, start.size()), start) << bytes;
  }
}

TEST_F(HttpTest, ChunkedBodiesAndExpectationsAreUnderstood) {
  start_echo();
  EXPECT_NE(raw("POST / HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                .find("POST / abcde"),
            std::string::npos);
  EXPECT_EQ(raw("POST / HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", 25),
            "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_F(HttpTest, OldClientsAreToldWhetherTheConnectionStays) {
  start_echo();
  EXPECT_NE(raw("GET / HTTP/1.0\r\n\r\n").find("Connection: close"), std::string::npos);
  EXPECT_NE(raw("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 60).find("keep-alive"),
            std::string::npos);
}

TEST_F(HttpTest, ConnectionsHaveALimit) {
  HttpServer& server = start_echo({.connections_max = 2});
  HttpClient a(loop_.context(), "127.0.0.1", port_);
  HttpClient b(loop_.context(), "127.0.0.1", port_);
  HttpClient c(loop_.context(), "127.0.0.1", port_);
  EXPECT_EQ(ask(a, "GET", "/", "").fate, Fate::kAnswered);
  EXPECT_EQ(ask(b, "GET", "/", "").fate, Fate::kAnswered);
  EXPECT_NE(ask(c, "GET", "/", "").fate, Fate::kAnswered);
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(HttpTest, APortInUseIsSaidSo) {
  start_echo();
  HttpServer second(loop_.context(), nullptr);
  const auto port = second.listen("127.0.0.1", port_);
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(port_) + ": the port is in use");
  EXPECT_FALSE(second.listen("no address", 0).ok());
}

// --- The client alone ----------------------------------------------------------------------------

// Accepts one connection after another and does with each what the test says.
class HttpClientTest : public HttpTest {
 protected:
  using Behaviour = std::function<void(std::shared_ptr<tcp::socket>)>;
  void serve(Behaviour behaviour) {
    if (acceptor_) acceptor_->close();
    acceptor_.emplace(loop_.context(), tcp::endpoint{asio::ip::make_address("127.0.0.1"), 0});
    port_ = acceptor_->local_endpoint().port();
    accept_next(std::move(behaviour));
  }
  void accept_next(Behaviour behaviour) {
    acceptor_->async_accept([this, behaviour](boost::system::error_code error, tcp::socket socket) {
      if (error) return;
      ++accepted_;
      behaviour(std::make_shared<tcp::socket>(std::move(socket)));
      accept_next(behaviour);
    });
  }
  // Reads the request, sends these bytes, and closes.
  static void answer_and_close(std::shared_ptr<tcp::socket> socket, std::string bytes) {
    auto buffer = std::make_shared<std::string>(10'000, '\0');
    socket->async_read_some(asio::buffer(*buffer),
                            [socket, buffer, bytes](boost::system::error_code, size_t) {
                              asio::write(*socket, asio::buffer(bytes));
                            });
  }

  std::optional<tcp::acceptor> acceptor_;
  int accepted_ = 0;
};

TEST_F(HttpClientTest, NobodyListeningIsNotSent) {
  serve(nullptr);
  acceptor_->close();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  const HttpReply reply = ask(client, "POST", "/", "body");
  EXPECT_EQ(reply.fate, Fate::kNotSent);
  EXPECT_EQ(reply.error, "connection refused");
  EXPECT_EQ(HttpReply::Fate::kNotSent, ask(client, "POST", "/", "body").fate);
}

TEST_F(HttpClientTest, NoAddressIsNotSent) {
  HttpClient client(loop_.context(), "not.an.address", 1);
  EXPECT_EQ(ask(client, "POST", "/", "").fate, Fate::kNotSent);
}

TEST_F(HttpClientTest, ClosedAfterSendingIsLost) {
  for (const char* answer :
       {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "garbage\r\n\r\n"}) {
    serve([=](auto socket) { answer_and_close(socket, answer); });
    HttpClient client(loop_.context(), "127.0.0.1", port_);
    EXPECT_EQ(ask(client, "POST", "/", "body").fate, Fate::kLost) << answer;
  }
}

TEST_F(HttpClientTest, AnAnswerMayEndWithTheConnectionOrComeInChunks) {
  const std::pair<const char*, const char*> cases[] = {
      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it", "all of it"},
      {"HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x"},
  };
  for (const auto& [bytes, body] : cases) {
    serve([bytes = std::string(bytes)](auto socket) { answer_and_close(socket, bytes); });
    HttpClient client(loop_.context(), "127.0.0.1", port_);
    const HttpReply reply = ask(client, "POST", "/", "body");
    EXPECT_EQ(reply.fate, Fate::kAnswered) << bytes;
    EXPECT_EQ(reply.body, body);
  }
}

// A server that died while nothing was under way: the next request finds out by connecting, so its
// refusal is definite.
TEST_F(HttpTest, AConnectionThatDiedIdleIsMadeAnew) {
  start_echo();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  EXPECT_EQ(ask(client, "GET", "/", "").fate, Fate::kAnswered);
  server_.reset();
  loop_.run_for(std::chrono::milliseconds(50));
  const HttpReply refused = ask(client, "POST", "/", "body");
  EXPECT_EQ(refused.fate, Fate::kNotSent);
  EXPECT_EQ(refused.error, "connection refused");

  server_.emplace(loop_.context(), [](const HttpRequest&, Responder respond) { respond({}); });
  ASSERT_TRUE(server_->listen("127.0.0.1", port_).ok());
  EXPECT_EQ(ask(client, "POST", "/", "body").fate, Fate::kAnswered);
}

TEST_F(HttpClientTest, NothingIsEverSentTwice) {
  serve([](auto socket) { answer_and_close(socket, ""); });
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  EXPECT_EQ(ask(client, "POST", "/", "body").fate, Fate::kLost);
  loop_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(accepted_, 1);
}

TEST_F(HttpTest, ADestroyedClientIsSilent) {
  std::deque<Responder> waiting;
  start([&](const HttpRequest&, Responder respond) { waiting.push_back(std::move(respond)); });
  bool ran = false;
  {
    HttpClient client(loop_.context(), "127.0.0.1", port_);
    client.request("POST", "/", "", [&](HttpReply) { ran = true; });
    ASSERT_TRUE(loop_.run_until([&] { return waiting.size() == 1; }));
  }
  {
    HttpClient connecting(loop_.context(), "127.0.0.1", port_);
    connecting.request("POST", "/", "", [&](HttpReply) { ran = true; });
  }
  waiting[0]({200, "text/plain", "late"});
  loop_.run_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(ran);
  EXPECT_TRUE(loop_.run_until([&] { return server_->connections() == 0; }));
}

TEST_F(HttpTest, AClientMayBeDestroyedInItsOwnCallback) {
  start_echo();
  auto client = std::make_unique<HttpClient>(loop_.context(), "127.0.0.1", port_);
  bool ran = false;
  client->request("GET", "/", "", [&](HttpReply) {
    client.reset();
    ran = true;
  });
  EXPECT_TRUE(loop_.run_until([&] { return ran; }));
}

// --- Answers that go on

class StreamTest : public HttpTest {
 protected:
  void start_stream(StreamEvents events = {}) {
    start([this, events](const HttpRequest&, Responder respond) {
      stream_ = respond.stream("text/plain", events);
    });
  }
  void open(HttpClient& client) {
    client.stream("POST", "/", "body", [this](std::string_view piece) { received_ += piece; },
                  [this](HttpReply reply) { reply_ = std::move(reply); });
    ASSERT_TRUE(loop_.run_until([&] { return stream_.has_value(); }));
  }

  std::optional<ResponseStream> stream_;
  std::string received_;
  std::optional<HttpReply> reply_;
};

TEST_F(StreamTest, PiecesComeAsTheyAreWrittenUntilTheEnd) {
  start_stream();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  open(client);
  stream_->write("one");
  ASSERT_TRUE(loop_.run_until([&] { return received_ == "one"; }));
  EXPECT_FALSE(reply_);
  stream_->write("");
  stream_->write(" two");
  stream_->end();
  ASSERT_TRUE(loop_.run_until([&] { return reply_.has_value(); }));
  EXPECT_EQ(received_, "one two");
  EXPECT_EQ(reply_->fate, Fate::kAnswered);
  EXPECT_EQ(reply_->status, 200);
  EXPECT_EQ(reply_->body, "");
  EXPECT_TRUE(loop_.run_until([&] { return server_->connections() == 0; }));
}

TEST_F(StreamTest, ItIsChunkedAndToAnOldClientEndsWithTheConnection) {
  start_stream();
  for (const auto& [version, expected] :
       {std::pair("1.1", "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"),
        std::pair("1.0", "\r\nConnection: close\r\n\r\none")}) {
    stream_.reset();
    auto raw = connect_raw();
    asio::write(raw->socket,
                asio::buffer(std::string("GET / HTTP/") + version + "\r\n\r\n"));
    ASSERT_TRUE(loop_.run_until([&] { return stream_.has_value(); }));
    stream_->write("one");
    stream_->end();
    ASSERT_TRUE(loop_.run_until([&] { return raw->closed; }));
    EXPECT_TRUE(raw->received.ends_with(expected)) << raw->received;
  }
}

TEST_F(StreamTest, AClientThatGoesAwayIsNoticedWithoutAWrite) {
  bool closed = false;
  start_stream({.on_closed = [&] { closed = true; }});
  {
    HttpClient client(loop_.context(), "127.0.0.1", port_);
    open(client);
  }
  ASSERT_TRUE(loop_.run_until([&] { return closed; }));
  EXPECT_EQ(server_->connections(), 0u);
  stream_->write("to nobody");
  stream_->end();
}

TEST_F(StreamTest, OneThatIsDroppedBreaksTheConnection) {
  start_stream();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  open(client);
  stream_->write("one");
  ASSERT_TRUE(loop_.run_until([&] { return received_ == "one"; }));
  stream_.reset();
  ASSERT_TRUE(loop_.run_until([&] { return reply_.has_value(); }));
  EXPECT_EQ(reply_->fate, Fate::kLost);
}

TEST_F(StreamTest, TheServersEndEndsIt) {
  bool closed = false;
  start_stream({.on_closed = [&] { closed = true; }});
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  open(client);
  server_.reset();
  ASSERT_TRUE(loop_.run_until([&] { return reply_.has_value(); }));
  EXPECT_EQ(reply_->fate, Fate::kLost);
  stream_->write("late");
  EXPECT_FALSE(closed) << "nobody is told any more";
}

TEST_F(StreamTest, ItSaysWhenTheClientDoesNotReadAndWhenAllHasLeft) {
  int drained = 0;
  start_stream({.on_drained = [&] { ++drained; }});
  auto raw = std::make_shared<Raw>(loop_.context());
  raw->socket.connect({asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port_)});
  asio::write(raw->socket, asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));
  ASSERT_TRUE(loop_.run_until([&] { return stream_.has_value() && drained == 1; }));
  EXPECT_EQ(stream_->unsent(), 0u);
  const std::string much(64 << 20, 'x');
  stream_->write(much);
  loop_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(drained, 1);
  EXPECT_GT(stream_->unsent(), much.size());
  read_on(raw);
  ASSERT_TRUE(loop_.run_until([&] { return drained == 2; }));
  EXPECT_EQ(stream_->unsent(), 0u);
}

TEST_F(StreamTest, AClientMayAbandonItInItsOwnCallback) {
  start_stream();
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  client.stream("POST", "/", "",
                [&](std::string_view piece) {
                  received_ += piece;
                  client.abandon();
                },
                [&](HttpReply reply) { reply_ = std::move(reply); });
  ASSERT_TRUE(loop_.run_until([&] { return stream_.has_value(); }));
  stream_->write("one");
  ASSERT_TRUE(loop_.run_until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(received_, "one");
  EXPECT_FALSE(reply_);
}

TEST_F(StreamTest, AnErrorComesAsAReplyWithItsBody) {
  start([](const HttpRequest&, Responder respond) { respond({503, "text/plain", "not now"}); });
  HttpClient client(loop_.context(), "127.0.0.1", port_);
  client.stream("POST", "/", "", [this](std::string_view piece) { received_ += piece; },
                [this](HttpReply reply) { reply_ = std::move(reply); });
  ASSERT_TRUE(loop_.run_until([&] { return reply_.has_value(); }));
  EXPECT_EQ(reply_->status, 503);
  EXPECT_EQ(reply_->body, "not now");
  EXPECT_EQ(received_, "");
}

}  // namespace
}  // namespace assay
