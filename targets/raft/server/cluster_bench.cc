// Three servers on loopback, fsync on: operations per second, and CPU time per operation over the
// three servers; and how long no write succeeds after the leader was killed or stopped.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "targets/raft/server/testing_servers.h"

namespace assay::raft {
namespace {

Op op_of(Symbol f, int key, Value value) {
  Op op;
  op.f = f;
  op.key = Symbol("k" + std::to_string(key));
  op.value = std::move(value);
  return op;
}

// Clients that each do one operation after the other.
class Load {
 public:
  Load(TestingLoop& loop, const Servers& servers, int node, int clients,
       std::function<Op(int client, int64_t n)> next)
      : next_(std::move(next)) {
    for (int i = 0; i < clients; ++i) {
      clients_.push_back(make_kv_client(loop, servers.node(node), {}));
    }
  }

  void start() {
    for (int i = 0; i < static_cast<int>(clients_.size()); ++i) invoke(i);
  }
  int64_t done() const { return done_; }
  int64_t not_ok() const { return not_ok_; }
  std::vector<int64_t>& latencies_ns() { return latencies_ns_; }

 private:
  void invoke(int client) {
    const auto begin = std::chrono::steady_clock::now();
    clients_[client]->invoke(next_(client, done_), [this, client, begin](Op op) {
      ++done_;
      if (op.type != OpType::kOk) ++not_ok_;
      latencies_ns_.push_back(
          std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
      invoke(client);
    });
  }

  std::function<Op(int, int64_t)> next_;
  std::vector<std::unique_ptr<Client>> clients_;
  int64_t done_ = 0;
  int64_t not_ok_ = 0;
  std::vector<int64_t> latencies_ns_;
};

int64_t cpu_of_all(const Servers& servers) {
  int64_t sum = 0;
  for (int i = 0; i < servers.size(); ++i) sum += servers.cpu_us(i);
  return sum;
}

enum Kind { kPut, kRead, kCas };

void BM_Operations(benchmark::State& state) {
  const auto kind = static_cast<Kind>(state.range(0));
  const int clients = static_cast<int>(state.range(1));
  TestingLoop loop;
  Asker asker(loop);
  Servers servers(3);
  servers.start_all();
  const int leader = asker.leader(servers);
  if (leader < 0) return state.SkipWithError("no leader");
  std::vector<int64_t> values(clients);
  {
    Load fill(loop, servers, leader, clients,
              [](int client, int64_t) { return op_of(f::write, client, 0); });
    fill.start();
    loop.run_until([&] { return fill.done() >= 2 * clients; });
  }
  loop.run_for(std::chrono::milliseconds(50));
  for (int i = 0; i < clients; ++i) {
    asker.http(servers.node(leader), "POST", kv_call_of(op_of(f::write, i, 0), {}).target,
               kv_call_of(op_of(f::write, i, 0), {}).body);
  }
  Load load(loop, servers, leader, clients, [&](int client, int64_t n) {
    if (kind == kPut) return op_of(f::write, client, n);
    if (kind == kRead) return op_of(f::read, client, {});
    const int64_t old_value = values[client]++;
    return op_of(f::cas, client, Value::pair(old_value, old_value + 1));
  });
  load.start();
  const int64_t cpu_before = cpu_of_all(servers);
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) {
    const int64_t wanted = load.done() + 1000;
    if (!loop.run_until([&] { return load.done() >= wanted; })) {
      return state.SkipWithError("the load stands still");
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto done = static_cast<double>(load.done());
  auto& latencies = load.latencies_ns();
  std::nth_element(latencies.begin(), latencies.begin() + latencies.size() / 2, latencies.end());
  state.counters["ops/s"] = done / seconds;
  state.counters["cpu_us/op"] = static_cast<double>(cpu_of_all(servers) - cpu_before) / done;
  state.counters["p50_us"] = static_cast<double>(latencies[latencies.size() / 2]) / 1000;
  state.counters["not_ok"] = static_cast<double>(load.not_ok());
}
BENCHMARK(BM_Operations)
    ->ArgNames({"kind", "clients"})
    ->ArgsProduct({{kPut, kRead, kCas}, {1, 64}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MinTime(3);

// From the signal to the first write that a client at another node gets through.
void BM_FailOver(benchmark::State& state) {
  const int signal = static_cast<int>(state.range(0));
  TestingLoop loop;
  Asker asker(loop);
  std::vector<double> gaps;
  for (auto _ : state) {
    state.PauseTiming();
    Servers servers(3);
    servers.start_all();
    const int leader = asker.leader(servers);
    if (leader < 0) return state.SkipWithError("no leader");
    const int other = (leader + 1) % 3;
    loop.run_for(std::chrono::milliseconds(500));
    state.ResumeTiming();
    const auto begin = std::chrono::steady_clock::now();
    servers.child(leader).signal(signal);
    bool written = false;
    // A write that waits for the dead leader ends with a time-out: many are tried.
    std::vector<std::unique_ptr<Client>> clients;
    while (!written && clients.size() < 3000) {
      clients.push_back(make_kv_client(loop, servers.node(other), {}));
      clients.back()->invoke(op_of(f::write, 1, 1),
                             [&](Op op) { written |= op.type == OpType::kOk; });
      loop.run_until([&] { return written; }, std::chrono::milliseconds(5));
    }
    gaps.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    state.PauseTiming();
    clients.clear();
    state.ResumeTiming();
  }
  std::sort(gaps.begin(), gaps.end());
  state.counters["median_s"] = gaps[gaps.size() / 2];
  state.counters["worst_s"] = gaps.back();
}
BENCHMARK(BM_FailOver)
    ->ArgName("signal")
    ->Arg(SIGKILL)
    ->Arg(SIGSTOP)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(9);

}  // namespace
}  // namespace assay::raft
