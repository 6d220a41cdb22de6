#include "targets/memory.h"

#include <charconv>
#include <unordered_map>

#include "checkers/history/rng.h"

namespace assay {
namespace {

struct Settings {
  int64_t latency_us = 1000;
  int64_t unknown_percent = 0;
  int64_t stale_reads = 0;  // one in so many; 0: never
  int64_t lost_writes = 0;
  int64_t blind_cas = 0;
};

struct Version {
  Value value;
  int64_t revision = 0;  // 0: absent
};

struct Cell {
  Version now;
  Version before;  // what a stale read answers
};

class Store {
 public:
  Store(const Settings& settings, uint64_t seed)
      : settings_(settings), rng_(Rng(seed).stream("memory")) {}

  const Settings& settings() const { return settings_; }
  Rng& rng() { return rng_; }

  // Takes effect now, and gives the completion.
  Op apply(const Op& op) {
    Cell& cell = cells_[op.key];
    if (op.f == f::read) return read(op, cell);
    const bool writes = op.f == f::write;
    if (writes && op.expected.none()) return change(complete(op, OpType::kOk), cell, op.value);
    return compared(op, cell, writes ? op.value : op.value.as_array()[1]);
  }

 private:
  bool strikes(int64_t one_in) {
    return one_in > 0 && rng_.chance(1, static_cast<uint64_t>(one_in));
  }

  Op answer(Op op, int64_t revision) const {
    op.revision = Token(revision);
    op.at = Token(revision_);
    return op;
  }

  Op read(const Op& op, const Cell& cell) {
    const Version& version = strikes(settings_.stale_reads) ? cell.before : cell.now;
    Op done = complete(op, OpType::kOk);
    done.value = version.value;
    return answer(std::move(done), version.revision);
  }

  Op change(Op done, Cell& cell, const Value& value) {
    ++revision_;
    if (strikes(settings_.lost_writes)) return answer(std::move(done), revision_);
    cell.before = std::move(cell.now);
    cell.now = {value, revision_};
    return answer(std::move(done), revision_);
  }

  // A change that is made only where the guard, or else the old value of a cas, is the key's.
  Op compared(const Op& op, Cell& cell, const Value& next) {
    const bool guarded = !op.expected.none();
    const bool matches = guarded ? op.expected == Token(cell.now.revision)
                                 : cell.now.value == op.value.as_array()[0];
    if (matches || (op.f == f::cas && strikes(settings_.blind_cas))) {
      return change(complete(op, OpType::kOk), cell, next);
    }
    const Token current(cell.now.revision);
    Op done = complete(op, OpType::kFail,
                       guarded ? OpError{Symbol("conflict"), "the key has changed", current}
                               : OpError{Symbol("mismatch"), "the value is another", current});
    done.at = Token(revision_);
    return done;
  }

  Settings settings_;
  Rng rng_;
  int64_t revision_ = 0;
  std::unordered_map<Symbol, Cell> cells_;
};

class MemoryClient : public Client {
 public:
  MemoryClient(Loop& loop, std::shared_ptr<Store> store) : loop_(loop), store_(std::move(store)) {}

  void invoke(const Op& op, std::function<void(Op)> done) override {
    const Settings& settings = store_->settings();
    if (settings.latency_us == 0 && settings.unknown_percent == 0) {
      loop_.post(
          [done = std::move(done), op = store_->apply(op)]() mutable { done(std::move(op)); });
      return;
    }
    const Nanos effect = loop_.now() + part_of_latency();
    const Nanos answer = effect + part_of_latency();
    if (store_->rng().chance(settings.unknown_percent, 100)) return lose(op, effect, answer, done);
    loop_.at(effect, [this, op, answer, done = std::move(done), store = store_, &loop = loop_] {
      loop.at(answer, [done, op = store->apply(op)] { done(op); });
    });
  }

 private:
  Nanos part_of_latency() {
    return microseconds(store_->rng().between(0, store_->settings().latency_us));
  }

  // The answer is lost; half of these take effect, some of them long afterwards.
  void lose(const Op& op, Nanos effect, Nanos answer, std::function<void(Op)> done) {
    if (store_->rng().chance(1, 2)) {
      loop_.at(effect + milliseconds(store_->rng().between(0, 50)),
               [store = store_, op] { store->apply(op); });
    }
    loop_.at(answer, [done = std::move(done), op] {
      done(complete(op, OpType::kInfo, {Symbol("unknown"), "the answer was lost", {}}));
    });
  }

  Loop& loop_;
  std::shared_ptr<Store> store_;
};

class MemoryTarget : public Target {
 public:
  MemoryTarget(const Settings& settings, uint64_t seed)
      : store_(std::make_shared<Store>(settings, seed)) {}

  std::string_view name() const override { return "memory"; }
  Claims claims() const override { return {.durable = "none"}; }
  std::vector<Symbol> ops() const override { return {f::read, f::write, f::cas}; }
  bool has_daemons() const override { return false; }
  Result<DaemonSpec> daemon(const Layout&, const NodeInfo&) const override {
    return environment_error("the target memory has no daemon");
  }
  std::vector<std::string> binaries(const Layout&) const override { return {}; }
  void open_client(Loop& loop, const NodeInfo&, Callback<std::unique_ptr<Client>> done) override {
    loop.post([&loop, store = store_, done = std::move(done)] {
      done(std::unique_ptr<Client>(std::make_unique<MemoryClient>(loop, store)));
    });
  }
  void status(Loop& loop, const NodeInfo&, Callback<Value> done) override {
    loop.post([done = std::move(done)] { done(environment_error("no nodes")); });
  }
  void chain(Loop& loop, const NodeInfo&, int64_t, Callback<Value> done) override {
    loop.post([done = std::move(done)] { done(Value()); });
  }
  std::string_view log_finding(std::string_view) const override { return ""; }

 private:
  std::shared_ptr<Store> store_;
};

Result<int64_t> whole_number(const std::string& name, const std::string& text, int64_t max) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > max) {
    return input_error("memory." + name + ": expected a whole number from 0 to " +
                       std::to_string(max) + ", found \"" + text + "\"");
  }
  return number;
}

Result<std::unique_ptr<Target>> make(const TargetInfo::Settings& given, uint64_t seed) {
  Settings settings;
  const struct {
    const char* name;
    int64_t& field;
    int64_t max;
  } fields[] = {
      {"latency-us", settings.latency_us, 10'000'000},
      {"unknown-percent", settings.unknown_percent, 100},
      {"stale-reads", settings.stale_reads, INT32_MAX},
      {"lost-writes", settings.lost_writes, INT32_MAX},
      {"blind-cas", settings.blind_cas, INT32_MAX},
  };
  for (const auto& [name, text] : given) {
    for (const auto& field : fields) {
      if (name != field.name) continue;
      auto number = whole_number(name, text, field.max);
      if (!number) return number.error();
      field.field = *number;
    }
  }
  return std::unique_ptr<Target>(std::make_unique<MemoryTarget>(settings, seed));
}

}  // namespace

TargetInfo memory_target() {
  return {.name = "memory",
          .summary = "a linearizable map inside the driver: the harness's self-test",
          .options =
              {
                  {"latency-us", "1000", "an operation takes up to twice this, in microseconds"},
                  {"unknown-percent", "0", "so many operations in 100 lose their answer"},
                  {"stale-reads", "0", "one read in N answers the value before the last", true},
                  {"lost-writes", "0", "one accepted change in N is forgotten", true},
                  {"blind-cas", "0", "one failing cas in N is applied all the same", true},
              },
          .make = make};
}

}  // namespace assay
