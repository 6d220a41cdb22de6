#include "targets/raft/replica/sim_cluster.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "targets/raft/core/check.h"

namespace assay::raft {
namespace {

// The process of a node ended, as Env::fatal demands.
struct ProcessEnded {
  std::string why;
};

void throw_violation(const std::string& message) { throw Violation(message); }

}  // namespace

void SimCounts::add(const SimCounts& other) {
  core.add(other.core);
  replica.add(other.replica);
  events += other.events;
  acknowledged += other.acknowledged;
  elections += other.elections;
  failed_syncs += other.failed_syncs;
  names_lost += other.names_lost;
  for (size_t i = 0; i < ended_in_snapshot.size(); ++i) {
    ended_in_snapshot[i] += other.ended_in_snapshot[i];
  }
  virtual_us += other.virtual_us;
}

// A machine: its disk lives on, its process comes and goes.
class SimCluster::Host : public Env, public Net, public Clock {
 public:
  Host(SimCluster& cluster, int node) : cluster_(cluster), node_(node) {
    disk_.set_scheduler([this](const DiskOp& op) { cluster_.disk_works(node_, op); });
  }

  Disk& disk() override { return disk_; }
  Net& net() override { return *this; }
  Clock& clock() override { return *this; }
  void send(NodeId to, std::string bytes) override { cluster_.send(node_, to, std::move(bytes)); }
  std::chrono::nanoseconds now() override { return std::chrono::microseconds(cluster_.now_); }
  void fatal(const std::string& message) override { throw ProcessEnded{message}; }
  void request_pump() override {
    if (pump_requested_) return;
    pump_requested_ = true;
    const int64_t delay = cluster_.nodes_random_.between(0, cluster_.options_.pump_delay_max);
    cluster_.on_node(node_, delay, [this] {
      pump_requested_ = false;
      replica_->pump();
    });
  }

  SimDisk disk_;
  std::unique_ptr<Replica> replica_;  // null: no process
  uint64_t process = 0;               // counts the starts
  bool pump_requested_ = false;
  bool paused = false;
  std::deque<std::function<void()>> while_paused;
  int64_t slow_until = 0;
  bool fail_next_sync = false;
  int since_renamed = 9;  // steps of the disk since a snapshot got its name
  Term hunted;

 private:
  SimCluster& cluster_;
  int node_;
};

SimCluster::SimCluster(const SimOptions& options)
    : options_(options),
      network_(options.seed, "network"),
      disks_(options.seed, "disks"),
      faults_(options.seed, "faults"),
      clients_random_(options.seed, "clients"),
      nodes_random_(options.seed, "nodes"),
      oracle_(options.nodes) {
  const auto nodes = static_cast<size_t>(options_.nodes);
  cut_.assign(nodes, std::vector<bool>(nodes, false));
  clients_.resize(static_cast<size_t>(options_.clients));
  for (Client& client : clients_) client.last_seen.resize(static_cast<size_t>(options_.keys));
  for (int node = 0; node < options_.nodes; ++node) {
    hosts_.push_back(std::make_unique<Host>(*this, node));
  }
  tell(options_.describe());
}

SimCluster::~SimCluster() = default;

// --- Time ---------------------------------------------------------------------------------------

void SimCluster::at(int64_t delay, std::function<void()> run) {
  events_.push({now_ + delay, order_++, std::move(run)});
}

void SimCluster::on_node(int node, int64_t delay, std::function<void()> run) {
  const uint64_t process = hosts_[node]->process;
  at(delay, [this, node, process, run = std::move(run)] {
    Host& host = *hosts_[node];
    if (!host.replica_ || host.process != process) return;
    if (host.paused) {
      host.while_paused.push_back(run);
    } else {
      guarded(node, run);
    }
  });
}

void SimCluster::guarded(int node, const std::function<void()>& run) {
  Host& host = *hosts_[node];
  try {
    run();
  } catch (const ProcessEnded& end) {
    tell("node " + std::to_string(node + 1) + " ends: " + end.why);
    kill(node, false);
    return;
  }
  if (!host.replica_) return;
  oracle_.observe(node, *host.replica_);
  maybe_hunt(node);
  const Core& core = host.replica_->core();
  note(static_cast<uint64_t>(node));
  note(core.term().value << 8 | static_cast<uint64_t>(core.role()));
  note(core.commit().value << 32 | core.log().last_index().value);
}

bool SimCluster::step() {
  if (events_.empty()) return false;
  // The queue hands out only const references; the event is popped at once.
  Event event = std::move(const_cast<Event&>(events_.top()));
  events_.pop();
  now_ = event.time;
  ++counts_.events;
  note(static_cast<uint64_t>(now_));
  event.run();
  return true;
}

void SimCluster::run_until(int64_t time, const std::function<bool()>& done) {
  while (!(done && done()) && !events_.empty() && events_.top().time <= time) step();
}

void SimCluster::tell(const std::string& line) {
  if (options_.verbose) std::fprintf(stderr, "%9.3f ms  %s\n", now_ / 1000.0, line.c_str());
}

void SimCluster::note(uint64_t what) { trace_.add(what); }

uint64_t SimCluster::trace() {
  for (SimRandom* stream : {&network_, &disks_, &faults_, &clients_random_, &nodes_random_}) {
    note(stream->next());
  }
  return trace_.value();
}

SimCounts SimCluster::counts() const {
  SimCounts counts = counts_;
  for (const auto& host : hosts_) {
    if (!host->replica_) continue;
    counts.core.add(host->replica_->core().marks());
    counts.replica.add(host->replica_->marks());
  }
  counts.acknowledged = oracle_.acknowledged();
  counts.elections = oracle_.elections();
  counts.virtual_us = static_cast<uint64_t>(now_);
  return counts;
}

// --- Nodes --------------------------------------------------------------------------------------

void SimCluster::start(int node) {
  Host& host = *hosts_[node];
  if (host.replica_) return;
  ++host.process;
  host.pump_requested_ = false;
  host.paused = false;
  host.while_paused.clear();
  host.fail_next_sync = false;

  ReplicaOptions options;
  options.raft.id = NodeId{static_cast<uint64_t>(node) + 1};
  for (int voter = 1; voter <= options_.nodes; ++voter) {
    options.raft.voters.push_back(NodeId{static_cast<uint64_t>(voter)});
  }
  options.raft.election_ticks_min = options_.election_ticks_min;
  options.raft.election_ticks_max = options_.election_ticks_max;
  options.raft.heartbeat_ticks = options_.heartbeat_ticks;
  options.raft.pre_vote = options_.pre_vote;
  options.raft.check_quorum = options_.check_quorum;
  options.raft.append_bytes_max = options_.append_bytes_max;
  options.raft.append_entries_max = options_.append_entries_max;
  options.raft.appends_in_flight_max = options_.appends_in_flight_max;
  options.raft.apply_bytes_max = options_.apply_bytes_max;
  options.raft.uncommitted_bytes_max = options_.uncommitted_bytes_max;
  options.raft.seed = nodes_random_.next();
  options.raft.mutations = options_.mutations;
  options.canary = options_.canary;
  options.incarnation = nodes_random_.next();
  options.segment_bytes = options_.segment_bytes;
  options.snapshot_entries = options_.snapshot_entries;
  options.snapshot_keep_entries = options_.snapshot_keep_entries;
  options.stream = options_.stream;
  options.raft.snapshot_ticks = options_.snapshot_ticks;
  options.request_timeout = std::chrono::microseconds(options_.request_timeout);
  options.on_applied = [this, node](const Entry& entry, const kv::Service& service) {
    oracle_.applied(node, entry, service);
  };
  options.on_installed = [this, node](LogIndex index, const kv::Service& service) {
    tell("node " + std::to_string(node + 1) + " installs a snapshot of entry " +
         std::to_string(index.value));
    oracle_.installed(node, index, service);
  };
  std::string error;
  host.replica_ = Replica::open(std::move(options), host, error);
  if (!host.replica_) {
    throw Violation("node " + std::to_string(node + 1) + " refuses to start: " + error);
  }
  const Core& core = host.replica_->core();
  tell("node " + std::to_string(node + 1) + " starts: term " + std::to_string(core.term().value) +
       ", snapshot " + std::to_string(host.replica_->status().snapshot.value) + ", last index " +
       std::to_string(core.log().last_index().value));
  oracle_.restarted(node, *host.replica_);
  schedule_tick(node);
}

void SimCluster::kill(int node, bool power) {
  Host& host = *hosts_[node];
  if (host.replica_) {
    counts_.core.add(host.replica_->core().marks());
    counts_.replica.add(host.replica_->marks());
    host.replica_.reset();
    tell("node " + std::to_string(node + 1) + (power ? " loses power" : " is dead"));
    at(faults_.between(1000, options_.down_max), [this, node] { start(node); });
  }
  host.while_paused.clear();
  host.paused = false;
  if (power) {
    counts_.names_lost += host.disk_.lose_power(disks_);
  } else {
    host.disk_.lose_process();
  }
}

void SimCluster::schedule_tick(int node) {
  // Clocks do not run alike, and a pause delays one tick, not all.
  const int64_t drift = options_.tick / 20;
  on_node(node, options_.tick + nodes_random_.between(-drift, drift), [this, node] {
    schedule_tick(node);
    hosts_[node]->replica_->on_tick();
  });
}

void SimCluster::send(int from, NodeId to_id, std::string bytes) {
  const int to = static_cast<int>(to_id.value) - 1;
  const int copies = network_.chance(options_.repeat_per_mille) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    if (cut_[from][to] || network_.chance(options_.loss_per_mille)) continue;
    int64_t delay = network_.between(options_.delay_min, options_.delay_max);
    if (network_.chance(options_.slow_per_mille)) delay += network_.between(0, options_.slow_max);
    // A message outlives its sender's process and the receiver's: it finds whatever runs there.
    at(delay, [this, from, to, bytes] {
      if (cut_[from][to]) return;
      on_node(to, 0, [this, to, bytes] { hosts_[to]->replica_->on_message(bytes); });
    });
  }
}

void SimCluster::maybe_end_in_snapshot(int node, const DiskOp& op) {
  Host& host = *hosts_[node];
  // The sync of the directory, and the log's first steps behind it, belong to it too.
  const bool behind = ++host.since_renamed <= 3;
  if (op.kind == DiskOp::Kind::kRename) host.since_renamed = 0;
  if (!storm_ || !(behind || op.file.starts_with("snap-"))) return;
  if (!faults_.chance(options_.snapshot_crash_per_mille)) return;
  const bool power = faults_.chance(500);
  at(0, [this, node, power, kind = op.kind, process = host.process] {
    if (!hosts_[node]->replica_ || hosts_[node]->process != process) return;
    ++counts_.ended_in_snapshot[static_cast<size_t>(kind)];
    kill(node, power);
  });
}

void SimCluster::disk_works(int node, const DiskOp& op) {
  Host& host = *hosts_[node];
  maybe_end_in_snapshot(node, op);
  const bool sync = op.kind == DiskOp::Kind::kSync || op.kind == DiskOp::Kind::kSyncDirectory;
  int64_t delay = disks_.between(1, 20);
  if (sync) delay = disks_.between(options_.sync_min, options_.sync_max);
  if (sync && now_ < host.slow_until) delay += disks_.between(20'000, 200'000);
  const uint64_t process = host.process;
  // The disk works on while the process is paused, but its callbacks wait: rare enough to be
  // simplified into a pause of both.
  at(delay, [this, node, process, sync] {
    Host& host = *hosts_[node];
    if (!host.replica_ || host.process != process) return;
    auto work = [this, node, sync] {
      Host& host = *hosts_[node];
      const bool fail = sync && host.fail_next_sync;
      if (fail) {
        ++counts_.failed_syncs;
        host.fail_next_sync = false;
        // The pages are marked clean, and may or may not be what is on the disk.
        for (auto& [name, file] : host.disk_.files()) {
          if (file.synced < file.bytes.size() && disks_.chance(500)) {
            SimDisk::lose_unsynced(file, disks_);
          }
        }
      }
      host.disk_.do_next(fail);
    };
    host.paused ? host.while_paused.push_back(work) : guarded(node, work);
  });
}

int SimCluster::leader() const {
  int found = -1;
  Term term;
  for (int node = 0; node < options_.nodes; ++node) {
    const Host& host = *hosts_[node];
    if (host.replica_ && host.replica_->core().role() == Role::kLeader &&
        host.replica_->core().term() > term) {
      found = node;
      term = host.replica_->core().term();
    }
  }
  return found;
}

void SimCluster::maybe_hunt(int node) {
  Host& host = *hosts_[node];
  const Core& core = host.replica_->core();
  if (!storm_ || core.role() != Role::kLeader || core.term() == host.hunted) return;
  host.hunted = core.term();
  tell("node " + std::to_string(node + 1) + " leads term " + std::to_string(core.term().value));
  if (!faults_.chance(options_.hunt_per_mille)) return;
  const uint64_t process = host.process;
  // Half of them before their first messages arrive.
  const int64_t latest = faults_.chance(500) ? options_.delay_max : options_.hunt_delay_max;
  at(faults_.between(0, latest), [this, node, process] {
    if (!storm_ || hosts_[node]->process != process) return;
    switch (faults_.below(4)) {
      case 0:
        cut({node});
        break;
      case 1:
        kill(node, true);
        break;
      default:
        kill(node, false);
        break;
    }
  });
}

// --- Faults -------------------------------------------------------------------------------------

std::vector<int> SimCluster::draw_nodes(size_t count) {
  std::vector<int> nodes;
  for (int node = 0; node < options_.nodes; ++node) nodes.push_back(node);
  while (nodes.size() > count) {
    nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(faults_.below(nodes.size())));
  }
  return nodes;
}

void SimCluster::schedule_fault() {
  if (options_.faults.empty()) return;
  at(faults_.between(1000, options_.fault_gap_max), [this] {
    if (!storm_) return;
    strike(faults_.pick(options_.faults));
    schedule_fault();
  });
}

void SimCluster::cut(const std::vector<int>& side) {
  std::vector<bool> in_side(hosts_.size(), false);
  std::string names;
  for (int node : side) {
    in_side[node] = true;
    names.append(" ").append(std::to_string(node + 1));
  }
  tell("cut off:" + names);
  for (size_t from = 0; from < hosts_.size(); ++from) {
    for (size_t to = 0; to < hosts_.size(); ++to) cut_[from][to] = in_side[from] != in_side[to];
  }
}

void SimCluster::heal_links() {
  for (auto& row : cut_) row.assign(row.size(), false);
}

void SimCluster::strike(SimFault fault) {
  const size_t all = hosts_.size();
  const int one = static_cast<int>(faults_.below(all));
  const int leads = leader() >= 0 ? leader() : one;
  tell("fault: " + std::string(to_string(fault)));
  switch (fault) {
    case SimFault::kCutOne:
      cut({one});
      break;
    case SimFault::kCutLeader:
      cut({leads});
      break;
    case SimFault::kCutHalves:
      cut(draw_nodes(all / 2));
      break;
    case SimFault::kCutBridge: {
      cut(draw_nodes(all / 2));
      for (size_t other = 0; other < all; ++other) cut_[one][other] = cut_[other][one] = false;
      break;
    }
    case SimFault::kCutOneWay:
      heal_links();
      cut_[one].assign(all, true);
      break;
    case SimFault::kHeal:
      heal_links();
      break;
    case SimFault::kKillOne:
      kill(one, false);
      break;
    case SimFault::kKillLeader:
      kill(leads, false);
      break;
    case SimFault::kKillAll:
      for (int node : draw_nodes(all)) kill(node, false);
      break;
    case SimFault::kPowerOne:
      kill(one, true);
      break;
    case SimFault::kPowerMajority:
      for (int node : draw_nodes(all / 2 + 1)) kill(node, true);
      break;
    case SimFault::kPowerAll:
      for (int node : draw_nodes(all)) kill(node, true);
      break;
    case SimFault::kPauseOne:
      pause(one);
      break;
    case SimFault::kPauseLeader:
      pause(leads);
      break;
    case SimFault::kSlowDisk:
      hosts_[one]->slow_until = now_ + faults_.between(100'000, 600'000);
      break;
    case SimFault::kFailSync:
      hosts_[one]->fail_next_sync = true;
      break;
  }
}

void SimCluster::pause(int node) {
  Host& host = *hosts_[node];
  if (!host.replica_ || host.paused) return;
  host.paused = true;
  const uint64_t process = host.process;
  at(faults_.between(20'000, 600'000), [this, node, process] {
    if (hosts_[node]->process == process) resume(node);
  });
}

void SimCluster::resume(int node) {
  Host& host = *hosts_[node];
  if (!host.paused) return;
  host.paused = false;
  auto waiting = std::exchange(host.while_paused, {});
  for (auto& run : waiting) {
    if (!host.replica_) return;
    guarded(node, run);
  }
}

// --- Clients ------------------------------------------------------------------------------------

void SimCluster::schedule_operation(int client) {
  at(clients_random_.between(0, options_.think_max), [this, client] { begin_operation(client); });
}

SimOp SimCluster::draw_operation(int client) {
  Client& state = clients_[client];
  SimOp op;
  op.client = client;
  // Mostly a node of its own, so that some clients sit with an isolated leader.
  op.node = clients_random_.chance(700) ? client % options_.nodes
                                        : static_cast<int>(clients_random_.below(hosts_.size()));
  const auto key = clients_random_.below(static_cast<uint64_t>(options_.keys));
  op.key = "k" + std::to_string(key);
  const bool reader = client >= options_.clients - options_.readers;
  const uint64_t kind = reader ? clients_random_.between(58, 97) : clients_random_.below(100);
  op.kind = kind < 30   ? SimOp::Kind::kPut
            : kind < 50 ? SimOp::Kind::kGuardedPut
            : kind < 58 ? SimOp::Kind::kDelete
            : kind < 92 ? SimOp::Kind::kGet
            : kind < 98 ? SimOp::Kind::kGetAll
                        : SimOp::Kind::kCompact;
  if (op.kind == SimOp::Kind::kCompact) {
    const auto back = static_cast<int64_t>(clients_random_.below(10));
    op.expected = {std::max<int64_t>(1, oracle_.floor().value - back)};
  }
  if (op.kind == SimOp::Kind::kPut || op.kind == SimOp::Kind::kGuardedPut) {
    op.value = std::to_string(client) + "." + std::to_string(++state.values) + ".";
    op.value.append(clients_random_.below(options_.value_bytes_max), 'x');
    op.expected = state.last_seen[key];
  }
  op.floor = oracle_.floor();
  return op;
}

void SimCluster::begin_operation(int client) {
  if (!storm_) return;
  const SimOp op = draw_operation(client);
  if (!hosts_[op.node]->replica_) {
    schedule_operation(client);  // the connection is refused
    return;
  }
  const uint64_t operation = ++clients_[client].operation;
  const auto end = [this, client, op, operation](const Answer& answer) {
    if (clients_[client].operation != operation) return;  // given up
    ++clients_[client].operation;
    end_operation(client, op, answer);
  };
  on_node(op.node, 50, [this, op, end] {
    Replica& replica = *hosts_[op.node]->replica_;
    op.is_read() ? replica.read(op.request(), end) : replica.propose(op.request(), end);
  });
  at(options_.client_timeout, [end] { end({Fate::kUnknown, Reason::kTimeout, {}, {}}); });
}

void SimCluster::end_operation(int client, const SimOp& op, const Answer& answer) {
  tell(op.describe() + ": " + std::string(to_string(answer.fate)));
  note(static_cast<uint64_t>(answer.fate));
  oracle_.finished(op, answer);
  if (answer.fate == Fate::kDone && op.kind == SimOp::Kind::kGet) {
    const auto& kvs = std::get<kv::RangeResponse>(std::get<kv::Response>(answer.result).body).kvs;
    const size_t key = static_cast<size_t>(op.key[1] - '0');
    clients_[client].last_seen[key] = kvs.empty() ? kv::Revision{} : kvs[0]->mod_revision;
  }
  schedule_operation(client);
}

// --- A run --------------------------------------------------------------------------------------

void SimCluster::run() {
  for (int node = 0; node < options_.nodes; ++node) start(node);
  for (int client = 0; client < options_.clients; ++client) schedule_operation(client);
  schedule_fault();
  run_until(options_.storm);
  storm_ = false;
  const std::vector<int> all = draw_nodes(hosts_.size());
  if (options_.heal_majority_first) {
    const std::vector<int> majority = draw_nodes(hosts_.size() / 2 + 1);
    heal(majority);
    demand_progress(majority);
  }
  heal(all);
  demand_progress(all);
  demand_agreement();
  oracle_.check_history(oracle_.model());
}

// The nodes named run, hear each other and nobody else; the network stays slow, but loses nothing.
void SimCluster::heal(const std::vector<int>& nodes) {
  tell("heal " + std::to_string(nodes.size()) + " nodes");
  cut(nodes);
  if (nodes.size() == hosts_.size()) heal_links();
  for (int node : nodes) {
    for (int other : nodes) cut_[node][other] = false;
    hosts_[node]->slow_until = 0;
    hosts_[node]->fail_next_sync = false;
    resume(node);
    start(node);
  }
  options_.loss_per_mille = 0;
}

// Clients of all these nodes write until each has been answered once.
void SimCluster::demand_progress(const std::vector<int>& nodes) {
  const int64_t healed = now_;
  const int64_t limit = now_ + 60 * options_.election_ticks_max * options_.tick;
  size_t answered = 0;
  std::function<void(int)> attempt = [&](int node) {
    SimOp op;
    op.kind = SimOp::Kind::kPut;
    op.client = 100 + node;
    op.node = node;
    op.key = "k0";
    op.value = "probe " + std::to_string(order_);
    op.floor = oracle_.floor();
    auto settled = std::make_shared<bool>(false);
    const auto end = [&, node, op, settled](const Answer& answer) {
      if (std::exchange(*settled, true)) return;
      oracle_.finished(op, answer);
      if (answer.fate == Fate::kDone) {
        ++answered;
      } else {
        at(20'000, [&, node] { attempt(node); });
      }
    };
    on_node(node, 0, [this, op, end] { hosts_[op.node]->replica_->propose(op.request(), end); });
    at(options_.client_timeout, [end] { end({Fate::kUnknown, Reason::kTimeout, {}, {}}); });
  };
  for (int node : nodes) attempt(node);
  run_until(limit, [&] { return answered == nodes.size(); });
  if (answered < nodes.size()) {
    throw Violation("no progress on " + std::to_string(nodes.size() - answered) + " of " +
                    std::to_string(nodes.size()) + " healed nodes " +
                    std::to_string((now_ - healed) / 1000) + " ms after the heal");
  }
  // The attempts that were given up refer to this frame; let them pass.
  run_until(now_ + options_.client_timeout + 20'000);
}

namespace {

// Every bit of a member's state.
std::string whole_state(const Replica& replica) {
  SnapshotWriter writer({{replica.status().applied, {}}, replica.status().chain},
                        replica.service().store());
  std::string bytes;
  while (!writer.done()) bytes += writer.next(1 << 20);
  return bytes;
}

}  // namespace

void SimCluster::demand_agreement() {
  const auto agree = [this] {
    const ReplicaStatus first = hosts_[0]->replica_->status();
    for (const auto& host : hosts_) {
      const ReplicaStatus status = host->replica_->status();
      if (status.applied != first.applied || status.applied != status.last_index) return false;
      if (status.chain != first.chain || status.state_hash != first.state_hash) {
        throw Violation("members applied the same index and differ");
      }
    }
    return true;
  };
  run_until(now_ + 20 * options_.election_ticks_max * options_.tick, agree);
  if (!agree()) throw Violation("members do not converge after the heal");
  for (const auto& host : hosts_) {
    if (whole_state(*host->replica_) != whole_state(*hosts_[0]->replica_)) {
      throw Violation("members that agree have different histories of their keys");
    }
  }
  const auto& live = hosts_[0]->replica_->service();
  if (live.state_hash() != oracle_.model().state_hash()) {
    throw Violation("the members' state is not that of the entries applied");
  }
}

SimOutcome simulate(const SimOptions& options) {
  set_check_handler(throw_violation);
  SimOutcome outcome;
  SimCluster cluster(options);
  try {
    cluster.run();
  } catch (const Violation& violation) {
    outcome.violation = violation.what();
  }
  outcome.counts = cluster.counts();
  outcome.trace = cluster.trace();
  set_check_handler(nullptr);
  return outcome;
}

namespace {

TEST(Simulation, RepeatsARunBitForBit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SimOptions options = SimOptions::draw(seed);
    EXPECT_EQ(simulate(options).trace, simulate(options).trace) << "seed " << seed;
  }
}

TEST(Simulation, OfACalmClusterHasOneElection) {
  SimOptions options;
  options.clients = 5;
  const SimOutcome outcome = simulate(options);
  EXPECT_EQ(outcome.violation, std::nullopt);
  EXPECT_EQ(outcome.counts.elections, 1u);
  EXPECT_GT(outcome.counts.acknowledged, 100u);
}

}  // namespace
}  // namespace assay::raft
