#include "targets/memory.h"

#include <algorithm>
#include <charconv>

#include "checkers/history/vocabulary.h"
#include "targets/memory_store.h"

namespace assay {
namespace {

using Settings = MemorySettings;
using Store = MemoryStore;

constexpr Nanos kWatchLook = milliseconds(20);  // how often a watch looks at the log

class MemoryClient : public Client {
 public:
  MemoryClient(Loop& loop, std::shared_ptr<Store> store) : loop_(loop), store_(std::move(store)) {}

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (op.f == f::watch) return watch(op, std::move(done));
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
  void watch(const Op& op, std::function<void(Op)> done) {
    const auto wish = watch_wish(op.value);
    ASSAY_CHECK(wish, "a watch of %s", op.value.to_json().c_str());
    look(loop_, store_, std::make_shared<MemoryWatch>(store_->begin_watch(*wish)),
         loop_.now() + wish->span, op, std::move(done));
  }
  static void look(Loop& loop, std::shared_ptr<Store> store, std::shared_ptr<MemoryWatch> watch,
                   Nanos end, const Op& op, std::function<void(Op)> done) {
    const Nanos next = std::min(end, loop.now() + kWatchLook);
    loop.at(next, [&loop, store, watch, end, op, done = std::move(done)]() mutable {
      store->follow(*watch);
      if (!watch->over && loop.now() < end)
        return look(loop, std::move(store), std::move(watch), end, op, std::move(done));
      Op completed = complete(op, OpType::kOk);
      completed.value = to_value(watch->seen);
      done(std::move(completed));
    });
  }

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
  Claims claims() const override { return {.watch = true, .durable = "none"}; }
  std::vector<Symbol> ops() const override {
    return {f::read,        f::write, f::cas,   f::delete_,
            f::list,        f::txn,   f::watch, f::compact};
  }
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
      {"watch-from-now", settings.watch_from_now, INT32_MAX},
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
                  {"watch-from-now", "0",
                   "one watch in N begins with the next change, whatever its start", true},
              },
          .make = make};
}

}  // namespace assay
