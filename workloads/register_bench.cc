// What one operation costs in the generators: the stack that the runner drives, with all that it
// does to it per operation: ask, occupy, take, release, update.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "workloads/gen/combinators.h"
#include "workloads/workload.h"

namespace assay {
namespace {

WorkloadOptions options() {
  WorkloadOptions options{Rng(1)};
  options.nodes = {"n1", "n2", "n3", "n4", "n5"};
  return options;
}

// Workers are released in the order in which they were occupied.
void drive(benchmark::State& state, Generator& generator, int clients, int lanes, int free,
           Nanos step) {
  Workers workers(clients, lanes);
  Nanos now{};
  // At every question, so many workers are busy: clients - free.
  std::vector<Next> under_way(static_cast<size_t>(clients - free + 1));
  size_t begun = 0;
  size_t ended = 0;
  for (auto _ : state) {
    now += step;
    const Context context{now, &workers, 0, workers.size()};
    Next next = generator.next(context);
    if (next.kind != Next::Kind::kOp) {
      state.SkipWithError("no operation");
      break;
    }
    now = std::max(now, next.op.time);
    workers.occupy(next.worker);
    generator.taken(context, next);
    under_way[begun++ % under_way.size()] = std::move(next);
    if (begun - ended < under_way.size()) continue;
    Next& done = under_way[ended++ % under_way.size()];
    done.op.type = OpType::kOk;
    if (done.op.f == f::read) {
      done.op.value = Value(1);
      done.op.revision = Token(int64_t{5});
    }
    workers.release(done.worker, false);
    generator.update(context, done.worker, done.op);
  }
}

void as_fast_as_answers_come(benchmark::State& state, const char* name) {
  auto run = find_workload(name)->start(options());
  const Gen load = gen::time_limit(seconds(1'000'000), (*run)->load());
  drive(state, *load, 20, 0, static_cast<int>(state.range(0)), microseconds(1));
}

// As in a run with three faults: a rate, a time limit, and three nemesis lanes that wait.
void whole_stack(benchmark::State& state, const char* name) {
  auto run = find_workload(name)->start(options());
  const auto lane = [](int w) {
    Op op;
    op.f = Symbol("start-kill");
    return gen::on_workers(
        w, w + 1, gen::sequence(gen::sleep(seconds(1'000'000)), gen::once(gen::always(op))));
  };
  Gen load =
      gen::time_limit(seconds(1'000'000), gen::stagger(microseconds(6), Rng(3), (*run)->load()));
  const Gen all = gen::any(gen::on_workers(0, 20, std::move(load)), lane(20), lane(21), lane(22));
  drive(state, *all, 20, 3, static_cast<int>(state.range(0)), microseconds(6));
}

BENCHMARK_CAPTURE(as_fast_as_answers_come, register, "register")->Arg(1)->Arg(20);
BENCHMARK_CAPTURE(as_fast_as_answers_come, cas_versioned, "cas-versioned")->Arg(1)->Arg(20);
BENCHMARK_CAPTURE(whole_stack, register, "register")->Arg(1)->Arg(20);
BENCHMARK_CAPTURE(whole_stack, cas_versioned, "cas-versioned")->Arg(1)->Arg(20);

}  // namespace
}  // namespace assay
