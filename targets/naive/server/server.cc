#include "targets/naive/server/server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "targets/kv/http/http_front.h"
#include "targets/kv/http/http_server.h"
#include "targets/kv/http/watch_streams.h"
#include "targets/naive/server/journal.h"
#include "targets/raft/server/data_folder.h"
#include "targets/raft/server/log_line.h"
#include "targets/raft/server/peer_net.h"
#include "targets/skewed_clock.h"

namespace assay::naive {
namespace {

namespace asio = boost::asio;
using raft::log_line;
using raft::ServerExit;

// The oldest version of etcd whose API this is.
constexpr std::string_view kApiVersion = "3.4.0";
constexpr std::chrono::milliseconds kTick{20};

int64_t ms_of(auto clock_now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_now.time_since_epoch())
      .count();
}

class AsioEnv : public Env {
 public:
  AsioEnv(Journal& journal, raft::PeerNet& net) : journal_(journal), net_(net) {}

  int64_t now_ms() override { return ms_of(SkewedClock::instance().steady_now()); }
  int64_t wall_ms() override { return ms_of(SkewedClock::instance().wall_now()); }
  void save(std::string_view record) override { journal_.append(record); }
  void send(NodeId to, std::string message) override {
    journal_.sync();
    net_.send(to, std::move(message));
  }

 private:
  Journal& journal_;
  raft::PeerNet& net_;
};

class Server {
 public:
  explicit Server(const ServerOptions& options) : options_(options) {}
  ~Server() {
    http_.reset();
    watches_.reset();
    design_.reset();  // with the responders of those that still wait
  }

  ServerExit run() {
    if (const std::string problem = start(); !problem.empty()) {
      log_line(problem);
      return ServerExit::kCannotStart;
    }
    serve();
    return ServerExit::kSignal;
  }

 private:
  const raft::ServerOptions& common() const { return options_.common; }
  const kv::Service& service() const { return design_->service(); }

  std::string start() {
    std::string error;
    folder_ = raft::DataFolder::open(common().data, common().name, common().cluster_id(), error);
    if (!folder_) return error;
    std::vector<std::string> records;
    journal_ = Journal::open(common().data + "/journal", records, error);
    if (!journal_) return error;
    net_.emplace(context_, raft::PeerNetOptions{.self = common().id(),
                                                .cluster = common().cluster_id(),
                                                .listen = common().peer,
                                                .members = common().cluster});
    if (error = net_->listen(); !error.empty()) return error;
    http_.emplace(context_, [this](const HttpRequest& request, Responder respond) {
      handle(request, std::move(respond));
    });
    const auto port = http_->listen(common().client.address, common().client.port);
    if (!port) return port.error().message;
    make_design(records);
    return "";
  }

  void make_design(const std::vector<std::string>& records) {
    env_.emplace(*journal_, *net_);
    DesignOptions design{.self = common().id(),
                         .guards = options_.guards,
                         .failover_ms = options_.failover_ms,
                         .merge = options_.merge};
    for (const raft::MemberAddress& member : common().cluster) design.members.push_back(member.id);
    design_ = options_.design.make(design, *env_);
    for (const std::string& record : records) design_->restore(record);
    // What a node has applied it tells, agreed upon or not.
    watches_.emplace(context_, WatchStreams::Source{.store = [this]() -> const kv::Store& {
                                                      return service().store();
                                                    },
                                                    .header = [this] { return header(); }});
  }

  void serve() {
    log_line("started: version " ASSAY_VERSION ", naive design " +
             std::string(options_.design.name) + ", " + std::to_string(design_->status().applied) +
             " changes, clients on " + common().client.to_string());
    net_->start([this](std::string_view message) {
      design_->on_message(message);
      note_changes();
    });
    tick();
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      log_line(std::string("ended by ") + (number == SIGINT ? "SIGINT" : "SIGTERM"));
      context_.stop();
    });
    context_.run();
  }

  void tick() {
    design_->on_tick();
    journal_->sync();
    note_changes();
    SkewedClock::instance().show();
    timer_.expires_after(kTick);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tick();
    });
  }

  // After whatever the design was handed.
  void note_changes() {
    const Status status = design_->status();
    if (status.applied != seen_applied_ || status.chain != seen_chain_) watches_->notify();
    seen_applied_ = status.applied;
    seen_chain_ = status.chain;
    if (status.leader == seen_leader_ && status.epoch == seen_epoch_) return;
    seen_leader_ = status.leader;
    seen_epoch_ = status.epoch;
    log_line((status.leads ? "leads" : "follows " + name_of(status.leader)) + " in epoch " +
             std::to_string(status.epoch));
  }

  // --- Clients -----------------------------------------------------------------------------------

  void handle(const HttpRequest& request, Responder respond) {
    auto parsed = kv::parse_http(request);
    if (auto* refused = std::get_if<HttpResponse>(&parsed)) return respond(std::move(*refused));
    auto& wanted = std::get<kv::FrontRequest>(parsed);
    if (auto* watch = std::get_if<kv::WatchRequest>(&wanted))
      return watches_->open(std::move(*watch), std::move(respond));
    auto* store = std::get_if<kv::Request>(&wanted);
    if (store == nullptr) return respond(answer(wanted));
    auto to = std::make_shared<Responder>(std::move(respond));
    design_->request(std::move(*store), [this, to](const kv::Result& result) {
      journal_->sync();
      (*to)(render(result));
    });
    note_changes();
  }

  HttpResponse render(const kv::Result& result) const {
    if (const auto* error = std::get_if<kv::Error>(&result)) return kv::render(*error);
    return kv::render(header(), std::get<kv::Response>(result));
  }

  kv::Header header() const {
    return {common().cluster_id(), common().id().value, design_->status().epoch};
  }
  std::string name_of(NodeId id) const {
    for (const raft::MemberAddress& member : common().cluster) {
      if (member.id == id) return member.name;
    }
    return "nobody";
  }

  HttpResponse answer(const kv::FrontRequest& query) const {
    const Status status = design_->status();
    if (const auto* wanted = std::get_if<kv::ChainQuery>(&query)) return chain(*wanted);
    if (std::holds_alternative<kv::HealthQuery>(query))
      return kv::render_health(status.leader != kNobody);
    if (std::holds_alternative<kv::VersionQuery>(query)) return kv::render_version(kApiVersion);
    if (std::holds_alternative<kv::MemberListQuery>(query)) return members();
    if (std::holds_alternative<kv::HashQuery>(query))
      return kv::render_hash(header(), service().revision(), service().state_hash());
    if (std::holds_alternative<kv::StatusQuery>(query)) {
      return kv::render(header(),
                        kv::StatusAnswer{.revision = service().revision(),
                                         .version = std::string(kApiVersion),
                                         .db_size = static_cast<int64_t>(journal_->bytes()),
                                         .leader = status.leader.value,
                                         .raft_index = status.applied,
                                         .raft_applied_index = status.applied});
    }
    return kv::render(kv::NodeStatus{.role = status.leads ? "leader" : "follower",
                                     .term = status.epoch,
                                     .leader = status.leader ? name_of(status.leader) : "",
                                     .commit = status.applied,
                                     .applied = status.applied,
                                     .chain = status.chain,
                                     .at = service().revision()});
  }

  HttpResponse members() const {
    std::vector<kv::Member> members;
    for (const raft::MemberAddress& member : common().cluster) {
      members.push_back({member.id.value, member.name, {"http://" + member.peer.to_string()}, {}});
      if (member.name == common().name)
        members.back().client_urls = {"http://" + common().client.to_string()};
    }
    return kv::render(header(), members);
  }

  HttpResponse chain(const kv::ChainQuery& query) const {
    const uint64_t applied = design_->status().applied;
    kv::ChainAnswer answer{query.from, {}};
    if (query.last > 0) {
      answer.from = applied + 1;
      while (answer.from > 1 && applied - answer.from + 1 < query.last &&
             design_->chain_at(answer.from - 1))
        --answer.from;
    }
    for (uint64_t index = answer.from; index <= applied; ++index) {
      const auto hash = design_->chain_at(index);
      if (!hash) return kv::render_error(11, "the chain at that index is forgotten");
      answer.hashes.push_back(*hash);
    }
    return kv::render(answer);
  }

  const ServerOptions& options_;
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::steady_timer timer_{context_};
  std::unique_ptr<raft::DataFolder> folder_;
  std::unique_ptr<Journal> journal_;
  std::optional<raft::PeerNet> net_;
  std::optional<AsioEnv> env_;
  std::unique_ptr<Design> design_;
  std::optional<WatchStreams> watches_;
  std::optional<HttpServer> http_;
  NodeId seen_leader_;
  uint64_t seen_epoch_ = 0;
  uint64_t seen_applied_ = 0;
  uint64_t seen_chain_ = 0;
};

}  // namespace

ServerExit run_server(const ServerOptions& options) {
  raft::set_log_name(options.common.name);
  return Server(options).run();
}

}  // namespace assay::naive
