// A million operations on each checker but `linearizable`, of the kind that it judges: time on one
// core, and memory beyond that of the history.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "checkers/history/rng.h"
#include "checkers/history/vocabulary.h"
#include "checkers/history/watch_value.h"
#include "checkers/registry.h"

namespace assay::bench_versions {
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

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value::Object all;
  for (const auto& [name, value] : members) all.emplace_back(Symbol(name), value);
  return Value::object(std::move(all));
}
Value number(Token token) { return token.is_number() ? Value(token.number()) : Value(0); }

// A versioned store, in one place and without faults.
class Store {
 public:
  struct State {
    Value value;
    int64_t token = 0;  // 0: absent
  };
  Op answer(const Op& asked) {
    Op done = complete(asked, OpType::kOk);
    done.extra = Value();
    done.expected = Token();
    if (asked.f == f::read) read(done);
    if (asked.f == f::list) list(done);
    if (asked.f == f::watch) watch(done);
    if (asked.f == f::write || asked.f == f::delete_) {
      const int64_t token = states_[asked.key.text()].token;
      if (asked.expected.is_number() && asked.expected.number() != token)
        done = refused(asked, Token(token));
      else
        change(asked, done);
    }
    if (asked.f == f::txn) done = transact(asked, done);
    done.at = Token(revision_);
    return done;
  }

 private:
  static Op refused(const Op& asked, Token current) {
    static const Symbol conflict("conflict");
    Op done = complete(asked, OpType::kFail, {conflict, "", current, {}});
    done.extra = Value();
    done.expected = Token();
    return done;
  }
  void read(Op& done) {
    const State& state = states_[done.key.text()];
    done.value = state.value;
    done.revision = Token(state.token);
  }
  void list(Op& done) {
    Value::Array rows;
    for (auto at = states_.lower_bound(done.key.text());
         at != states_.end() && at->first.starts_with(done.key.text()); ++at) {
      if (at->second.token > 0)
        rows.push_back(Value::array({at->first, at->second.value, at->second.token}));
    }
    done.value = Value::array(std::move(rows));
  }
  void put(Symbol key, const Value& value, int64_t revision) {
    State& state = states_[key.text()];
    told_.push_back({.revision = revision, .key = key, .deleted = value.is_null(), .value = value,
                     .before = WatchedEvent::Before{state.token, state.value}});
    state = {value, value.is_null() ? 0 : revision};
  }
  void change(const Op& asked, Op& done) {
    const bool deletes = asked.f == f::delete_;
    const bool there = states_[asked.key.text()].token > 0;
    if (!deletes || there) put(asked.key, deletes ? Value() : asked.value, ++revision_);
    done.revision = Token(deletes ? 0 : revision_);
    if (deletes && there) done.extra = object({{"deleted", 1}});
  }
  Op transact(const Op& asked, Op done) {
    for (const Value& guard : asked.extra["guards"].as_array()) {
      if (states_[guard.as_array()[0].as_text()].token != guard.as_array()[1].as_int())
        return refused(asked, Token());
    }
    ++revision_;
    for (const Value& step : asked.value.as_array())
      put(step.as_array()[1].as_symbol(), step.as_array()[2], revision_);
    done.revision = Token(revision_);
    return done;
  }
  void watch(Op& done) {
    const auto wish = watch_wish(done.value);
    WatchSeen seen;
    seen.next = wish->from;
    auto at = std::lower_bound(told_.begin(), told_.end(), wish->from,
                               [](const auto& e, int64_t revision) { return e.revision < revision; });
    for (; at != told_.end() && seen.events.size() < 100; ++at) {
      seen.next = at->revision + 1;
      seen.events.push_back(*at);
    }
    done.value = to_value(seen);
  }

  std::map<std::string_view, State> states_;
  std::vector<WatchedEvent> told_;
  int64_t revision_ = 1;
};

struct Client {
  size_t number;  // of the worker; its process is another after an unknown end
  int64_t process;
  Symbol node;
  bool open = false;
  Op op;     // asked
  Op last;   // answered
  int64_t stage = 0, count = 0;
  size_t of = 0;  // the key, lock, bank … that it works at
  Token held;     // of the lock
  Value seen;
};

// What the clients ask for.
class Load {
 public:
  explicit Load(size_t keys) : keys_(keys) {}
  virtual ~Load() = default;
  virtual Value header() const { return object({}); }
  virtual std::string workload() const { return ""; }
  virtual void next(Client& client, bool final, Op& op) = 0;

 protected:
  void choose(Client& client) { client.of = rng_.below(keys_); }
  Symbol name(const std::string& prefix, const Client& client, const std::string& suffix = "") {
    return Symbol(prefix + std::to_string(client.of) + suffix);
  }
  size_t keys_;
  Rng rng_{2};
  int64_t value_ = 0;
};

// Read-decide-write loops, guarded; a delete now and then.
class Loops : public Load {
 public:
  using Load::Load;
  void next(Client& client, bool final, Op& op) override {
    const bool knows = client.last.f == f::read && client.last.type == OpType::kOk && !final;
    if (!knows) choose(client), ++client.count;
    op.key = name("k", client);
    op.f = !knows ? f::read : rng_.chance(1, 200) ? f::delete_ : f::write;
    if (op.f == f::write) op.value = ++value_;
    if (knows) op.expected = client.last.revision;
    op.extra = final ? object({{"phase", "final"}})
                     : object({{"intent", client.process * 1'000'000 + client.count},
                               {"gives_up", true}});
  }
};
class StaleReads : public Loops {
 public:
  using Loops::Loops;
  Value header() const override { return object({{"claims", object({{"read", "stale"}})}}); }
};

class Fields : public Load {
 public:
  using Load::Load;
  void next(Client& client, bool, Op& op) override {
    static const std::vector<Symbol> fields{Symbol("replicas"), Symbol("image"), Symbol("owner")};
    const bool knows = client.last.f == f::read && client.last.type == OpType::kOk;
    if (!knows) choose(client);
    op.key = name("o", client);
    op.f = knows ? f::write : f::read;
    if (!knows) return;
    const Symbol own = fields[client.number % fields.size()];
    Value::Object members;
    for (Symbol field : fields)
      members.emplace_back(field, field == own ? Value(++value_) : client.last.value[field.text()]);
    op.value = Value::object(std::move(members));
    op.expected = client.last.revision;
    op.extra = object({{"sets", own}});
  }
};

class Locks : public Load {
 public:
  using Load::Load;
  void next(Client& client, bool, Op& op) override {
    if (client.last.type != OpType::kOk) client.stage = 0;  // refused, or it is somebody else now
    const Value& record = client.last.value;
    if (client.stage == 1) {  // has read the lock
      const bool mine_to_take = record["holder"].is_null() || ++client.count > 50;
      if (!mine_to_take) client.stage = 0;
    }
    const Value holder("p" + std::to_string(client.process));
    switch (client.stage++) {
      case 0:
        choose(client);
        op.f = f::read, op.key = name("lock", client);
        return;
      case 1:
        client.count = 0;
        client.seen = record["fence"].is_int() ? record["fence"].as_int() + 1 : 1;
        return put(client, op, holder, client.last.revision);
      case 2:
        client.held = client.last.revision;
        op.f = f::read, op.key = name("data", client);
        return;
      case 3:
        op.f = f::write, op.key = name("data", client), op.value = ++value_;
        op.expected = client.last.revision;
        op.extra = object({{"fence", client.seen}});
        return;
      default:
        client.stage = 0;
        return put(client, op, Value(), client.held);
    }
  }

 private:
  void put(const Client& client, Op& op, const Value& holder, Token expected) {
    op.f = f::write, op.key = name("lock", client);
    op.value = object({{"holder", holder}, {"fence", client.seen}, {"ttl_ms", 1000}});
    op.expected = expected;
  }
};

class Accounts : public Load {
 public:
  using Load::Load;
  Value header() const override { return object({{"total", 0}}); }
  void next(Client& client, bool, Op& op) override {
    if (client.last.f != f::list || client.last.type != OpType::kOk) {
      choose(client);
      op.f = f::list, op.key = name("bank", client, "/");
      return;
    }
    op.f = f::txn;
    Value::Array steps, guards;
    const int64_t amount = static_cast<int64_t>(1 + rng_.below(5));
    const size_t from = rng_.below(8), to = (from + 1 + rng_.below(7)) % 8;
    for (const auto& [account, change] : {std::pair(from, -amount), std::pair(to, amount)}) {
      const Value key(name("bank", client, "/" + std::to_string(account)));
      int64_t balance = 0, token = 0;
      for (const Value& row : client.last.value.as_array())
        if (row.as_array()[0] == key)
          balance = row.as_array()[1].as_int(), token = row.as_array()[2].as_int();
      steps.push_back(Value::array({"w", key, balance + change}));
      guards.push_back(Value::pair(key, token));
    }
    op.value = Value::array(std::move(steps));
    op.extra = object({{"guards", Value::array(std::move(guards))}});
  }
};

// Names that are taken and given back.
class Names : public Load {
 public:
  using Load::Load;
  void next(Client& client, bool, Op& op) override {
    const bool mine = client.last.f == f::write && client.last.type == OpType::kOk;
    if (!mine) choose(client);
    op.key = name("name", client);
    op.f = mine ? f::delete_ : f::write;
    op.expected = mine ? client.last.revision : Token(int64_t{0});
    if (!mine) op.value = ++value_;
  }
};

class Controllers : public Load {
 public:
  using Load::Load;
  std::string workload() const override { return "controller"; }
  void next(Client& client, bool, Op& op) override {
    if (client.last.f == f::list && client.last.type == OpType::kOk) {
      int64_t objects = 0, wanted = 0;
      for (const Value& row : client.last.value.as_array()) {
        if (row.as_array()[0].as_text().ends_with("wanted")) wanted = row.as_array()[1].as_int();
        else ++objects;
      }
      if (rng_.chance(1, 10)) {
        op.f = f::write, op.key = name("c", client, "/wanted");
        op.value = std::min<int64_t>(10, wanted + rng_.chance(1, 50));
        return;
      }
      if (objects < wanted) {
        op.f = f::write, op.key = name("c", client, "/object/" + std::to_string(objects));
        op.value = ++value_;
        op.expected = Token(int64_t{0});
        return;
      }
    }
    choose(client);
    op.f = f::list, op.key = name("c", client, "/");
  }
};

// Writes, and one of the clients watches all of them.
class Watches : public Load {
 public:
  using Load::Load;
  void next(Client& client, bool, Op& op) override {
    if (client.number == 0) {
      if (client.last.type == OpType::kOk) client.count = watch_next(client.last.value);
      op.f = f::watch, op.key = Symbol("k");
      op.value = to_value(WatchWish{.prefix = op.key, .from = std::max<int64_t>(client.count, 1),
                                    .span = seconds(1)});
      op.extra = object({{"session", "s"}});
      return;
    }
    choose(client);
    op.f = rng_.chance(1, 20) ? f::delete_ : f::write, op.key = name("k", client);
    if (op.f == f::write) op.value = ++value_;
  }
};

// The history of a run: 20 workers on three nodes, of which one is cut off now and then, while an
// observer asks them all how they are.
class Run {
 public:
  explicit Run(Load& load) : load_(load) {
    for (size_t i = 0; i < 20; ++i)
      clients_.push_back({.number = i, .process = static_cast<int64_t>(i), .node = nodes_[i % 3]});
  }
  History make(size_t operations) {
    HistoryHeader header;
    header.present = true;
    header.token_orderable = true;
    header.nodes = {"n1", "n2", "n3"};
    header.faults = {"partition"};
    header.workload = load_.workload();
    header.raw = load_.header();
    builder_.set_header(header);
    for (size_t done = 0; done < operations;) {
      Client& client = clients_[rng_.below(clients_.size())];
      if (client.open) {
        finish(client);
        continue;
      }
      begin(client, done > operations * 99 / 100);
      ++done;
      if (done % 20 == 0) observe();
      if (done % 10'000 == 2'000) cut(true);
      if (done % 10'000 == 7'000) cut(false);
    }
    return builder_.build();
  }

 private:
  void add(Op op) {
    op.index = index_++;
    op.time = {time_ += 1'000'000};
    (void)builder_.add(op).ok();
  }
  void begin(Client& client, bool final) {
    Op op;
    op.process = {client.process};
    op.node = client.node;
    load_.next(client, final, op);
    client.op = op;
    client.open = true;
    add(op);
  }
  void finish(Client& client) {
    static const Symbol timeout("timeout");
    client.open = false;
    const bool lost = rng_.chance(1, 1000);
    if (!lost && !(cut_ && client.node == nodes_[0])) {
      client.last = store_.answer(client.op);
    } else {
      if (lost) (void)store_.answer(client.op);
      client.last = complete(client.op, OpType::kInfo, {timeout, "", {}, {}});
      client.process += static_cast<int64_t>(clients_.size());
    }
    add(client.last);
  }
  void cut(bool begins) {
    cut_ = begins;
    Op op;
    op.process = kNemesis;
    op.type = OpType::kInfo;
    op.f = begins ? start_of("partition") : stop_of("partition");
    op.value = object({{"shape", "one"}});
    add(op);
    const auto link = [&](int a, int b) { return Value::pair(nodes_[a], nodes_[b]); };
    op.value = begins ? object({{"victims", Value::array({nodes_[0]})},
                                {"cut", Value::array({link(0, 1), link(1, 0), link(0, 2), link(2, 0)})},
                                {"installed", true},
                                {"bit", true}})
                      : object({{"healed", true}});
    add(op);
  }
  void observe() {
    Op op;
    op.process = kObserver;
    op.type = OpType::kInfo;
    op.f = f::status;
    const Symbol node = nodes_[static_cast<size_t>(samples_ % 3)];
    const int64_t applied = samples_++ / 3;
    op.value = object({{"node", node},
                       {"role", node == nodes_[1] ? "leader" : "follower"},
                       {"term", 1},
                       {"leader", nodes_[1]},
                       {"applied", applied},
                       {"chain", "c" + std::to_string(applied)}});
    add(op);
  }

  Load& load_;
  Store store_;
  Rng rng_{1};
  const std::vector<Symbol> nodes_{Symbol("n1"), Symbol("n2"), Symbol("n3")};
  std::vector<Client> clients_;
  HistoryBuilder builder_;
  bool cut_ = false;
  int64_t index_ = 0, time_ = 0, samples_ = 0;
};

std::unique_ptr<Load> load_of(std::string_view checker, size_t keys) {
  if (checker == "snapshot-reads") return std::make_unique<StaleReads>(keys);
  if (checker == "field-ownership") return std::make_unique<Fields>(keys);
  if (checker == "lock") return std::make_unique<Locks>(keys);
  if (checker == "bank") return std::make_unique<Accounts>(keys);
  if (checker == "unique-names") return std::make_unique<Names>(keys);
  if (checker == "object-count") return std::make_unique<Controllers>(keys);
  if (checker == "watch") return std::make_unique<Watches>(keys);
  return std::make_unique<Loops>(keys);
}

void check_a_million(benchmark::State& state, const Checker& checker, size_t keys) {
  constexpr size_t kOperations = 1'000'000;
  const auto load = load_of(checker.name(), keys);
  const History history = Run(*load).make(kOperations);
  if (!checker.applies(history) || !checker.accepts(history)) return state.SkipWithError("not judged");
  size_t peak = 0;
  Verdict verdict;
  for (auto _ : state) {
    const Peak memory;
    verdict = checker.check(history, Budget{});
    peak = std::max(peak, memory.bytes());
  }
  state.SetLabel(std::string(to_string(verdict.word())) + ": " + verdict.reason);
  state.counters["bytes/op"] = static_cast<double>(peak) / kOperations;
}

// What the others may be compared with: a million numbers, sorted.
void sort_a_million(benchmark::State& state) {
  Rng rng(1);
  std::vector<uint64_t> numbers(1'000'000);
  for (uint64_t& number : numbers) number = rng.next();
  for (auto _ : state) {
    std::sort(numbers.begin(), numbers.end());
    benchmark::DoNotOptimize(numbers.data());
  }
}
BENCHMARK(sort_a_million)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->Iterations(1);

const int kRegistered = [] {
  for (const Checker* checker : all_checkers()) {
    if (checker->name() == "linearizable") continue;
    for (size_t keys : {1, 1000}) {
      benchmark::RegisterBenchmark(
          (std::string(checker->name()) + "/keys:" + std::to_string(keys)).c_str(),
          [checker, keys](benchmark::State& state) { check_a_million(state, *checker, keys); })
          ->Unit(benchmark::kMillisecond)
          ->MeasureProcessCPUTime()
          ->Iterations(1);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace assay::bench_versions
