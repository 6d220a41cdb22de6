// The workload reg-sim on the search, beside a plain Wing-Gong-Lowe search with memo in the same
// run: on a shared machine the ratio says more than the time.
#include <benchmark/benchmark.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "checkers/history/history_io.h"
#include "checkers/linearizable/general_search.h"
#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/linearizable/oracles.h"
#include "checkers/linearizable/reg_sim.h"
#include "checkers/testing_manifest.h"
#include "checkers/linearizable/testing_toys.h"
#include "checkers/models/registry.h"

namespace assay::linearizable {
namespace {

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// CPU time: others use the machine as well.
double seconds_of(const std::function<void()>& fn) {
  const double start = thread_cpu_seconds();
  fn();
  return thread_cpu_seconds() - start;
}

// Time of the plain search; 0 when it gives up after some seconds' worth of steps.
double plain_seconds(const KeyHistory& history) {
  constexpr uint64_t kSteps = 3'000'000;
  bool decided = false;
  const double s = seconds_of(
      [&] { decided = WingGongLowe().check(history, kSteps) != WingGongLowe::Answer::kGaveUp; });
  return decided ? s : 0;
}

// What is in use at most, beyond what was in use before.
class PeakMemory {
 public:
  PeakMemory() : before_(status("VmRSS:")) {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  }
  size_t bytes() const {
    const size_t peak = status("VmHWM:");
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  static size_t status(const std::string& name) {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
      size_t kilobytes = 0;
      if (word == name && in >> kilobytes) return kilobytes * 1024;
    }
    return 0;
  }
  size_t before_;
};

// Arguments: operations, slots, unknown outcomes per mille, unique values, one wrong read.
void one_key(benchmark::State& state) {
  RegSim options{.operations = static_cast<int>(state.range(0)),
                 .slots = static_cast<int>(state.range(1))};
  options.info_per_mille = static_cast<int>(state.range(2));
  options.unique = state.range(3) != 0;
  options.bad = state.range(4) != 0;
  const KeyHistory history = reg_sim(options);
  const Problem problem = prepare(history);
  double total = 0;
  for (auto _ : state) {
    total += seconds_of([&] {
      const SearchResult result = search(problem);
      if (result.outcome != (options.bad ? Outcome::kInvalid : Outcome::kValid)) {
        state.SkipWithError("wrong verdict");
      }
    });
  }
  const double each = total / static_cast<double>(state.iterations());
  state.counters["ns_per_op"] = each * 1e9 / options.operations;
  // 0: the plain search gave up.
  state.counters["plain_over_ours"] = options.operations > 2000 ? 0 : plain_seconds(history) / each;
}
BENCHMARK(one_key)
    ->ArgNames({"ops", "c", "info", "unique", "bad"})
    ->ArgsProduct({{1000}, {5, 10, 20, 30, 50}, {0}, {0}, {0, 1}})
    ->ArgsProduct({{1000}, {5, 10, 20}, {10}, {0}, {0, 1}})
    ->ArgsProduct({{10'000}, {5, 10}, {0, 10}, {0}, {0, 1}})
    ->Args({3000, 5, 50, 0, 0})
    ->Args({100'000, 10, 0, 0, 0})
    ->Args({100'000, 10, 0, 0, 1})
    ->ArgsProduct({{1'000'000}, {5, 10, 30}, {0}, {0}, {0}})
    ->Unit(benchmark::kMillisecond);

// The same from KeyHistory to verdict, the way of unique values included. Arguments: operations,
// slots, unknown outcomes per mille, whether failed cas observe, one wrong read.
void unique_key(benchmark::State& state) {
  RegSim options{.operations = static_cast<int>(state.range(0)),
                 .slots = static_cast<int>(state.range(1)),
                 .unique = true};
  options.info_per_mille = static_cast<int>(state.range(2));
  options.bad = state.range(4) != 0;
  KeyHistory history = reg_sim(options);
  history.conventions.failed_cas_observes = state.range(3) != 0;
  double total = 0;
  size_t peak = 0;
  for (auto _ : state) {
    const PeakMemory memory;
    total += seconds_of([&] {
      const KeyResult result = judge_key(history, {});
      if (result.found.outcome != (options.bad ? Outcome::kInvalid : Outcome::kValid))
        state.SkipWithError("wrong verdict");
    });
    peak = std::max(peak, memory.bytes());
  }
  const double each = total / static_cast<double>(state.iterations());
  state.counters["ns_per_op"] = each * 1e9 / options.operations;
  state.counters["bytes_per_op"] = static_cast<double>(peak) / options.operations;
  state.counters["plain_over_ours"] = options.operations > 2000 ? 0 : plain_seconds(history) / each;
}
BENCHMARK(unique_key)
    ->ArgNames({"ops", "c", "info", "failed_cas", "bad"})
    ->ArgsProduct({{1000}, {5, 10, 50}, {0}, {0, 1}, {0, 1}})
    ->ArgsProduct({{10'000, 100'000, 1'000'000}, {5, 30}, {0}, {0, 1}, {0}})
    ->ArgsProduct({{10'000'000}, {5, 30, 100}, {0}, {0}, {0, 1}})
    ->ArgsProduct({{10'000'000}, {5, 30}, {0}, {1}, {0}})
    ->Unit(benchmark::kMillisecond);

// The etcd logs of the shared corpus, one after another: the sum of the checks.
void etcd_logs(benchmark::State& state) {
  std::vector<KeyHistory> keys;
  for (const ManifestRow& row : manifest_rows()) {
    if (row.at("set") != "porcupine" || row.at("model") != "cas-register") continue;
    auto history = read_history(histories_folder() + row.at("file"));
    if (!history) continue;
    apply_conventions(row, history->mutable_header());
    for (const KeyGroup& group : group_by_key(*history)) keys.push_back(key_history(*history, group));
  }
  if (keys.empty()) return state.SkipWithError("the corpus is not here");
  double total = 0;
  for (auto _ : state) {
    total += seconds_of([&] {
      for (const KeyHistory& key : keys) benchmark::DoNotOptimize(judge_key(key, {}).found.outcome);
    });
  }
  const double each = total / static_cast<double>(state.iterations());
  state.counters["logs"] = static_cast<double>(keys.size());
  double plain = 0;
  for (const KeyHistory& key : keys) plain += plain_seconds(key);
  state.counters["plain_over_ours"] = plain / each;
}
BENCHMARK(etcd_logs)->Unit(benchmark::kMicrosecond);

// Clients of one key of a kv store, each appending texts of its own and reading all of it, as the
// tests of many a Raft course have them; a put now and then, so that the value does not grow without
// end.
class KvClients : public KvToy {
 public:
  ToyOp draw(Rng& rng) const override {
    ToyOp op{.kind = rng.chance(1, 100) ? 'p' : rng.chance(1, 2) ? 'g' : 'a'};
    if (op.kind != 'g') op.arg = "x " + std::to_string(rng.below(1'000'000)) + " y";
    return op;
  }
};

// Arguments: operations, clients, unknown outcomes in percent, one wrong answer.
void any_model(benchmark::State& state) {
  Rng rng(7);
  const KvClients toy;
  ToyHistory ops = draw_history(toy, {.processes = static_cast<int>(state.range(1)),
                                      .operations = static_cast<int>(state.range(0)),
                                      .info_percent = static_cast<int>(state.range(2))}, rng);
  const bool bad = state.range(3) != 0;
  for (size_t i = ops.size() * 4 / 5; bad; ++i) {
    if (ops[i].kind != 'g' || ops[i].type != OpType::kOk) continue;
    ops[i].result += "z";
    break;
  }
  const History history = history_of(toy, std::vector<ToyHistory>{ops});
  const PartGroup group = group_by_part(history, kv_model())[0];
  double total = 0;
  for (auto _ : state) {
    total += seconds_of([&] {
      const SearchResult result = general_search(prepare(history, kv_model(), group));
      if (result.outcome != (bad ? Outcome::kInvalid : Outcome::kValid)) {
        state.SkipWithError("wrong verdict");
      }
    });
  }
  state.counters["ns_per_op"] =
      total * 1e9 / static_cast<double>(state.iterations()) / static_cast<double>(ops.size());
}
BENCHMARK(any_model)
    ->ArgNames({"ops", "c", "info", "bad"})
    ->ArgsProduct({{400, 10'000}, {10}, {0, 1}, {0, 1}})
    ->Args({1000, 50, 0, 0})
    ->Unit(benchmark::kMillisecond);

// A whole history of many keys through the checker: grouping, preparing, searching, measuring its
// sensitivity. Arguments: keys, operations per key, one wrong read on one key.
History many_keys(int keys, int operations, int info_per_mille, bool bad) {
  HistoryBuilder builder;
  HistoryHeader header;
  header.initial = Value(0);
  builder.set_header(header);
  const auto kFs = std::map<Call, Symbol>{
      {Call::kRead, f::read}, {Call::kWrite, f::write}, {Call::kCas, f::cas}};
  int64_t process = 0;
  for (int k = 0; k < keys; ++k) {
    RegSim options{.operations = operations, .slots = 10, .info_per_mille = info_per_mille};
    options.bad = bad && k == keys / 2;
    options.seed = static_cast<uint64_t>(k) + 1;
    const KeyHistory key = reg_sim(options);
    std::vector<std::pair<Position, Op>> lines;
    for (const KeyOp& op : key.ops) {
      Op line;
      line.process = Process{process++};
      line.f = kFs.at(op.f);
      line.key = Symbol("k" + std::to_string(k));
      if (op.f == Call::kWrite) line.value = Value(op.value.bits);
      if (op.f == Call::kCas) line.value = Value::pair(Value(op.value.bits), Value(op.next.bits));
      lines.emplace_back(op.call, line);
      if (op.type == OpType::kInfo) continue;
      Op done = complete(line, op.type);
      if (op.f == Call::kRead) done.value = Value(op.value.bits);
      lines.emplace_back(op.ret, done);
    }
    std::sort(lines.begin(), lines.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [position, line] : lines) (void)builder.add(line).ok();
  }
  return builder.build();
}

// The keys of a history, judged by two threads.
void many_keys_judged(benchmark::State& state) {
  const History history =
      many_keys(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 0, false);
  const std::vector<KeyGroup> groups = group_by_key(history);
  for (auto _ : state) {
    std::atomic<size_t> next{0}, valid{0};
    auto work = [&] {
      for (size_t i = next++; i < groups.size(); i = next++)
        valid += judge_key(history, groups[i], {}).found.outcome == Outcome::kValid;
    };
    std::thread other(work);
    work();
    other.join();
    if (valid != groups.size()) state.SkipWithError("wrong verdict");
  }
}
BENCHMARK(many_keys_judged)
    ->ArgNames({"keys", "ops"})
    ->Args({100, 1000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void whole_history(benchmark::State& state) {
  const bool bad = state.range(2) != 0;
  const History history =
      many_keys(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 10, bad);
  Budget budget;
  budget.jobs = 2;
  for (auto _ : state) {
    const Verdict verdict = check_linearizable(history, budget);
    if (verdict.safety != (bad ? Safety::kInvalid : Safety::kValid)) {
      state.SkipWithError("wrong verdict");
    }
  }
  state.counters["ops"] = static_cast<double>(history.size());
}
BENCHMARK(whole_history)
    ->ArgNames({"keys", "ops", "bad"})
    ->Args({400, 250, 0})
    ->Args({400, 250, 1})
    ->Args({1, 1000, 0})
    ->Args({1, 1000, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace assay::linearizable
