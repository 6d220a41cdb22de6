// CPU per operation of three replicas in one thread, with a disk and a network that cost nothing
// but their copies: what the protocol, the log's bytes and the store take.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <deque>

#include "targets/raft/replica/replica.h"

namespace assay::raft {
namespace {

class BenchCluster {
 public:
  explicit BenchCluster(uint64_t snapshot_entries) : snapshot_entries_(snapshot_entries) {
    for (int id = 1; id <= 3; ++id) hosts_.push_back(std::make_unique<Host>(*this, id));
    for (auto& host : hosts_) host->start();
    for (int i = 0; i < 100 && leader() == nullptr; ++i) {
      for (auto& host : hosts_) host->replica_->on_tick();
      settle();
    }
    if (leader() == nullptr) std::abort();
  }
  Replica* leader() { return by_role(Role::kLeader); }
  Replica* follower() { return by_role(Role::kFollower); }

  void settle() {
    bool busy = true;
    while (busy) {
      for (auto& host : hosts_) {
        host->replica_->pump();
        host->forgetful_.do_all();
      }
      busy = !wire_.empty();
      for (auto& [to, bytes] : std::exchange(wire_, {})) {
        hosts_[to.value - 1]->replica_->on_message(bytes);
      }
    }
  }

 private:
  // Does everything at once and keeps nothing.
  class ForgetfulDisk : public Disk {
   public:
    std::string list(std::vector<std::string>&) override { return ""; }
    std::string read(const std::string&, std::string&) override { return ""; }
    std::string truncate(const std::string&, uint64_t) override { return ""; }
    std::string remove(const std::string&) override { return ""; }
    std::string sync(const std::string&) override { return ""; }
    std::string sync_directory() override { return ""; }
    void submit(std::vector<DiskOp> ops, std::function<void(const std::string&)> done) override {
      benchmark::DoNotOptimize(ops.data());
      waiting_.push_back(std::move(done));
    }
    void do_all() {
      while (!waiting_.empty()) {
        auto done = std::move(waiting_.front());
        waiting_.pop_front();
        done("");
      }
    }

   private:
    std::deque<std::function<void(const std::string&)>> waiting_;
  };
  struct Host : Env, Net, Clock {
    Host(BenchCluster& cluster, int id) : cluster_(cluster), id_(id) {}
    void start() {
      ReplicaOptions options;
      options.raft.id = NodeId{static_cast<uint64_t>(id_)};
      options.raft.voters = {NodeId{1}, NodeId{2}, NodeId{3}};
      options.raft.seed = static_cast<uint64_t>(id_);
      options.incarnation = static_cast<uint64_t>(id_);
      options.snapshot_entries = cluster_.snapshot_entries_;
      std::string error;
      replica_ = Replica::open(std::move(options), *this, error);
    }
    Disk& disk() override { return forgetful_; }
    Net& net() override { return *this; }
    Clock& clock() override { return *this; }
    void send(NodeId to, std::string bytes) override {
      cluster_.wire_.emplace_back(to, std::move(bytes));
    }
    std::chrono::nanoseconds now() override { return std::chrono::nanoseconds(1); }
    void request_pump() override {}
    void fatal(const std::string&) override { std::abort(); }

    BenchCluster& cluster_;
    int id_;
    ForgetfulDisk forgetful_;
    std::unique_ptr<Replica> replica_;
  };

  Replica* by_role(Role role) {
    for (auto& host : hosts_) {
      if (host->replica_->status().role == role) return host->replica_.get();
    }
    return nullptr;
  }

  const uint64_t snapshot_entries_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::pair<NodeId, std::string>> wire_;
};

// `clients` requests at once, then everything that they lead to.
void run(benchmark::State& state, bool on_leader, bool write, uint64_t snapshot_entries = 10'000) {
  BenchCluster cluster(snapshot_entries);
  Replica& replica = on_leader ? *cluster.leader() : *cluster.follower();
  const auto clients = state.range(0);
  uint64_t done = 0;
  uint64_t number = 0;
  for (auto _ : state) {
    for (int64_t i = 0; i < clients; ++i) {
      const std::string key = "key" + std::to_string(number++ % 1000);
      const auto end = [&done](const Answer& answer) {
        done += answer.fate == Fate::kDone ? 1 : 0;
      };
      if (write) {
        replica.propose(kv::PutRequest{key, std::string(64, 'x'), false}, end);
      } else {
        kv::RangeRequest range;
        range.key = key;
        replica.read(range, end);
      }
    }
    cluster.settle();
  }
  if (done != static_cast<uint64_t>(state.iterations() * clients))
    state.SkipWithError("not all done");
  state.SetItemsProcessed(static_cast<int64_t>(done));
}

void BM_PutOnLeader(benchmark::State& state) { run(state, true, true); }
void BM_PutWithoutSnapshots(benchmark::State& state) { run(state, true, true, 0); }
void BM_PutOnFollower(benchmark::State& state) { run(state, false, true); }
void BM_ReadOnLeader(benchmark::State& state) { run(state, true, false); }
void BM_ReadOnFollower(benchmark::State& state) { run(state, false, false); }
BENCHMARK(BM_PutOnLeader)->Arg(1)->Arg(64)->Iterations(20000);
BENCHMARK(BM_PutWithoutSnapshots)->Arg(64)->Iterations(20000);
BENCHMARK(BM_PutOnFollower)->Arg(1)->Arg(64)->Iterations(20000);
BENCHMARK(BM_ReadOnLeader)->Arg(1)->Arg(64);
BENCHMARK(BM_ReadOnFollower)->Arg(1)->Arg(64);

}  // namespace
}  // namespace assay::raft
