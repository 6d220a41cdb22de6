// Watches over HTTP: who is told what, and that one who reads slowly holds up nobody.
#include "targets/kv/http/watch_streams.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <optional>

#include "targets/asio/testing_loop.h"
#include "targets/kv/http/base64.h"
#include "targets/kv/http/http_client.h"
#include "targets/kv/http/json_node.h"
#include "targets/kv/service/service.h"

namespace assay {
namespace {

namespace asio = boost::asio;

std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

class WatchStreamsTest : public testing::Test {
 protected:
  WatchStreamsTest() { serve({}); }

  void serve(WatchStreamsOptions options) {
    server_.reset();
    streams_.emplace(
        loop_.context(),
        WatchStreams::Source{.store = [this]() -> const kv::Store& { return service_->store(); },
                             .header =
                                 [] {
                                   return kv::Header{1, 2, 3};
                                 }},
        options);
    server_.emplace(loop_.context(), [this](const HttpRequest& http, Responder respond) {
      auto parsed = kv::parse_http(http);
      streams_->open(std::get<kv::WatchRequest>(std::get<kv::FrontRequest>(parsed)),
                     std::move(respond));
    });
    port_ = *server_->listen("127.0.0.1", 0);
  }

  void apply(kv::Request request) {
    service_->apply(std::move(request));
    streams_->notify();
  }
  void put(const std::string& value) { apply(kv::PutRequest{"w/1", value}); }

  struct Watch {
    std::string text;
    std::optional<HttpReply> reply;
    std::unique_ptr<HttpClient> client;
    bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
  };
  static std::string body(int64_t from, const std::string& more = "") {
    return R"({"create_request":{"key":")" + base64("w/") + R"(","range_end":")" + base64("w0") +
           R"(","start_revision":")" + std::to_string(from) + '"' + more + "}}";
  }
  Watch& watch(int64_t from, const std::string& more = "") {
    Watch& watch = watches_[next_++];
    watch.client = std::make_unique<HttpClient>(loop_.context(), "127.0.0.1", port_);
    watch.client->stream(
        "POST", "/v3/watch", body(from, more), [&](std::string_view piece) { watch.text += piece; },
        [&](HttpReply reply) { watch.reply = std::move(reply); });
    EXPECT_TRUE(loop_.run_until([&] { return watch.has("\"created\":true"); }));
    return watch;
  }
  static std::string mod(int64_t revision) {
    return "\"mod_revision\":\"" + std::to_string(revision) + "\"";
  }

  TestingLoop loop_;
  std::optional<kv::Service> service_{std::in_place};
  std::optional<WatchStreams> streams_;
  std::optional<HttpServer> server_;
  int port_ = 0;
  std::map<int, Watch> watches_;
  int next_ = 0;
};

TEST_F(WatchStreamsTest, EverybodyIsToldWhatHappensFromWhereHeStands) {
  put("a");  // 2
  put("b");  // 3
  Watch& all = watch(2);
  Watch& some = watch(3);
  Watch& now = watch(0);
  Watch& later = watch(5);
  put("c");  // 4
  put("d");  // 5
  for (Watch* watch : {&all, &some, &now, &later}) {
    ASSERT_TRUE(loop_.run_until([&] { return watch->has(mod(5)); }));
  }
  EXPECT_TRUE(all.has(mod(2)) && all.has(mod(3)) && all.has(mod(4)));
  EXPECT_TRUE(!some.has(mod(2)) && some.has(mod(3)) && some.has(mod(4)));
  EXPECT_TRUE(!now.has(mod(3)) && now.has(mod(4)));
  EXPECT_TRUE(!later.has(mod(4)));
  EXPECT_FALSE(all.reply) << "it goes on";
}

TEST_F(WatchStreamsTest, WhoGoesAwayIsForgotten) {
  watch(0);
  watch(0);
  EXPECT_EQ(streams_->size(), 2u);
  watches_.erase(0);
  EXPECT_TRUE(loop_.run_until([&] { return streams_->size() == 1; }));
  put("a");
  EXPECT_TRUE(loop_.run_until([&] { return watches_[1].has(mod(2)); }));
}

TEST_F(WatchStreamsTest, ACompactedStartEndsTheStreamWithThatError) {
  for (int i = 0; i < 4; ++i) put("a");  // 2 … 5
  apply(kv::CompactionRequest{{4}});
  Watch& gone = watch(3);
  ASSERT_TRUE(loop_.run_until([&] { return gone.reply.has_value(); }));
  EXPECT_TRUE(gone.text.ends_with(R"("canceled":true,"compact_revision":"4"}})"
                                  "\n"))
      << gone.text;
  EXPECT_EQ(gone.reply->fate, HttpReply::Fate::kAnswered);
  EXPECT_EQ(streams_->size(), 0u);
}

TEST_F(WatchStreamsTest, ProgressComesToThoseWhoAskedForIt) {
  serve({.progress_interval_ms = 20});
  Watch& asked = watch(0, R"(,"progress_notify":true)");
  Watch& quiet = watch(0);
  put("a");
  const std::string progress = R"({"result":{"header":{"cluster_id":"1","member_id":"2",)"
                               R"("revision":"2","raft_term":"3"}}})"
                               "\n";
  ASSERT_TRUE(loop_.run_until([&] { return asked.has(progress); }));
  EXPECT_LT(asked.text.find(mod(2)), asked.text.find(progress));
  EXPECT_FALSE(quiet.has(progress));
}

// It holds nobody up, keeps what waits for it within bounds, and learns that it is too late.
TEST_F(WatchStreamsTest, ASlowReaderIsOvertakenByACompactionAndToldSo) {
  asio::ip::tcp::socket slow(loop_.context());
  slow.connect({asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port_)});
  const std::string request = body(2);
  asio::write(slow, asio::buffer("POST /v3/watch HTTP/1.1\r\nContent-Length: " +
                                 std::to_string(request.size()) + "\r\n\r\n" + request));
  Watch& quick = watch(2);
  ASSERT_TRUE(loop_.run_until([&] { return streams_->size() == 2; }));
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) {
    put(large);
    ASSERT_TRUE(loop_.run_until([&] { return quick.has(mod(2 + i)); }));
    quick.text.erase(0, quick.text.size() - 200);
  }
  apply(kv::CompactionRequest{{41}});
  std::string text;
  char chunk[65536];
  slow.non_blocking(true);
  ASSERT_TRUE(loop_.run_until([&] {
    boost::system::error_code error;
    const size_t n = slow.read_some(asio::buffer(chunk), error);
    text.append(chunk, error ? 0 : n);
    return text.find("\"canceled\":true") != std::string::npos;
  }));
  EXPECT_NE(text.find("\"compact_revision\":\"41\""), std::string::npos);
  EXPECT_NE(text.find(mod(2)), std::string::npos);
  EXPECT_EQ(text.find(mod(40)), std::string::npos) << "so much was held for it";
  EXPECT_EQ(streams_->size(), 1u);
}

TEST_F(WatchStreamsTest, TheyGoOnWhenTheStoreIsReplaced) {
  put("a");  // 2
  Watch& goes_on = watch(2);
  ASSERT_TRUE(loop_.run_until([&] { return goes_on.has(mod(2)); }));
  kv::Service other;
  for (int i = 0; i < 4; ++i) other.apply(kv::PutRequest{"w/1", "b"});  // 2 … 5
  service_.emplace(other);
  streams_->notify();
  ASSERT_TRUE(loop_.run_until([&] { return goes_on.has(mod(5)); }));
  EXPECT_TRUE(goes_on.has(mod(3)) && goes_on.has(mod(4)));
  for (int i = 0; i < 4; ++i) other.apply(kv::PutRequest{"w/1", "c"});  // 6 … 9
  other.apply(kv::CompactionRequest{{8}});
  service_.emplace(other);
  streams_->notify();
  ASSERT_TRUE(loop_.run_until([&] { return goes_on.has("\"compact_revision\":\"8\""); }));
}

TEST_F(WatchStreamsTest, TheyEndWithTheServer) {
  Watch& open = watch(0);
  server_.reset();
  streams_.reset();
  ASSERT_TRUE(loop_.run_until([&] { return open.reply.has_value(); }));
  EXPECT_EQ(open.reply->fate, HttpReply::Fate::kLost);
}

}  // namespace
}  // namespace assay
