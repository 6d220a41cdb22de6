// What one operation costs the driver with a client program: the request, the answer, and the lines
// of its invocation and completion in the history. The programs do nothing but answer; the CPU time
// is the driver's own.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <filesystem>

#include "checkers/history/history_io.h"
#include "targets/asio/testing_loop.h"
#include "targets/exec/exec_client.h"

namespace assay::exec {
namespace {

double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) { return time.tv_sec * 1e6 + time.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

void BM_ExecClient(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "exec-rehearsal";
  TestingLoop loop;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < count; ++i) {
    ExecClientOptions options;
    options.program.child.argv = {program, "answer"};
    options.to = {"n1", "127.0.0.1:2379", milliseconds(900)};
    options.errors = std::make_shared<ErrorTable>();
    auto client = start_exec_client(loop, std::move(options));
    if (!client) return state.SkipWithError(client.error().message.c_str());
    clients.push_back(std::move(*client));
  }
  std::string history;
  int64_t done = 0;
  std::function<void(int)> invoke = [&](int i) {
    Op op;
    op.index = 2 * done;
    op.time = loop.now();
    op.process = Process{i};
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
      invoke(i);
    });
  };
  for (int i = 0; i < count; ++i) invoke(i);
  const double before = cpu_us();
  for (auto _ : state) {
    const int64_t wanted = done + 1000;
    while (done < wanted) loop.context().run_one();
  }
  state.counters["cpu_us/op"] = (cpu_us() - before) / static_cast<double>(done);
  state.counters["ops/s"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ExecClient)
    ->ArgName("programs")
    ->Arg(1)
    ->Arg(20)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace assay::exec
