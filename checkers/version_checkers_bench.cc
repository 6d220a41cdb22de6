// A million operations of versioned objects on each checker that reads versions: time on one core,
// and memory beyond that of the history.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "checkers/history/rng.h"
#include "checkers/registry.h"

namespace assay {
namespace {

struct Peak {
  static size_t status(const std::string& name) {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
      if (word != name) continue;
      size_t kilobytes = 0;
      in >> kilobytes;
      return kilobytes * 1024;
    }
    return 0;
  }
  Peak() {
    malloc_trim(0);
    before = status("VmRSS:");
    std::ofstream("/proc/self/clear_refs") << "5";
  }
  size_t bytes() const {
    const size_t peak = status("VmHWM:");
    return peak > before ? peak - before : 0;
  }
  size_t before;
};

// Read-decide-write loops of 20 processes on `keys` keys, guarded, with conflicts and unknown ends;
// some creations and deletes, a list now and then, final reads.
class LoopSource {
 public:
  LoopSource(int keys, bool intents) : intents_(intents), states_(static_cast<size_t>(keys)) {}
  History make(size_t operations) {
    HistoryBuilder builder;
    HistoryHeader header;
    header.present = true;
    header.token_orderable = true;
    header.nodes = {"n1", "n2", "n3"};
    header.raw = Value::object({{Symbol("format"), Value("assay-history")}});
    builder.set_header(header);
    std::vector<Loop> loops(20);
    for (size_t done = 0; done < operations;) {
      Loop& loop = loops[rng_.below(loops.size())];
      loop.process = {static_cast<int64_t>(&loop - loops.data())};
      if (loop.open) {
        finish(loop, builder);
      } else {
        begin(loop, builder, done > operations * 99 / 100);
        ++done;
      }
    }
    return builder.build();
  }

 private:
  struct Loop {
    Process process;
    bool open = false;
    bool knows = false;
    size_t key = 0;
    int64_t token = 0;
    int64_t intent = 0;
    Op op;
  };
  struct State {
    int64_t value = 0;
    int64_t token = 0;
  };
  void add(Op& op, HistoryBuilder& builder) {
    op.index = index_++;
    op.time = {time_ += 1000};
    (void)builder.add(op).ok();
  }
  void begin(Loop& loop, HistoryBuilder& builder, bool final) {
    if (!loop.knows) loop.key = rng_.below(states_.size());
    Op op;
    op.process = loop.process;
    op.key = names_[loop.key % names_.size()];
    op.node = nodes_[static_cast<size_t>(loop.process.id) % 3];
    op.f = loop.knows && !final ? f::write : f::read;
    if (op.f == f::write) {
      op.value = ++value_;
      op.expected = Token(loop.token);
    }
    if (op.f == f::read) ++loop.intent;
    if (final) op.extra = final_;
    else if (intents_)
      op.extra = Value::object({{Symbol("intent"), Value(loop.process.id * 1'000'000 + loop.intent)}});
    loop.op = op;
    loop.open = true;
    add(op, builder);
  }
  void finish(Loop& loop, HistoryBuilder& builder) {
    State& state = states_[loop.key];
    Op op = complete(loop.op, OpType::kOk);
    if (op.f == f::read) {
      if (state.token) op.value = state.value;
      op.revision = Token(state.token);
      loop.token = state.token;
      loop.knows = true;
    } else if (loop.token != state.token) {
      op = complete(loop.op, OpType::kFail, {conflict_, "", Token(state.token), {}});
      loop.knows = false;
    } else {
      state = {loop.op.value.as_int(), ++revision_};
      op.revision = Token(revision_);
      loop.knows = false;
    }
    op.at = Token(revision_);
    op.expected = Token();
    op.extra = Value();
    loop.open = false;
    add(op, builder);
  }

  const bool intents_;
  Rng rng_{1};
  std::vector<State> states_;
  std::vector<Symbol> names_ = [this] {
    std::vector<Symbol> names;
    for (size_t i = 0; i < states_.size(); ++i) names.emplace_back("k" + std::to_string(i));
    return names;
  }();
  const std::vector<Symbol> nodes_{Symbol("n1"), Symbol("n2"), Symbol("n3")};
  const Symbol conflict_{"conflict"};
  const Value final_ = Value::object({{Symbol("phase"), Value("final")}});
  int64_t index_ = 0, time_ = 0, value_ = 0, revision_ = 1;
};

void check_a_million(benchmark::State& state, const Checker& checker, int keys) {
  constexpr size_t kOperations = 1'000'000;
  const History history = LoopSource(keys, checker.name() == "reconcile").make(kOperations);
  size_t peak = 0;
  std::string word;
  for (auto _ : state) {
    const Peak memory;
    const Verdict verdict = checker.check(history, Budget{});
    peak = std::max(peak, memory.bytes());
    word = to_string(verdict.word());
  }
  state.SetLabel(word);
  state.counters["bytes/op"] = static_cast<double>(peak) / kOperations;
}

const int kRegistered = [] {
  for (const Checker* checker : all_checkers()) {
    for (const char* name : {"version-order", "update-chain", "conflicts", "revisions", "durable",
                             "dirty-reads", "reconcile", "unique-names", "convergence"}) {
      if (checker->name() != name) continue;
      for (int keys : {1, 1000}) {
        benchmark::RegisterBenchmark((std::string(name) + "/keys:" + std::to_string(keys)).c_str(),
                                     [checker, keys](benchmark::State& state) {
                                       check_a_million(state, *checker, keys);
                                     })
            ->Unit(benchmark::kMillisecond)
            ->MeasureProcessCPUTime()
            ->Iterations(1);
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace assay
