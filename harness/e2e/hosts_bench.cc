// From the command to the first operation: on hosts that have nothing of ours yet, on hosts that
// have it, and in the private network of this machine, which is what the two compare with. Needs a
// lab (root).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "harness/e2e/program.h"
#include "targets/node/lab.h"

namespace assay::e2e {
namespace {

constexpr int kNodes = 5;

// "0.8 s: load" of a run's own words; negative where it did not come so far.
double seconds_to_load(std::vector<std::string> more, const std::string& out) {
  std::vector<std::string> arguments{"run", "-v", "--nemesis", "none", "--time-limit", "1s", "--nodes",
                                     std::to_string(kNodes), "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  run(assay(std::move(arguments)), std::chrono::seconds(60));
  // 2026-01-02T15:04:05.678Z … in the run's log: from its seed to its load.
  const std::string log = text_of_file(out + "/latest/assay.log");
  const auto time_of = [&](const char* words) {
    const size_t at = log.find(words);
    const size_t line = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;
    int hour = 0, minute = 0;
    double second = -1;
    if (at != std::string::npos) std::sscanf(log.c_str() + line, "%*d-%*d-%*dT%d:%d:%lfZ", &hour, &minute, &second);
    return second < 0 ? -1 : hour * 3600 + minute * 60 + second;
  };
  const double begin = time_of("seed "), load = time_of(": load");
  return begin < 0 || load < begin ? -1 : load - begin;
}

void measure(benchmark::State& state, const std::vector<std::string>& arguments, const std::function<void()>& before) {
  const ScratchFolder scratch;
  for (auto _ : state) {
    before();
    const double took = seconds_to_load(arguments, scratch.path() + "/runs");
    if (took < 0) return state.SkipWithError("a run did not come to its load");
    state.SetIterationTime(took);
  }
}

void start_privately(benchmark::State& state) {
  measure(state, {}, [] {});
}

void start_on_hosts(benchmark::State& state, bool first) {
  const auto lab = lab_up({.name = "b" + std::to_string(::getpid() % 100'000), .nodes = kNodes});
  if (!lab) return state.SkipWithError(lab.error().message.c_str());
  const auto clean = [&] {
    for (const LabNode& node : lab->nodes) std::filesystem::remove_all(node.folder + "/cache");
  };
  measure(state, {"--hosts", lab->hosts_file()}, [&] {
    if (first) clean();
  });
  (void)lab_down(lab->name);
}

BENCHMARK(start_privately)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(start_on_hosts, first_time, true)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(start_on_hosts, afterwards, false)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace assay::e2e
