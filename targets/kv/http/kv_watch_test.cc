#include "targets/kv/http/kv_watch.h"

#include <gtest/gtest.h>

#include <optional>

#include "checkers/history/history_io.h"
#include "targets/asio/testing_loop.h"
#include "targets/kv/http/testing_gateway.h"
#include "targets/kv/http/watch_streams.h"

namespace assay {
namespace {

Op watch_op(int64_t from, Nanos span, const std::string& prefix = "w/") {
  Op op;
  op.f = f::watch;
  op.key = Symbol(prefix);
  op.value = to_value(WatchWish{Symbol(prefix), from, span});
  return op;
}

// --- Taking a stream in --------------------------------------------------------------------------

class WatchCollectorTest : public testing::Test {
 protected:
  // What etcd sends about a service's changes, under a prefix of keys.
  std::string lines(int64_t from, const KvClientOptions& options = {}) {
    const std::string body = kv_watch_body({Symbol("w/"), from, {}}, options);
    return store_.answer({"POST", "/v3/watch", body}).body;
  }
  void put(const std::string& key, const std::string& value) {
    store_.service().apply(kv::PutRequest{key, value});
  }
  static std::string show(const WatchCollector& collector) {
    return to_value(collector.seen(WatchEnd::kDone)).to_json();
  }
  static WatchCollector fed(int64_t from, std::string_view text, KvClientOptions options = {}) {
    WatchCollector collector({Symbol("w/"), from, {}}, options);
    collector.add(text);
    return collector;
  }
  static std::string message(int64_t revision, const std::string& rest) {
    return R"({"result":{"header":{"revision":")" + std::to_string(revision) + "\"}" + rest +
           "}}\n";
  }
  // Of "w/1", value 7.
  static std::string event(int64_t revision) {
    return R"({"kv":{"key":"dy8x","create_revision":"2","mod_revision":")" +
           std::to_string(revision) + R"(","version":"1","value":"Nw=="}})";
  }
  static std::string events(const std::vector<int64_t>& revisions) {
    std::string list;
    for (int64_t revision : revisions) list += (list.empty() ? "" : ",") + event(revision);
    return message(revisions.back(), ",\"events\":[" + list + "]");
  }

  kv::FrontedService store_;
};

TEST_F(WatchCollectorTest, ChangesComeWithWhatWasThereBefore) {
  put("w/1", "5");                                        // 2
  put("w/1", "no json");                                  // 3
  put("x", "1");                                          // 4
  store_.service().apply(kv::DeleteRangeRequest{"w/1"});  // 5
  EXPECT_EQ(show(fed(1, lines(1))),
            R"({"events":[[2,"w/1","put",5,null,2],[3,"w/1","put","no json",[2,5],2],)"
            R"([5,"w/1","delete",null,[3,"no json"]]],"progress":[],"next":6,"end":"done"})");
}

TEST_F(WatchCollectorTest, PiecesMayBreakAnywhere) {
  put("w/1", "5");
  put("w/2", "6");
  const std::string text = lines(2);
  for (size_t at = 0; at <= text.size(); ++at) {
    WatchCollector collector({Symbol("w/"), 2, {}}, {});
    collector.add(std::string_view(text).substr(0, at));
    collector.add(std::string_view(text).substr(at));
    EXPECT_EQ(show(collector), show(fed(2, text))) << at;
  }
}

TEST_F(WatchCollectorTest, KeysAreNamedAsTheyAreWrittenUnderAPrefix) {
  put("ours/w/1", "5");
  put("w/1", "6");
  EXPECT_EQ(show(fed(2, lines(2, {.key_prefix = "ours/"}), {.key_prefix = "ours/"})),
            R"({"events":[[2,"w/1","put",5,null,2]],"progress":[],"next":3,"end":"done"})");
}

TEST_F(WatchCollectorTest, FromNowItIsKnownWhereItBegan) {
  put("w/1", "5");
  EXPECT_EQ(show(fed(0, lines(0))),
            R"({"events":[],"progress":[],"start":3,"next":3,"end":"done"})");
}

TEST_F(WatchCollectorTest, ProgressMovesOnWhereToResume) {
  const std::string created = message(5, ",\"created\":true");
  EXPECT_EQ(show(fed(4, created + events({4}) + message(9, ""))),
            R"({"events":[[4,"w/1","put",7]],"progress":[[9,1]],"next":10,"end":"done"})");
  // Of a member that lags behind the revision asked for.
  EXPECT_EQ(watch_next(to_value(fed(40, created + message(9, "")).seen(WatchEnd::kCut))), 40);
}

TEST_F(WatchCollectorTest, ACompactionIsAnEndThatSaysWhereItIs) {
  for (int i = 0; i < 5; ++i) put("w/1", "5");
  store_.service().apply(kv::CompactionRequest{{5}});
  WatchCollector collector({Symbol("w/"), 3, {}}, {});
  EXPECT_FALSE(collector.add(lines(3)));
  EXPECT_EQ(to_value(collector.seen(WatchEnd::kCut)).to_json(),
            R"({"events":[],"progress":[],"next":3,"end":"compacted","compact_revision":5})");
}

TEST_F(WatchCollectorTest, ARevisionThatComesInTwoMessagesIsNoted) {
  const auto collector = fed(4, events({4, 5}) + events({5, 6}));
  EXPECT_EQ(collector.seen(WatchEnd::kDone).split, std::vector<int64_t>{5});
}

TEST_F(WatchCollectorTest, AfterAThousandEventsItIsOverBetweenTwoRevisions) {
  std::vector<int64_t> revisions;
  for (int64_t i = 0; i < 700; ++i) revisions.insert(revisions.end(), {2 + i, 2 + i, 2 + i});
  WatchCollector collector({Symbol("w/"), 2, {}}, {});
  EXPECT_FALSE(collector.add(events(revisions)));
  const WatchSeen seen = collector.seen(WatchEnd::kCut);
  EXPECT_EQ(seen.events.size(), 999u);
  EXPECT_EQ(seen.next, 335);
  EXPECT_EQ(seen.end, WatchEnd::kDone);
  // One change is taken whole, whatever its size.
  const auto large = fed(2, events(std::vector<int64_t>(1500, 2)));
  EXPECT_EQ(large.seen(WatchEnd::kCut).events.size(), 1500u);
}

TEST_F(WatchCollectorTest, WhatMakesNoSenseIsMalformedAndAnErrorOfTheGatewayIsACut) {
  for (const char* line : {"what\n", "{}\n",
                           R"({"result":{"header":{"revision":"x"}}})"
                           "\n",
                           R"({"result":{"events":[{"kv":{"key":"dy8x"}}]}})"
                           "\n",
                           R"({"result":{"events":[{"kv":{"key":"?","mod_revision":"3"}}]}})"
                           "\n"}) {
    WatchCollector collector({Symbol("w/"), 2, {}}, {});
    EXPECT_FALSE(collector.add(line));
    EXPECT_TRUE(collector.malformed()) << line;
  }
  WatchCollector collector({Symbol("w/"), 2, {}}, {});
  EXPECT_FALSE(collector.add(R"({"error":{"grpc_code":14,"message":"gone"}})"
                             "\n"));
  EXPECT_FALSE(collector.malformed());
  EXPECT_EQ(collector.seen(WatchEnd::kCut).end, WatchEnd::kCut);
}

// --- On a loop -----------------------------------------------------------------------------------

class KvWatchTest : public testing::Test {
 protected:
  KvWatchTest() {
    server_.emplace(loop_.context(), [this](const HttpRequest& http, Responder respond) {
      auto parsed = kv::parse_http(http);
      auto& request = std::get<kv::FrontRequest>(parsed);
      if (auto* watch = std::get_if<kv::WatchRequest>(&request)) {
        return streams_->open(std::move(*watch), std::move(respond));
      }
      respond(store_.answer(http));
    });
    node_.address = "127.0.0.1";
    node_.client_port = *server_->listen("127.0.0.1", 0);
    client_ = make_kv_client(loop_, node_, {});
  }
  ~KvWatchTest() override { server_.reset(); }

  void put(const std::string& value) {
    store_.service().apply(kv::PutRequest{"w/1", value});
    streams_->notify();
  }
  void begin(const Op& op) {
    done_.reset();
    client_->invoke(op, [this](Op done) { done_ = std::move(done); });
    EXPECT_FALSE(done_);
  }
  Op end() {
    EXPECT_TRUE(loop_.run_until([&] { return done_.has_value(); }));
    return done_.value_or(Op{});
  }

  TestingLoop loop_;
  kv::FrontedService store_;
  std::optional<WatchStreams> streams_{std::in_place, loop_.context(),
                                       WatchStreams::Source{.store = [this]() -> const kv::Store& {
                                                              return store_.service().store();
                                                            },
                                                            .header = [] { return kv::Header{}; }}};
  std::optional<HttpServer> server_;
  NodeInfo node_;
  std::unique_ptr<Client> client_;
  std::optional<Op> done_;
  std::shared_ptr<Responder> held_;
};

TEST_F(KvWatchTest, CollectsForAsLongAsItWishesAndTheClientGoesOn) {
  put("5");
  begin(watch_op(2, milliseconds(100)));
  ASSERT_TRUE(loop_.run_until([&] { return streams_->size() == 1; }));
  put("6");
  const Op first = end();
  EXPECT_EQ(first.type, OpType::kOk);
  const auto seen = watch_seen(first.value);
  ASSERT_TRUE(seen) << first.value.to_json();
  EXPECT_EQ(seen->end, WatchEnd::kDone);
  EXPECT_EQ(seen->events.size(), 2u);
  put("7");
  begin(watch_op(seen->next, milliseconds(50)));
  const auto second = watch_seen(end().value);
  EXPECT_EQ(second->events.at(0).revision, 4);
  EXPECT_TRUE(loop_.run_until([&] { return streams_->size() == 0; })) << "the stream is closed";
}

TEST_F(KvWatchTest, ABrokenConnectionIsACutWithWhatCame) {
  put("5");
  begin(watch_op(2, seconds(60)));
  ASSERT_TRUE(loop_.run_until([&] { return streams_->size() == 1; }));
  loop_.run_for(std::chrono::milliseconds(20));
  server_.reset();
  const auto seen = watch_seen(end().value);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->end, WatchEnd::kCut);
  EXPECT_EQ(seen->events.size(), 1u);
  EXPECT_EQ(seen->next, 3);
}

TEST_F(KvWatchTest, ACompactionEndsIt) {
  for (int i = 0; i < 4; ++i) put("5");
  Op compact;
  compact.f = Symbol("compact");
  compact.value = 4;
  begin(compact);
  EXPECT_EQ(end().type, OpType::kOk);
  begin(watch_op(2, seconds(60)));
  const Op done = end();
  EXPECT_EQ(done.type, OpType::kOk);
  EXPECT_EQ(done.value.text_or("end", ""), "compacted");
  EXPECT_EQ(done.value.int_or("compact_revision", 0), 4);
}

TEST_F(KvWatchTest, ThatNeverBeginsIsUnknownAndOneThatIsNotSentIsRefused) {
  server_.emplace(loop_.context(), [this](const HttpRequest&, Responder respond) {
    held_ = std::make_shared<Responder>(std::move(respond));
  });
  node_.client_port = *server_->listen("127.0.0.1", 0);
  client_ = make_kv_client(loop_, node_, {});
  begin(watch_op(2, milliseconds(50)));
  const Op unknown = end();
  EXPECT_EQ(unknown.type, OpType::kInfo);
  EXPECT_EQ(unknown.error->cls.text(), "timeout");
  server_.reset();
  begin(watch_op(2, milliseconds(50)));
  const Op refused = end();
  EXPECT_EQ(refused.type, OpType::kFail);
  EXPECT_EQ(refused.error->cls.text(), "refused");
}

TEST_F(KvWatchTest, AnErrorIsWhatTheTableSays) {
  server_.emplace(loop_.context(), [](const HttpRequest&, Responder respond) {
    respond(kv::render_error(12, "etcdserver: not implemented"));
  });
  node_.client_port = *server_->listen("127.0.0.1", 0);
  client_ = make_kv_client(loop_, node_, {});
  begin(watch_op(2, milliseconds(50)));
  EXPECT_EQ(end().error->cls.text(), "unimplemented");
}

TEST_F(KvWatchTest, WishesThatAreNoneAreNeverSent) {
  Op op = watch_op(2, milliseconds(50));
  op.value = 5;
  begin(op);
  EXPECT_EQ(end().error->cls.text(), "invalid");
}

TEST_F(KvWatchTest, AClientDestroyedMeanwhileIsHeardOfNoMore) {
  begin(watch_op(2, milliseconds(30)));
  client_.reset();
  loop_.run_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(done_);
}

}  // namespace
}  // namespace assay
