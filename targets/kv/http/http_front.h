// HttpFront: etcd v3's JSON gateway as pure functions: an HTTP request to what it asks for, and an
// answer to its JSON text. No socket, clock or store; never throws; any bytes may come in.
//
// As etcd 3.4 does: keys and values are base64, 64-bit numbers are strings (numbers are taken too),
// fields with default values are absent, names may be snake_case or camelCase, unknown fields are
// ignored. What etcd can do and this API cannot (sorting, leases, several watches on one
// connection, …) is answered with gRPC's code 12, never ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "targets/kv/http/http_message.h"
#include "targets/kv/service/kv.h"
#include "targets/kv/service/watcher.h"

namespace assay::kv {

// --- Requests ----------------------------------------------------------------------------------

struct StatusQuery {};      // POST /v3/maintenance/status
struct HashQuery {};        // POST /v3/maintenance/hash
struct MemberListQuery {};  // POST /v3/cluster/member/list
struct HealthQuery {};      // GET /health
struct VersionQuery {};     // GET /version
struct NodeStatusQuery {};  // GET /assay/status
struct ChainQuery {         // GET /assay/chain?from=N, or ?last=N
  uint64_t from = 0;        // index of the first hash
  uint64_t last = 0;        // if not 0: the last so many hashes, and no `from`
};

// POST /v3/watch gives a WatchRequest: the answer is a stream of lines (render_line).
using FrontRequest = std::variant<Request, WatchRequest, StatusQuery, HashQuery, MemberListQuery,
                                  HealthQuery, VersionQuery, NodeStatusQuery, ChainQuery>;

// A valid request (service/validate.h), or the answer to one that is not.
std::variant<FrontRequest, HttpResponse> parse_http(const HttpRequest& http);

// --- Answers -----------------------------------------------------------------------------------

// What every answer starts with, beside the revision.
struct Header {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  uint64_t raft_term = 0;
};

struct StatusAnswer {
  Revision revision;
  std::string version;
  int64_t db_size = 0;
  uint64_t leader = 0;  // member id; 0: none
  uint64_t raft_index = 0;
  uint64_t raft_applied_index = 0;
};

struct Member {
  uint64_t id = 0;
  std::string name;
  std::vector<std::string> peer_urls;
  std::vector<std::string> client_urls;
};

// What the harness's observer samples (checkers/history/vocabulary.h).
struct NodeStatus {
  std::string_view role;  // static text: "leader", "follower", …
  uint64_t term = 0;
  std::string leader;  // its name; empty: none
  uint64_t commit = 0;
  uint64_t applied = 0;
  uint64_t chain = 0;  // over all applied entries
  Revision at;
  uint64_t snapshot = 0;  // the last entry in the newest durable snapshot; 0: there is none
  uint64_t first = 1;     // the first entry that is still in the log
};

struct ChainAnswer {
  uint64_t from = 0;             // index of the first hash
  std::vector<uint64_t> hashes;  // hashes[i]: over the entries up to from + i
};

HttpResponse render(const Header& header, const Response& response);
HttpResponse render(const Header& header, const StatusAnswer& status);
HttpResponse render_hash(const Header& header, Revision revision, uint64_t state_hash);
HttpResponse render(const Header& header, const std::vector<Member>& members);
HttpResponse render_health(bool healthy);
HttpResponse render_version(std::string_view version);
// {"result":{…}} and a line feed.
std::string render_line(const Header& header, const WatchResponse& response);
HttpResponse render(const NodeStatus& status);
HttpResponse render(const ChainAnswer& chain);
HttpResponse render_error(int code, std::string_view message);
inline HttpResponse render(const Error& error) { return render_error(error.code, error.message); }

}  // namespace assay::kv
