// Toys, for tests and benchmarks only: stores so small that a text is their state, with step
// functions of their own, written apart from the models; random histories of them; and the oracle
// that tries every order.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/rng.h"

namespace assay::linearizable {

struct ToyOp {
  char kind = 0;       // of the toy
  std::string arg;     // what the client asks
  std::string result;  // what it was answered
  OpType type = OpType::kInfo;
  Position call = 0;
  Position ret = kOpen;
};
using ToyHistory = std::vector<ToyOp>;

class Toy {
 public:
  virtual ~Toy() = default;
  virtual std::string model() const = 0;
  virtual std::string initial() const = 0;
  virtual void add_initial(const std::string& /*name*/, Value::Object&) const {}
  virtual ToyOp draw(Rng& rng) const = 0;                     // kind and arg
  virtual std::string draw_result(const ToyOp& op, Rng& rng) const = 0;  // perhaps a wrong one
  virtual bool observes(const ToyOp& op) const = 0;
  // Whether it can happen; what it answers and leads to.
  virtual bool apply(const ToyOp& op, std::string& state, std::string& result) const = 0;
  // The lines of a history.
  virtual void fill(const ToyOp& op, const std::string& name, Op& line, Value& result) const = 0;
};

// get, put, append, delete: the state is the text, "~" is null.
class KvToy : public Toy {
 public:
  std::string model() const override { return "kv"; }
  std::string initial() const override { return "~"; }
  ToyOp draw(Rng& rng) const override {
    constexpr char kKinds[] = "gggppaaad";
    ToyOp op{.kind = kKinds[rng.below(9)]};
    if (op.kind == 'p' || op.kind == 'a') op.arg = std::string(1, static_cast<char>('a' + rng.below(3)));
    return op;
  }
  std::string draw_result(const ToyOp& op, Rng& rng) const override {
    if (op.kind != 'g') return "";
    std::string text;
    for (uint64_t n = rng.below(4); n > 0; --n) text += static_cast<char>('a' + rng.below(3));
    return text.empty() ? "~" : text;
  }
  bool observes(const ToyOp& op) const override { return op.kind == 'g'; }
  bool apply(const ToyOp& op, std::string& state, std::string& result) const override {
    if (op.kind == 'g') result = state;
    if (op.kind == 'p') state = op.arg;
    if (op.kind == 'd') state = "~";
    if (op.kind == 'a') state = state == "~" ? op.arg : state + op.arg;
    return true;
  }
  void fill(const ToyOp& op, const std::string& name, Op& line, Value& result) const override {
    line.f = Symbol(op.kind == 'g'   ? "get"
                    : op.kind == 'p' ? "put"
                    : op.kind == 'a' ? "append"
                                     : "delete");
    line.key = Symbol(name);
    if (op.kind == 'p' || op.kind == 'a') line.value = Value(op.arg);
    result = op.kind == 'g' && op.result != "~" ? Value(op.result) : Value();
  }
};

// add, remove, read: the state is the elements in order.
class SetToy : public Toy {
 public:
  std::string model() const override { return "set"; }
  std::string initial() const override { return ""; }
  ToyOp draw(Rng& rng) const override {
    constexpr char kKinds[] = "rrraaam";
    ToyOp op{.kind = kKinds[rng.below(7)]};
    if (op.kind != 'r') op.arg = std::string(1, static_cast<char>('1' + rng.below(4)));
    return op;
  }
  std::string draw_result(const ToyOp& op, Rng& rng) const override {
    std::string text;
    for (char c = '1'; c <= '4' && op.kind == 'r'; ++c) {
      if (rng.chance(1, 2)) text += c;
    }
    return text;
  }
  bool observes(const ToyOp& op) const override { return op.kind == 'r'; }
  bool apply(const ToyOp& op, std::string& state, std::string& result) const override {
    if (op.kind == 'r') result = state;
    if (op.kind != 'r') std::erase(state, op.arg[0]);
    if (op.kind == 'a') state += op.arg;
    std::sort(state.begin(), state.end());
    return true;
  }
  void fill(const ToyOp& op, const std::string& name, Op& line, Value& result) const override {
    line.f = Symbol(op.kind == 'r' ? "read" : op.kind == 'a' ? "add" : "remove");
    line.key = Symbol(name);
    if (op.kind != 'r') line.value = Value(op.arg[0] - '0');
    if (op.kind != 'r') return;
    Value::Array items;
    for (char c : op.result) items.insert(items.begin(), Value(c - '0'));
    result = Value::array(std::move(items));
  }
};

// acquire, release: the state is "f"ree or "h"eld.
class MutexToy : public Toy {
 public:
  std::string model() const override { return "mutex"; }
  std::string initial() const override { return "f"; }
  ToyOp draw(Rng& rng) const override { return {.kind = rng.chance(1, 2) ? 'a' : 'r'}; }
  std::string draw_result(const ToyOp&, Rng&) const override { return ""; }
  bool observes(const ToyOp&) const override { return false; }
  bool apply(const ToyOp& op, std::string& state, std::string&) const override {
    const std::string wanted = op.kind == 'a' ? "f" : "h";
    if (state != wanted) return false;
    state = op.kind == 'a' ? "h" : "f";
    return true;
  }
  void fill(const ToyOp& op, const std::string& name, Op& line, Value&) const override {
    line.f = Symbol(op.kind == 'a' ? "acquire" : "release");
    line.key = Symbol(name);
  }
};

// txn: the state is the values of x and y; arg and result are steps such as "rx1wy2".
class MultiRegisterToy : public Toy {
 public:
  std::string model() const override { return "multi-register"; }
  std::string initial() const override { return "00"; }
  void add_initial(const std::string& name, Value::Object& initial) const override {
    for (const char* r : {"x", "y"}) initial.emplace_back(Symbol(r + name), Value(0));
  }
  ToyOp draw(Rng& rng) const override {
    ToyOp op{.kind = 't'};
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      op.arg += rng.chance(1, 2) ? 'r' : 'w';
      op.arg += rng.chance(1, 2) ? 'x' : 'y';
      op.arg += op.arg[op.arg.size() - 2] == 'r' ? '?' : static_cast<char>('0' + rng.below(3));
    }
    return op;
  }
  std::string draw_result(const ToyOp& op, Rng& rng) const override {
    std::string result = op.arg;
    for (size_t i = 0; i < result.size(); i += 3) {
      if (result[i] == 'r') result[i + 2] = static_cast<char>('0' + rng.below(3));
    }
    return result;
  }
  bool observes(const ToyOp& op) const override { return op.arg.find('w') == std::string::npos; }
  bool apply(const ToyOp& op, std::string& state, std::string& result) const override {
    result = op.arg;
    for (size_t i = 0; i < op.arg.size(); i += 3) {
      char& value = state[op.arg[i + 1] == 'y'];
      (op.arg[i] == 'r' ? result[i + 2] : value) = op.arg[i] == 'r' ? value : op.arg[i + 2];
    }
    return true;
  }
  void fill(const ToyOp& op, const std::string& name, Op& line, Value& result) const override {
    line.f = Symbol("txn");
    line.value = steps(op.arg, name);
    result = op.type == OpType::kOk ? steps(op.result, name) : Value();
  }

 private:
  static Value steps(const std::string& text, const std::string& name) {
    Value::Array all;
    for (size_t i = 0; i < text.size(); i += 3) {
      const Value value = text[i + 2] == '?' ? Value() : Value(text[i + 2] - '0');
      all.push_back(Value::array({Value(text[i] == 'r' ? "read" : "write"),
                                  Value(text[i + 1] + name), value}));
    }
    return Value::array(std::move(all));
  }
};

struct ToyOptions {
  int processes = 4;
  int operations = 10;
  int info_percent = 15;
  bool simulate = true;  // else the answers are drawn
};

// Each operation is invoked, takes effect (late, perhaps, where its outcome is unknown), returns.
inline ToyHistory draw_history(const Toy& toy, const ToyOptions& options, Rng& rng) {
  ToyHistory history;
  std::string state = toy.initial();
  Position position = 0;
  std::vector<int> open(options.processes, -1);
  std::vector<size_t> late;
  std::vector<bool> done(options.operations, false);
  int busy = 0, stuck = 0;
  auto apply = [&](ToyOp& op) { return !options.simulate || toy.apply(op, state, op.result); };
  while ((static_cast<int>(history.size()) < options.operations || busy > 0) && stuck < 200) {
    ++stuck;
    if (!late.empty() && rng.chance(1, 6)) {
      apply(history[late.back()]);
      late.pop_back();
    }
    int& mine = open[rng.below(open.size())];
    if (mine < 0) {
      if (static_cast<int>(history.size()) == options.operations) continue;
      mine = static_cast<int>(history.size());
      history.push_back(toy.draw(rng));
      history.back().call = position++;
      ++busy;
      stuck = 0;
      continue;
    }
    ToyOp& op = history[mine];
    if (!done[mine]) {
      if (rng.below(100) < static_cast<uint64_t>(options.info_percent)) {
        if (rng.chance(1, 2)) late.push_back(mine);
        mine = -1;
        --busy;
        continue;
      }
      done[mine] = apply(op);  // what does not fit waits, as for a lock
      continue;
    }
    if (!options.simulate) op.result = toy.draw_result(op, rng);
    op.type = OpType::kOk;
    op.ret = position++;
    mine = -1;
    --busy;
    stuck = 0;
  }
  return history;
}
// Wrong on purpose, perhaps: changes up to three answers, or what was asked where there are none.
inline void spoil(ToyHistory& history, const Toy& toy, Rng& rng) {
  for (uint64_t changes = rng.below(4); changes > 0 && !history.empty(); --changes) {
    ToyOp& op = history[rng.below(history.size())];
    if (toy.model() == "mutex") {
      op.kind = toy.draw(rng).kind;
    } else {
      op.result = toy.draw_result(op, rng);
    }
  }
}

// One history of several of one toy, each with keys of its own: those that end with its number.
inline History history_of(const Toy& toy, const std::vector<ToyHistory>& toys) {
  std::vector<std::pair<Position, Op>> lines;
  HistoryHeader header;
  header.model = toy.model();
  Value::Object initial;
  Position base = 0;
  for (size_t t = 0; t < toys.size(); ++t) {
    const std::string name = "k" + std::to_string(t);
    toy.add_initial(name, initial);
    const Position offset = base;
    for (const ToyOp& op : toys[t]) {
      Op line;
      Value result;
      line.process = Process{static_cast<int64_t>(lines.size())};
      toy.fill(op, name, line, result);
      lines.emplace_back(offset + op.call, line);
      base = std::max(base, offset + op.call + 1);
      if (op.ret == kOpen) continue;
      line.type = op.type;
      line.value = result;
      lines.emplace_back(offset + op.ret, line);
      base = std::max(base, offset + op.ret + 1);
    }
  }
  if (!initial.empty()) header.initial = Value::object(std::move(initial));
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  HistoryBuilder builder;
  builder.set_header(header);
  for (const auto& [position, line] : lines) {
    const auto added = builder.add(line);
    ASSAY_CHECK(added.ok(), "%s", added.ok() ? "" : added.error().message.c_str());
  }
  return builder.build();
}

// Memoised search over (set of placed operations, state); at most 24 operations.
class ToyOracle {
 public:
  bool valid(const Toy& toy, const ToyHistory& history) {
    toy_ = &toy;
    ops_.clear();
    for (const ToyOp& op : history) {
      if (op.type == OpType::kFail) continue;
      if (op.type == OpType::kInfo && toy.observes(op)) continue;
      ops_.push_back(op);
    }
    ASSAY_CHECK(ops_.size() <= 24, "%zu operations", ops_.size());
    required_ = 0;
    before_.assign(ops_.size(), 0);
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].type == OpType::kOk) required_ |= 1u << i;
      for (size_t j = 0; j < ops_.size(); ++j) {
        if (ops_[j].type == OpType::kOk && ops_[j].ret < ops_[i].call) before_[i] |= 1u << j;
      }
    }
    seen_.clear();
    return search(0, toy.initial());
  }

 private:
  bool search(uint32_t placed, const std::string& state) {
    if ((required_ & ~placed) == 0) return true;
    if (!seen_.insert(state + std::string(reinterpret_cast<const char*>(&placed), sizeof placed)).second) return false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (placed >> i & 1 || (before_[i] & ~placed) != 0) continue;
      std::string next = state, answer;
      if (!toy_->apply(ops_[i], next, answer)) continue;
      if (ops_[i].type == OpType::kOk && answer != ops_[i].result) continue;
      if (search(placed | 1u << i, next)) return true;
    }
    return false;
  }

  const Toy* toy_ = nullptr;
  ToyHistory ops_;
  uint32_t required_ = 0;
  std::vector<uint32_t> before_;
  std::unordered_set<std::string> seen_;
};

inline std::vector<std::unique_ptr<Toy>> all_toys() {
  std::vector<std::unique_ptr<Toy>> toys;
  toys.push_back(std::make_unique<MultiRegisterToy>());
  toys.push_back(std::make_unique<MutexToy>());
  toys.push_back(std::make_unique<KvToy>());
  toys.push_back(std::make_unique<SetToy>());
  return toys;
}

inline std::string to_text(const ToyHistory& history) {
  std::string text;
  for (const ToyOp& op : history) {
    text += "[" + std::to_string(op.call) + ", " +
            (op.ret == kOpen ? "open" : std::to_string(op.ret)) + "] " + op.kind + " " + op.arg +
            (op.type == OpType::kOk ? " -> " + op.result : "") + " " +
            std::string(to_string(op.type)) + "\n";
  }
  return text;
}

}  // namespace assay::linearizable
