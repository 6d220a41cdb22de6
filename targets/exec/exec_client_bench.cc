// What one operation costs the driver with a client program: the request, the answer, and the lines
// of its invocation and completion in the history. The programs do nothing but answer; the CPU time
// is the driver's own.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "targets/asio/testing_loop.h"
#include "targets/driver_cost.h"
#include "targets/exec/exec_client.h"

namespace assay::exec {
namespace {

void BM_ExecClient(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "exec-rehearsal";
  TestingLoop loop;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < count; ++i) {
    ExecClientOptions options;
    options.program.child.argv = {program, "no-value"};
    options.to = {"n1", "127.0.0.1:2379", milliseconds(900)};
    options.errors = std::make_shared<ErrorTable>();
    auto client = start_exec_client(loop, std::move(options));
    if (!client) return state.SkipWithError(client.error().message.c_str());
    clients.push_back(std::move(*client));
  }
  measure_driver_cost(state, loop, clients);
}
BENCHMARK(BM_ExecClient)
    ->ArgName("programs")
    ->Arg(1)
    ->Arg(20)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace assay::exec
