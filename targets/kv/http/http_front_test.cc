#include "targets/kv/http/http_front.h"

#include <gtest/gtest.h>

#include "targets/kv/http/testing_gateway.h"

namespace assay::kv {
namespace {

HttpResponse post(std::string_view target, std::string_view body) {
  return FrontedService().answer({"POST", target, body});
}

std::string path_of(const char* file) {
  return std::string(ASSAY_SOURCE_DIR) + "/targets/kv/http/testdata/" + file;
}

TEST(HttpFront, AnswersAsEtcdDid) {
  FrontedService store;
  const auto calls = read_gateway_calls(path_of("gateway.txt"));
  ASSERT_GT(calls.size(), 150u);
  for (const GatewayCall& call : calls) {
    SCOPED_TRACE("gateway.txt:" + std::to_string(call.line));
    const HttpResponse ours = store.answer({call.method, call.target, call.body});
    if (call.own_status != 0) {
      EXPECT_EQ(ours.status, call.own_status);
      EXPECT_EQ(comparable(ours.body)["code"], call.own_code);
      continue;
    }
    EXPECT_EQ(ours.status, call.status) << ours.body;
    EXPECT_EQ(comparable(ours.body), comparable(call.answer));
  }
}

TEST(HttpFront, WatchesAreAnsweredAsEtcdDid) {
  FrontedService store;
  const auto calls = read_gateway_calls(path_of("watch.txt"));
  ASSERT_GT(calls.size(), 25u);
  for (const GatewayCall& call : calls) {
    SCOPED_TRACE("watch.txt:" + std::to_string(call.line));
    const HttpResponse ours = store.answer({call.method, call.target, call.body});
    EXPECT_EQ(ours.status, call.status) << ours.body;
    std::istringstream body(ours.body);
    size_t count = 0;
    for (std::string line; std::getline(body, line); ++count) {
      ASSERT_LT(count, call.lines.size()) << line;
      EXPECT_EQ(comparable(line), comparable(call.lines[count]));
    }
    EXPECT_EQ(count, call.lines.size());
  }
}

TEST(HttpFront, OnlyOneWatchCanBeAskedForInARequest) {
  EXPECT_EQ(post("/v3/watch", R"({"cancel_request":{"watch_id":"1"}})").status, 501);
  EXPECT_EQ(post("/v3/watch", R"({"progress_request":{}})").status, 501);
  EXPECT_EQ(post("/v3/watch", "{}").status, 400);
  EXPECT_EQ(post("/v3/watch", "").status, 400);
}

TEST(HttpFront, HeaderIdsAreStrings) {
  EXPECT_EQ(post("/v3/kv/put", R"({"key":"YQ=="})").body,
            R"({"header":{"cluster_id":"1","member_id":"2","revision":"2","raft_term":"3"}})");
}

TEST(HttpFront, UnknownPathsAndMethodsAreNotJson) {
  EXPECT_EQ(parse_http({"POST", "/nothing", ""}).index(), 1u);
  EXPECT_EQ(FrontedService().answer({"GET", "/v3/kv/put", ""}).status, 405);
  EXPECT_EQ(FrontedService().answer({"POST", "", ""}).status, 404);
}

template <typename Query>
Query parsed_as(const HttpRequest& http) {
  auto parsed = parse_http(http);
  EXPECT_EQ(parsed.index(), 0u) << http.target;
  return std::get<Query>(std::get<FrontRequest>(parsed));
}

TEST(HttpFront, EveryQueryHasItsPath) {
  parsed_as<StatusQuery>({"POST", "/v3/maintenance/status", "{}"});
  parsed_as<StatusQuery>({"POST", "/v3/maintenance/status", ""});
  parsed_as<HashQuery>({"POST", "/v3/maintenance/hash", "{}"});
  parsed_as<MemberListQuery>({"POST", "/v3/cluster/member/list", "{}"});
  parsed_as<HealthQuery>({"GET", "/health", ""});
  parsed_as<VersionQuery>({"GET", "/version", ""});
  parsed_as<NodeStatusQuery>({"GET", "/assay/status", ""});
  EXPECT_EQ(parsed_as<ChainQuery>({"GET", "/assay/chain?from=17", ""}).from, 17u);
  EXPECT_EQ(parsed_as<ChainQuery>({"GET", "/assay/chain?x=1&last=5", ""}).last, 5u);
}

TEST(HttpFront, ChainNeedsOneGoodParameter) {
  for (const char* query : {"", "?", "?from", "?from=", "?from=x", "?from=1x", "?from=-1",
                            "?last=0", "?from=1&last=2", "?from=99999999999999999999999"}) {
    const std::string target = std::string("/assay/chain") + query;
    auto parsed = parse_http({"GET", target, ""});
    ASSERT_EQ(parsed.index(), 1u) << query;
    EXPECT_EQ(std::get<HttpResponse>(parsed).status, 400) << query;
  }
}

TEST(HttpFront, NestingHasALimit) {
  const std::string deep =
      R"({"key":"YQ==","unknown":)" + std::string(200, '[') + std::string(200, ']') + "}";
  const HttpResponse refused = post("/v3/kv/put", deep);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("nested more than 128 levels deep"), std::string::npos);
  EXPECT_EQ(post("/v3/kv/txn", std::string(1'000'000, '[')).status, 400);
  std::string txn = R"({"success":[{"request_put":{"key":"YQ=="}}]})";
  for (int i = 0; i < 20; ++i) txn = R"({"success":[{"request_txn":)" + txn + "}]}";
  const HttpResponse too_deep = post("/v3/kv/txn", txn);
  EXPECT_EQ(too_deep.status, 400);
  EXPECT_EQ(comparable(too_deep.body)["code"], 3);
}

TEST(HttpFront, ListsOfATransactionHaveALimit) {
  const auto txn_of = [](int ops) {
    std::string list;
    for (int i = 0; i < ops; ++i) {
      list += std::string(i == 0 ? "" : ",") + R"({"request_range":{"key":"YQ=="}})";
    }
    return R"({"success":[)" + list + "]}";
  };
  EXPECT_EQ(post("/v3/kv/txn", txn_of(128)).status, 200);
  EXPECT_EQ(comparable(post("/v3/kv/txn", txn_of(129)).body)["message"],
            "etcdserver: too many operations in txn request");
}

TEST(HttpFront, ErrorTextsAreEscaped) {
  const HttpResponse response =
      post("/v3/kv/txn", R"({"compare":[{"key":"YQ==","result":"a\"\\\u0001\n"}]})");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(comparable(response.body)["code"], 3);
}

TEST(HttpFront, StatusHasEtcdsNames) {
  const HttpResponse response = render(Header{1, 2, 3}, StatusAnswer{.revision = {7},
                                                                     .version = "0.1.0",
                                                                     .db_size = 4096,
                                                                     .leader = 9,
                                                                     .raft_index = 12,
                                                                     .raft_applied_index = 11});
  EXPECT_EQ(response.body,
            R"({"header":{"cluster_id":"1","member_id":"2","revision":"7","raft_term":"3"},)"
            R"("version":"0.1.0","dbSize":"4096","leader":"9","raftIndex":"12","raftTerm":"3",)"
            R"("raftAppliedIndex":"11","dbSizeInUse":"4096"})");
}

TEST(HttpFront, MembersHaveEtcdsNames) {
  const HttpResponse response = render(
      Header{1, 2, 3}, std::vector<Member>{{5, "n1", {"http://a"}, {"http://b"}}, {6, "n2"}});
  EXPECT_EQ(
      response.body,
      R"({"header":{"cluster_id":"1","member_id":"2","raft_term":"3"},)"
      R"("members":[{"ID":"5","name":"n1","peerURLs":["http://a"],"clientURLs":["http://b"]},)"
      R"({"ID":"6","name":"n2"}]})");
}

TEST(HttpFront, HashIsANumberOf32Bits) {
  EXPECT_EQ(
      render_hash(Header{1, 2, 3}, {4}, 0x00000001'00000003).body,
      R"({"header":{"cluster_id":"1","member_id":"2","revision":"4","raft_term":"3"},"hash":2})");
}

TEST(HttpFront, NodeStatusAndChainAreForTheObserver) {
  EXPECT_EQ(render(NodeStatus{.role = "leader",
                              .term = 2,
                              .leader = "n1",
                              .commit = 9,
                              .applied = 8,
                              .chain = 0xabc,
                              .at = {7},
                              .snapshot = 5,
                              .first = 4})
                .body,
            R"({"role":"leader","term":2,"leader":"n1","commit":9,"applied":8,)"
            R"("chain":"0000000000000abc","at":7,"snapshot":5,"first":4})");
  EXPECT_EQ(render(ChainAnswer{3, {1, 2}}).body,
            R"({"from":3,"hashes":["0000000000000001","0000000000000002"]})");
}

}  // namespace
}  // namespace assay::kv
