// Driver cost: what one operation costs the driver's side, for benchmarks of clients.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkers/history/history_io.h"
#include "targets/asio/testing_loop.h"
#include "targets/target.h"

namespace assay {

// CPU time of this process, all threads.
inline double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) { return time.tv_sec * 1e6 + time.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// Keeps every client busy with writes, a thousand of them an iteration, and writes the lines of
// invocation and completion as a run does. A write that is not ok is an error of the benchmark: a
// refusal costs next to nothing.
inline void measure_driver_cost(benchmark::State& state, TestingLoop& loop,
                                const std::vector<std::unique_ptr<Client>>& clients) {
  std::string history;
  int64_t done = 0;
  std::string refused;
  std::function<void(size_t)> invoke = [&](size_t i) {
    Op op;
    op.index = 2 * done;
    op.time = loop.now();
    op.process = Process{static_cast<int64_t>(i)};
    op.f = f::write;
    op.key = Symbol("k" + std::to_string(i));
    op.value = Value(done);
    append_line(history, op);
    clients[i]->invoke(op, [&, i](Op completed) {
      completed.index = 2 * done + 1;
      completed.time = loop.now();
      append_line(history, completed);
      if (history.size() > 1 << 16) history.clear();
      ++done;
      if (completed.type != OpType::kOk) {
        refused = completed.error ? completed.error->text : "a write was not ok";
        return;
      }
      invoke(i);
    });
  };
  for (size_t i = 0; i < clients.size(); ++i) invoke(i);
  const double before = cpu_us();
  for (auto _ : state) {
    const int64_t wanted = done + 1000;
    while (done < wanted && refused.empty()) loop.context().run_one();
    if (!refused.empty()) return state.SkipWithError(refused.c_str());
  }
  state.counters["cpu_us/op"] = (cpu_us() - before) / static_cast<double>(done);
  state.counters["ops/s"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate);
}

}  // namespace assay
