#include "targets/raft/server/server.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <optional>

#include "targets/kv/service/hash.h"
#include "targets/raft/server/api.h"
#include "targets/raft/server/data_folder.h"
#include "targets/raft/server/file_disk.h"
#include "targets/raft/server/log_line.h"
#include "targets/raft/server/peer_net.h"
#include "targets/skewed_clock.h"

namespace assay::raft {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// So many ticks make a heartbeat.
constexpr int kTicksPerHeartbeat = 5;

uint64_t random_number() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}

void allow_many_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

milliseconds tick_of(const ServerOptions& options) {
  return milliseconds(std::max(1, options.heartbeat_ms / kTicksPerHeartbeat));
}

ReplicaOptions replica_options(const ServerOptions& options) {
  const int tick = static_cast<int>(tick_of(options).count());
  ReplicaOptions replica;
  replica.raft.id = options.id();
  for (const MemberAddress& member : options.cluster) replica.raft.voters.push_back(member.id);
  replica.raft.heartbeat_ticks = std::max(1, options.heartbeat_ms / tick);
  replica.raft.election_ticks_min = options.election_ms_min / tick;
  replica.raft.election_ticks_max = options.election_ms_max / tick;
  const uint64_t seed = options.seed != 0 ? options.seed : random_number();
  replica.raft.seed = kv::Hasher(seed).add(options.id().value).value();
  replica.incarnation = random_number();
  replica.segment_bytes = options.segment_bytes;
  replica.snapshot_entries = options.snapshot_entries;
  replica.snapshot_keep_entries = options.snapshot_keep;
  replica.pending_requests_max = options.pending_requests_max;
  replica.canary = options.canary;
  if (options.canary.wrong_forget_term_and_vote)
    replica.raft.mutations.add(Mutation::kTermAndVoteInMemory);
  if (options.canary.wrong_read_without_quorum)
    replica.raft.mutations.add(Mutation::kReadWithoutQuorum);
  replica.wall_ms = [offset = options.clock_offset_ms] {
    const auto now = SkewedClock::instance().wall_now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(now).count() + offset;
  };
  return replica;
}

class SteadyClock : public Clock {
 public:
  std::chrono::nanoseconds now() override {
    return SkewedClock::instance().steady_now().time_since_epoch();
  }
};

class AsioEnv : public Env {
 public:
  AsioEnv(asio::io_context& context, const ServerOptions& options)
      : context_(context),
        disk_(options.data,
              [&context](std::function<void()> fn) { asio::post(context, std::move(fn)); },
              !options.canary.wrong_acknowledge_without_sync),
        net_(context, {.self = options.id(),
                       .cluster = options.cluster_id(),
                       .listen = options.peer,
                       .members = options.cluster}) {}

  FileDisk& disk() override { return disk_; }
  PeerNet& net() override { return net_; }
  Clock& clock() override { return clock_; }

  // Behind all that is readable now.
  void request_pump() override {
    if (pump_due_) return;
    pump_due_ = true;
    asio::post(context_, [this] {
      pump_due_ = false;
      on_pump_();
    });
  }
  void set_pump(std::function<void()> on_pump) { on_pump_ = std::move(on_pump); }

  [[noreturn]] void fatal(const std::string& message) override {
    log_line("fatal: " + message);
    ::_exit(static_cast<int>(ServerExit::kDiskFailed));
  }

 private:
  asio::io_context& context_;
  FileDisk disk_;
  PeerNet net_;
  SteadyClock clock_;
  bool pump_due_ = false;
  std::function<void()> on_pump_;
};

class Server {
 public:
  explicit Server(const ServerOptions& options) : options_(options) {}
  ~Server() {
    http_.reset();
    replica_.reset();  // with the responders of those that still wait
  }

  ServerExit run() {
    warn_of_canaries();
    if (auto problem = start()) {
      log_line(problem->second);
      return problem->first;
    }
    serve();
    return ServerExit::kSignal;
  }

 private:
  using Problem = std::optional<std::pair<ServerExit, std::string>>;

  void warn_of_canaries() const {
    const std::pair<bool, const char*> canaries[] = {
        {options_.canary.wrong_local_reads_from_any_node, "answers reads without asking anybody"},
        {options_.canary.wrong_acknowledge_before_commit,
         "answers writes before a majority has them"},
        {options_.canary.wrong_acknowledge_from_process_buffer,
         "answers writes before they are on disk"},
        {options_.canary.wrong_acknowledge_without_sync,
         "answers writes that it has not synced"},
        {options_.canary.wrong_forget_term_and_vote, "forgets its term and its vote when it ends"},
        {options_.canary.wrong_read_without_quorum,
         "answers reads without asking whether it leads"},
        {options_.canary.wrong_watch_from_now,
         "begins every watch with the next change, whatever its start revision"},
        {options_.canary.service.wrong_ignore_guards, "does not look at guards"},
        {options_.canary.service.token != kv::TokenKind::kRevision,
         "gives tokens that are no revisions"},
    };
    for (const auto& [on, what] : canaries) {
      if (on) log_line(std::string("UNSAFE CANARY: this node is wrong on purpose: it ") + what);
    }
  }

  Problem start() {
    std::string error;
    folder_ = DataFolder::open(options_.data, options_.name, options_.cluster_id(), error);
    if (!folder_) return {{ServerExit::kCannotStart, error}};
    env_.emplace(context_, options_);
    if (error = env_->net().listen(); !error.empty()) return {{ServerExit::kCannotStart, error}};
    http_.emplace(context_, [this](const HttpRequest& request, Responder respond) {
      api_->handle(request, std::move(respond));
    });
    const auto port = http_->listen(options_.client.address, options_.client.port);
    if (!port) return {{ServerExit::kCannotStart, port.error().message}};
    ReplicaOptions replica = replica_options(options_);
    replica.on_applied = [this](const Entry&, const kv::Service&) {
      if (api_) api_->store_changed();
    };
    replica.on_installed = [this](LogIndex index, const kv::Service&) {
      log_line("installed a snapshot that ends with entry " + std::to_string(index.value) +
               ", from " + api_->name_of(replica_->core().leader()));
      api_->store_changed();
    };
    replica_ = Replica::open(std::move(replica), *env_, error);
    if (!replica_) return {{ServerExit::kBadLog, "cannot use the log: " + error}};
    api_.emplace(context_, options_, *replica_, [this] { return env_->disk().bytes(); });
    return std::nullopt;
  }

  void serve() {
    const ReplicaStatus status = replica_->status();
    log_line("started: version " ASSAY_VERSION ", " + std::to_string(status.last_index.value) +
             " entries, of them " + std::to_string(status.snapshot.value) +
             " in a snapshot, term " + std::to_string(status.term.value) + ", clients on " +
             options_.client.to_string());
    if (replica_->marks().count(ReplicaMark::kTornTailCut) > 0) {
      log_line("the last write before the end was incomplete, and was cut off");
    }
    if (replica_->marks().count(ReplicaMark::kSnapshotDamaged) > 0) {
      log_line("a damaged snapshot was passed over; an older one and the log were used");
    }
    env_->set_pump([this] {
      replica_->pump();
      note_changes();
    });
    env_->net().start([this](std::string_view message) { replica_->on_message(message); });
    next_tick_ = clock_.steady_now();
    tick_later();
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      log_line(std::string("ended by ") + (number == SIGINT ? "SIGINT" : "SIGTERM"));
      context_.stop();
    });
    context_.run();
  }

  // One tick after the other; those that a pause of the process has swallowed are not made up for.
  void tick_later() {
    const auto tick = tick_of(options_);
    next_tick_ = std::max(next_tick_ + tick, clock_.steady_now());
    clock_.show();
    timer_.expires_at(clock_.real_time_of(next_tick_));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      replica_->on_tick();
      note_changes();
      tick_later();
    });
  }

  void note_changes() {
    const Core& core = replica_->core();
    const uint64_t streams = replica_->marks().count(ReplicaMark::kSnapshotStreamed);
    if (std::exchange(seen_streams_, streams) != streams) {
      log_line("sends a snapshot to a node that lags");
    }
    if (core.leader() == seen_leader_ && (core.term() == seen_term_ || !core.leader())) return;
    const std::string term = " term " + std::to_string(core.term().value);
    const bool led = seen_leader_ == core.id();
    seen_leader_ = core.leader();
    seen_term_ = core.term();
    if (seen_leader_ == core.id()) {
      log_line("leads" + term);
    } else if (seen_leader_) {
      log_line("follows " + api_->name_of(seen_leader_) + " in" + term);
    } else {
      log_line((led ? "leads no more," : "has no leader,") + term);
    }
  }

  const ServerOptions& options_;
  asio::io_context context_{1};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::steady_timer timer_{context_};
  std::unique_ptr<DataFolder> folder_;
  std::optional<AsioEnv> env_;
  std::unique_ptr<Replica> replica_;
  std::optional<Api> api_;
  std::optional<HttpServer> http_;
  SkewedClock& clock_ = SkewedClock::instance();
  steady_clock::time_point next_tick_;
  NodeId seen_leader_;
  Term seen_term_;
  uint64_t seen_streams_ = 0;
};

}  // namespace

ServerExit run_server(const ServerOptions& options) {
  set_log_name(options.name);
  allow_many_connections();
  return Server(options).run();
}

}  // namespace assay::raft
