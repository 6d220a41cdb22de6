#include "targets/kv/http/http_front.h"

#include <charconv>
#include <optional>

#include "targets/kv/http/error_table.h"
#include "targets/kv/http/gateway_decoder.h"
#include "targets/kv/http/json_node.h"
#include "targets/kv/service/validate.h"

namespace assay::kv {
namespace {

using Parsed = std::variant<FrontRequest, HttpResponse>;

// The body as that message, or what is wrong with it.
template <typename Message>
std::variant<Message, HttpResponse> decode(std::string_view body) {
  auto json = parse_json(body);
  if (const auto* bad = std::get_if<BadJson>(&json)) return render_error(3, bad->message);
  GatewayDecoder decoder;
  Message message;
  if constexpr (std::is_empty_v<Message>) {
    decoder.message(std::get<JsonNode>(json));
  } else {
    decoder.message(std::get<JsonNode>(json), message);
  }
  const Refusal& refusal = decoder.refusal();
  if (refusal.code != 0) return render_error(refusal.code, refusal.message);
  return message;
}

template <typename Message>
Parsed parse_store_request(const HttpRequest& http, std::string_view) {
  auto decoded = decode<Message>(http.body);
  if (auto* answer = std::get_if<HttpResponse>(&decoded)) return std::move(*answer);
  Request request = std::move(std::get<Message>(decoded));
  if (const auto error = validate(request)) return render(*error);
  return FrontRequest(std::move(request));
}

template <typename Query>
Parsed parse_query(const HttpRequest& http, std::string_view) {
  auto decoded = decode<Query>(http.body);
  if (auto* answer = std::get_if<HttpResponse>(&decoded)) return std::move(*answer);
  return FrontRequest(Query{});
}

template <typename Query>
Parsed parse_plain(const HttpRequest&, std::string_view) {
  return FrontRequest(Query{});
}

// The first message of the stream that a watch's body is. As etcd's gateway does where it cannot
// read a stream's body, what is wrong with it has code 2.
Parsed parse_watch(const HttpRequest& http, std::string_view) {
  auto json = parse_json(http.body);
  if (const auto* bad = std::get_if<BadJson>(&json)) return render_error(2, bad->message);
  GatewayDecoder decoder;
  WatchBody body;
  decoder.message(std::get<JsonNode>(json), body);
  const Refusal& refusal = decoder.refusal();
  if (refusal.code == kUnimplemented.code) return render_error(refusal.code, refusal.message);
  if (refusal.code != 0) return render_error(2, refusal.message);
  if (!body.create) return render_error(3, "expected a create_request");
  return FrontRequest(std::move(*body.create));
}

Parsed parse_unimplemented(const HttpRequest&, std::string_view) { return render(kUnimplemented); }

// "N" of "name=N" in a query; nothing when it is absent or no number.
std::optional<uint64_t> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (!pair.starts_with(name) || pair.size() == name.size() || pair[name.size()] != '=') continue;
    pair.remove_prefix(name.size() + 1);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), number);
    if (error == std::errc() && end == pair.data() + pair.size()) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

Parsed parse_chain(const HttpRequest&, std::string_view query) {
  const auto from = parameter(query, "from");
  const auto last = parameter(query, "last");
  if (from && !last) return FrontRequest(ChainQuery{*from, 0});
  if (last && !from && *last > 0) return FrontRequest(ChainQuery{0, *last});
  return render_error(3, "expected ?from=INDEX or ?last=COUNT");
}

struct Route {
  std::string_view method;
  std::string_view path;  // ending in '/': everything below it
  Parsed (*parse)(const HttpRequest&, std::string_view query);
};

constexpr Route kRoutes[] = {
    {"POST", "/v3/kv/range", parse_store_request<RangeRequest>},
    {"POST", "/v3/kv/put", parse_store_request<PutRequest>},
    {"POST", "/v3/kv/txn", parse_store_request<TxnRequest>},
    {"POST", "/v3/kv/deleterange", parse_store_request<DeleteRangeRequest>},
    {"POST", "/v3/kv/compaction", parse_store_request<CompactionRequest>},
    {"POST", "/v3/watch", parse_watch},
    {"POST", "/v3/maintenance/status", parse_query<StatusQuery>},
    {"POST", "/v3/maintenance/hash", parse_query<HashQuery>},
    {"POST", "/v3/cluster/member/list", parse_query<MemberListQuery>},
    {"GET", "/health", parse_plain<HealthQuery>},
    {"GET", "/version", parse_plain<VersionQuery>},
    {"GET", "/assay/status", parse_plain<NodeStatusQuery>},
    {"GET", "/assay/chain", parse_chain},
    // What etcd has besides.
    {"POST", "/v3/lease/", parse_unimplemented},
    {"POST", "/v3/kv/lease/", parse_unimplemented},
    {"POST", "/v3/cluster/member/add", parse_unimplemented},
    {"POST", "/v3/cluster/member/remove", parse_unimplemented},
    {"POST", "/v3/cluster/member/update", parse_unimplemented},
    {"POST", "/v3/cluster/member/promote", parse_unimplemented},
    {"POST", "/v3/maintenance/alarm", parse_unimplemented},
    {"POST", "/v3/maintenance/defragment", parse_unimplemented},
    {"POST", "/v3/maintenance/snapshot", parse_unimplemented},
    {"POST", "/v3/maintenance/transfer-leadership", parse_unimplemented},
    {"POST", "/v3/auth/", parse_unimplemented},
    {"POST", "/v3/lock/", parse_unimplemented},
    {"POST", "/v3/election/", parse_unimplemented},
};

bool matches(const Route& route, std::string_view path) {
  return route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
}

HttpResponse plain(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body)};
}

}  // namespace

std::variant<FrontRequest, HttpResponse> parse_http(const HttpRequest& http) {
  const std::string_view path = http.target.substr(0, http.target.find('?'));
  const std::string_view query =
      path.size() == http.target.size() ? "" : http.target.substr(path.size() + 1);
  for (const Route& route : kRoutes) {
    if (!matches(route, path)) continue;
    if (http.method != route.method) return plain(405, "Method Not Allowed\n");
    return route.parse(http, query);
  }
  return plain(404, "Not Found\n");
}

}  // namespace assay::kv
