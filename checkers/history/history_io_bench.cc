// Reading (both readers), writing, memory per operation, and the peak of resident memory while ten
// million operations load.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"
#include "checkers/history/rng.h"

namespace assay {
namespace {

// Draws the lines of a register workload: 20 processes, 200 keys, reads, writes and cas.
class LineSource {
 public:
  // with_tokens: guarded writes as of a versioned store, with all of its tokens.
  explicit LineSource(bool with_tokens) : with_tokens_(with_tokens) {
    for (int i = 0; i < 200; ++i) keys_.emplace_back("k" + std::to_string(i));
    for (int i = 1; i <= 5; ++i) nodes_.emplace_back("n" + std::to_string(i));
    open_.resize(20);
  }

  const Op& next() {
    const auto process = static_cast<size_t>(rng_.below(open_.size()));
    Op& op = open_[process];
    if (op.type != OpType::kInvoke || op.index < 0) {
      invoke(op, static_cast<int64_t>(process));
    } else {
      complete_it(op);
    }
    op.index = index_++;
    op.time = {time_ += static_cast<int64_t>(rng_.below(20'000))};
    return op;
  }

 private:
  void invoke(Op& op, int64_t process) {
    op = Op();
    op.process = {process};
    op.key = keys_[rng_.below(keys_.size())];
    op.node = nodes_[rng_.below(nodes_.size())];
    op.f = with_tokens_ || rng_.chance(1, 3) ? f::cas : rng_.chance(1, 2) ? f::write : f::read;
    if (op.f == f::cas) op.value = Value::pair(small(), small());
    if (op.f == f::write) op.value = small();
    if (with_tokens_) op.expected = Token(index_);
  }

  void complete_it(Op& op) {
    const Op invocation = op;
    op = rng_.chance(1, 5) ? complete(invocation, OpType::kFail, {conflict_, "", Token()})
                           : complete(invocation, OpType::kOk);
    if (op.f == f::read) op.value = small();
    if (!with_tokens_) return;
    op.revision = Token(index_);
    op.at = Token(index_);
    if (op.error) op.error->current = Token(index_);
  }

  int64_t small() { return static_cast<int64_t>(rng_.below(5)); }

  bool with_tokens_;
  Rng rng_{1};
  std::vector<Symbol> keys_;
  std::vector<Symbol> nodes_;
  std::vector<Op> open_;
  Symbol conflict_{"conflict"};
  int64_t index_ = 0;
  int64_t time_ = 0;
};

std::string lines_of(int64_t count, bool with_tokens) {
  LineSource source(with_tokens);
  std::string text = header_line({});
  for (int64_t i = 0; i < count; ++i) append_line(text, source.next());
  return text;
}

constexpr int64_t kLines = 200'000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void read_lines(benchmark::State& state, bool library_only, bool with_tokens) {
  const std::string text = lines_of(kLines, with_tokens);
  size_t bytes_per_operation = 0;
  for (auto _ : state) {
    Result<History> history = parse_history(text, "bench", {.library_only = library_only});
    if (!history.ok()) return state.SkipWithError(history.error().message.c_str());
    bytes_per_operation = history->bytes_per_operation();
  }
  state.SetItemsProcessed(state.iterations() * kLines);
  state.counters["ns/line"] = benchmark::Counter(
      static_cast<double>(kLines) / 1e9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes/op"] = static_cast<double>(bytes_per_operation);
}

void BM_ReadWithScanner(benchmark::State& state) { read_lines(state, false, state.range(0) != 0); }
BENCHMARK(BM_ReadWithScanner)->ArgName("tokens")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_ReadWithLibrary(benchmark::State& state) { read_lines(state, true, state.range(0) != 0); }
BENCHMARK(BM_ReadWithLibrary)->ArgName("tokens")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// As Jepsen writes it: no keys, no nodes, no errors.
void BM_ReadEdn(benchmark::State& state) {
  LineSource source(false);
  std::string text;
  for (int64_t i = 0; i < kLines; ++i) {
    Op op = source.next();
    op.key = op.node = Symbol();
    op.error.reset();
    append_edn_line(text, op);
  }
  for (auto _ : state) {
    const Result<History> history = parse_history(text, "bench");
    if (!history.ok()) return state.SkipWithError(history.error().message.c_str());
  }
  state.SetItemsProcessed(state.iterations() * kLines);
}
BENCHMARK(BM_ReadEdn)->Unit(benchmark::kMillisecond);

// Both readers in turn, so that what else the machine does meets both.
void BM_ScannerAgainstLibrary(benchmark::State& state) {
  const std::string text = lines_of(kLines / 4, false);
  double scanner = 0;
  double library = 0;
  for (auto _ : state) {
    for (const bool library_only : {false, true}) {
      const auto start = std::chrono::steady_clock::now();
      benchmark::DoNotOptimize(parse_history(text, "bench", {.library_only = library_only}));
      (library_only ? library : scanner) += seconds_since(start);
    }
  }
  state.counters["library/scanner"] = library / scanner;
}
BENCHMARK(BM_ScannerAgainstLibrary)->Unit(benchmark::kMillisecond);

void BM_AppendLine(benchmark::State& state) {
  LineSource source(state.range(0) != 0);
  std::vector<Op> ops;
  for (int i = 0; i < 1'000; ++i) ops.push_back(source.next());
  std::string out;
  size_t i = 0;
  for (auto _ : state) {
    append_line(out, ops[i]);
    if (++i == ops.size()) {
      i = 0;
      out.clear();
    }
  }
  benchmark::DoNotOptimize(out);
}
BENCHMARK(BM_AppendLine)->ArgName("tokens")->Arg(0)->Arg(1);

void BM_WriterAdd(benchmark::State& state) {
  char path[] = "/tmp/assay-bench-XXXXXX";
  ::close(::mkstemp(path));
  LineSource source(false);
  std::vector<Op> ops;
  for (int i = 0; i < 1'000; ++i) ops.push_back(source.next());
  HistoryWriter writer;
  if (!writer.open(path, {}).ok()) return state.SkipWithError("cannot write to /tmp");
  size_t i = 0;
  int64_t written = 0;
  for (auto _ : state) {
    if (!writer.add(ops[i]).ok()) return state.SkipWithError("cannot write to /tmp");
    i = (i + 1) % ops.size();
    if (++written % 1'000'000 == 0) {  // not to fill the disk
      state.PauseTiming();
      (void)writer.close();
      (void)writer.open(path, {});
      state.ResumeTiming();
    }
  }
  (void)writer.close();
  ::unlink(path);
}
BENCHMARK(BM_WriterAdd);

void BM_InternKnown(benchmark::State& state) {
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) names.push_back("key/" + std::to_string(i));
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Symbol(names[i]));
    i = (i + 1) % names.size();
  }
}
BENCHMARK(BM_InternKnown);

// In a process of its own, which reads through a pipe what this one draws.
[[noreturn]] void load_in_child(int fd, int64_t operations) {
  const Result<History> history = read_history("/dev/fd/" + std::to_string(fd));
  const bool complete = history.ok() && history->size() >= static_cast<size_t>(operations);
  _exit(complete ? 0 : 1);
}

void write_all(int fd, std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t n = ::write(fd, left.data(), left.size());
    if (n <= 0) break;
    left.remove_prefix(static_cast<size_t>(n));
  }
  text.clear();
}

void BM_LoadTenMillionOperations(benchmark::State& state) {
  constexpr int64_t kOperations = 10'000'000;
  for (auto _ : state) {
    int ends[2];
    if (::pipe(ends) != 0) return state.SkipWithError("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[1]);
      load_in_child(ends[0], kOperations);
    }
    ::close(ends[0]);
    LineSource source(state.range(0) != 0);
    std::string text = header_line({});
    // The last completions are missing: up to 20 operations stay open.
    for (int64_t i = 0; i < 2 * kOperations; ++i) {
      append_line(text, source.next());
      if (text.size() > (1 << 16)) write_all(ends[1], text);
    }
    write_all(ends[1], text);
    ::close(ends[1]);
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    if (status != 0) return state.SkipWithError("the history did not load");
    state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
    const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    state.counters["cpu_ns/line"] = cpu * 1e9 / (2.0 * kOperations);
  }
}
BENCHMARK(BM_LoadTenMillionOperations)
    ->ArgName("tokens")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace assay
