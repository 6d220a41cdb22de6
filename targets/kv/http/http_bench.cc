// What one operation costs the driver's side: a KvClient per connection, the line of its invocation
// and of its completion written, against a server that does nothing. The server runs in a child
// process; the CPU time is this process's own.
#include <benchmark/benchmark.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "targets/asio/testing_loop.h"
#include "targets/driver_cost.h"
#include "targets/kv/http/http_front.h"
#include "targets/kv/http/http_server.h"
#include "targets/kv/http/kv_client.h"

namespace assay {
namespace {

// A child that answers every request with the same put's answer. Gives its port through a pipe.
class NoOpServer {
 public:
  NoOpServer() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) serve(ends[1]);
    if (::read(ends[0], &port_, sizeof port_) != sizeof port_) std::abort();
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~NoOpServer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int port() const { return port_; }

 private:
  [[noreturn]] static void serve(int pipe) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    TestingLoop loop;
    const std::string answer =
        kv::render(kv::Header{1, 2, 3}, kv::Response{{7}, kv::PutResponse{}}).body;
    HttpServer server(loop.context(), [&](const HttpRequest&, Responder respond) {
      respond({200, "application/json", answer});
    });
    const int port = *server.listen("127.0.0.1", 0);
    if (::write(pipe, &port, sizeof port) != sizeof port) std::abort();
    loop.context().run();
    ::_exit(0);
  }
  int pid_ = 0;
  int port_ = 0;
};

void BM_ClientAgainstNoOpServer(benchmark::State& state) {
  const int connections = static_cast<int>(state.range(0));
  NoOpServer server;
  TestingLoop loop;
  NodeInfo node;
  node.address = "127.0.0.1";
  node.client_port = server.port();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < connections; ++i) clients.push_back(make_kv_client(loop, node, {}));
  measure_driver_cost(state, loop, clients);
}
BENCHMARK(BM_ClientAgainstNoOpServer)
    ->ArgName("connections")
    ->Arg(1)
    ->Arg(20)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Parsing a request and writing its answer, without any network.
void BM_Front(benchmark::State& state) {
  const std::string body =
      state.range(0) == 0 ? R"({"key":"azEyMw==","value":"MTIzNDU2"})"
                          : R"({"compare":[{"key":"azEyMw==","target":"MOD","mod_revision":)"
                            R"("17"}],"success":[{"request_put":{"key":"azEyMw==","value":)"
                            R"("MTIzNDU2"}}],"failure":[{"request_range":{"key":"azEyMw=="}}]})";
  const std::string_view target = state.range(0) == 0 ? "/v3/kv/put" : "/v3/kv/txn";
  for (auto _ : state) {
    auto parsed = kv::parse_http({"POST", target, body});
    benchmark::DoNotOptimize(parsed);
    auto answer = kv::render(kv::Header{1, 2, 3}, kv::Response{{7}, kv::PutResponse{}});
    benchmark::DoNotOptimize(answer);
  }
}
BENCHMARK(BM_Front)->ArgName("txn")->Arg(0)->Arg(1);

}  // namespace
}  // namespace assay
