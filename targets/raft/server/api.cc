#include "targets/raft/server/api.h"

#include "targets/kv/http/error_table.h"
#include "targets/raft/core/check.h"

namespace assay::raft {
namespace {

// The oldest version of etcd whose API this is.
constexpr std::string_view kApiVersion = "3.4.0";

}  // namespace

kv::Error error_of(Fate fate, Reason reason) {
  switch (reason) {
    case Reason::kNoLeader:
      return kv::kNoLeader;
    case Reason::kNotLeader:
      return kv::kNotLeader;
    case Reason::kOverloaded:
      return kv::kTooManyRequests;
    case Reason::kLeaderChanged:
      return kv::kLeaderChanged;
    case Reason::kTimeout:
    case Reason::kInstalled:  // as etcd: the answer is not known here, and never will be
      return kv::kTimeout;
    case Reason::kNone:
      break;
  }
  RAFT_CHECK(false, "an answer that is " + std::string(to_string(fate)) + " without a reason");
}

Api::Api(boost::asio::io_context& context, const ServerOptions& options, Replica& replica,
         std::function<uint64_t()> disk_bytes)
    : options_(options),
      cluster_id_(options.cluster_id()),
      replica_(replica),
      disk_bytes_(std::move(disk_bytes)),
      // Any member serves watches from what it has applied.
      watches_(context,
               {.store = [this]() -> const kv::Store& { return replica_.service().store(); },
                .header = [this] { return header(); }},
               {.progress_interval_ms = options.watch_progress_ms,
                .canary = {.wrong_from_now = options.canary.wrong_watch_from_now}}) {}

void Api::handle(const HttpRequest& request, Responder respond) {
  auto parsed = kv::parse_http(request);
  if (auto* refused = std::get_if<HttpResponse>(&parsed)) return respond(std::move(*refused));
  auto& wanted = std::get<kv::FrontRequest>(parsed);
  if (auto* store = std::get_if<kv::Request>(&wanted)) {
    return serve(std::move(*store), std::move(respond));
  }
  if (auto* watch = std::get_if<kv::WatchRequest>(&wanted)) {
    return watches_.open(std::move(*watch), std::move(respond));
  }
  respond(answer(wanted));
}

void Api::serve(kv::Request request, Responder respond) {
  const bool read_only = kv::is_read_only(request);
  auto done = [this, respond = std::make_shared<Responder>(std::move(respond))](Answer answer) {
    (*respond)(render(answer));
  };
  if (read_only) {
    replica_.read(std::move(request), std::move(done));
  } else {
    replica_.propose(std::move(request), std::move(done));
  }
}

HttpResponse Api::render(const Answer& answer) const {
  if (answer.fate != Fate::kDone) return kv::render(error_of(answer.fate, answer.reason));
  if (const auto* error = std::get_if<kv::Error>(&answer.result)) return kv::render(*error);
  return kv::render(header(), std::get<kv::Response>(answer.result));
}

kv::Header Api::header() const {
  return {cluster_id_, replica_.core().id().value, replica_.core().term().value};
}

const std::string& Api::name_of(NodeId id) const {
  for (const MemberAddress& member : options_.cluster) {
    if (member.id == id) return member.name;
  }
  static const std::string none;
  return none;
}

kv::NodeStatus Api::node_status() const {
  const ReplicaStatus status = replica_.status();
  return {.role = to_string(status.role),
          .term = status.term.value,
          .leader = name_of(status.leader),
          .commit = status.commit.value,
          .applied = status.applied.value,
          .chain = status.chain,
          .at = status.revision,
          .snapshot = status.snapshot.value,
          .first = status.first_index.value};
}

std::vector<kv::Member> Api::members() const {
  std::vector<kv::Member> members;
  for (const MemberAddress& member : options_.cluster) {
    kv::Member& entry = members.emplace_back();
    entry.id = member.id.value;
    entry.name = member.name;
    entry.peer_urls = {"http://" + member.peer.to_string()};
    // A node knows only its own address for clients.
    if (member.name == options_.name) entry.client_urls = {"http://" + options_.client.to_string()};
  }
  return members;
}

HttpResponse Api::chain(const kv::ChainQuery& query) const {
  const uint64_t applied = replica_.status().applied.value;
  kv::ChainAnswer answer;
  answer.from = query.from;
  if (query.last > 0) {
    answer.from = applied + 1;
    while (answer.from > 1 && applied - answer.from + 1 < query.last &&
           replica_.chain_at(LogIndex{answer.from - 1})) {
      --answer.from;
    }
  }
  for (uint64_t index = answer.from; index <= applied; ++index) {
    const auto hash = replica_.chain_at(LogIndex{index});
    if (!hash) return kv::render_error(11, "the chain at that index is forgotten");
    answer.hashes.push_back(*hash);
  }
  return kv::render(answer);
}

HttpResponse Api::answer(const kv::FrontRequest& query) const {
  const ReplicaStatus status = replica_.status();
  if (std::holds_alternative<kv::NodeStatusQuery>(query)) return kv::render(node_status());
  if (const auto* wanted = std::get_if<kv::ChainQuery>(&query)) return chain(*wanted);
  if (std::holds_alternative<kv::HealthQuery>(query)) {
    return kv::render_health(static_cast<bool>(status.leader));
  }
  if (std::holds_alternative<kv::VersionQuery>(query)) return kv::render_version(kApiVersion);
  if (std::holds_alternative<kv::MemberListQuery>(query)) return kv::render(header(), members());
  if (std::holds_alternative<kv::HashQuery>(query)) {
    return kv::render_hash(header(), status.revision, status.state_hash);
  }
  return kv::render(header(), kv::StatusAnswer{.revision = status.revision,
                                               .version = std::string(kApiVersion),
                                               .db_size = static_cast<int64_t>(disk_bytes_()),
                                               .leader = status.leader.value,
                                               .raft_index = status.commit.value,
                                               .raft_applied_index = status.applied.value});
}

}  // namespace assay::raft
