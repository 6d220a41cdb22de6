// For the tests of workloads: a map in virtual time that serves the op vocabulary, rightly or
// wrongly, and a brute-force judge of short histories per key. Slow, and independent of the
// checkers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "workloads/gen/simulate.h"
#include "workloads/intents.h"

namespace assay {

enum class Wrong : uint8_t {
  kNothing,
  kStaleRead,  // a read gives the value before the last one
  kLostWrite,  // an acknowledged write or cas is not applied
  kBlindCas,   // a cas compares nothing
  kBlindGuard,  // a guard is not looked at
  kSameToken,   // the token of a value is always the same
};

struct SimulatedMapOptions {
  Wrong wrong = Wrong::kNothing;
  int wrong_of_1000 = 100;
  int refused_of_1000 = 40;
  int unknown_of_1000 = 30;  // a third is applied, a third later, a third never
  // A key's token is the revision of its creation with its own version, as a text, and the store has none.
  bool key_versions = false;
};

// Give serve() to SimulateOptions::effect. Waits and faults of the nemesis do nothing.
class SimulatedMap {
 public:
  SimulatedMap(SimulatedMapOptions options, Rng rng) : options_(options), rng_(rng) {}

  Op serve(const Op& op, Worker) {
    apply_what_is_late();
    if (!op.process.is_client()) return complete(op, OpType::kInfo);
    const auto drawn = static_cast<int>(rng_.below(1000));
    if (drawn < options_.refused_of_1000) {
      return complete(op, OpType::kFail, {Symbol("refused"), "", {}});
    }
    if (drawn >= options_.refused_of_1000 + options_.unknown_of_1000) return apply(op);
    const uint64_t fate = rng_.below(3);
    if (fate == 0) apply(op);
    if (fate == 1) late_.emplace_back(rng_.below(30), op);
    return complete(op, OpType::kInfo, {Symbol("timeout"), "", {}});
  }

 private:
  struct Cell {
    Value value;
    int64_t revision = 0;  // 0: absent
    int64_t created = 0;
    int64_t version = 0;
  };
  Token token_of(const Cell& cell) const {
    if (cell.revision == 0 || !options_.key_versions) return Token(cell.revision);
    return Token(Symbol(std::to_string(cell.created) + "." + std::to_string(cell.version)));
  }
  Token at() const { return options_.key_versions ? Token() : Token(revision_); }
  // The cell after a change at this revision.
  Cell next_of(const Cell& cell, Value value) const {
    const bool fresh = cell.revision == 0;
    return {std::move(value), revision_, fresh ? revision_ : cell.created, fresh ? 1 : cell.version + 1};
  }

  void apply_what_is_late() {
    for (size_t i = 0; i < late_.size();) {
      if (late_[i].first-- > 0) {
        ++i;
        continue;
      }
      apply(late_[i].second);
      late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  bool strikes(Wrong wrong) {
    return options_.wrong == wrong &&
           rng_.chance(static_cast<uint64_t>(options_.wrong_of_1000), 1000);
  }

  Op apply(const Op& op) {
    if (op.f == f::list) return list(op);
    if (op.f == f::txn) return transact(op);
    auto& [cell, before] = cells_[std::string(op.key.text())];
    if (op.f == f::read) return answer(op, strikes(Wrong::kStaleRead) ? before : cell);
    const bool blind = strikes(Wrong::kBlindCas) || strikes(Wrong::kBlindGuard);
    if (!op.expected.none() && op.expected != token_of(cell) && !blind) {
      Op failed = complete(op, OpType::kFail, {Symbol("conflict"), "", token_of(cell)});
      failed.at = at();
      return failed;
    }
    const bool compares = op.f == f::cas && op.expected.none();
    if (compares && !(op.value.as_array()[0] == cell.value) && !blind) {
      return complete(op, OpType::kFail, {Symbol("mismatch"), "", {}});
    }
    ++revision_;
    Cell next = next_of(cell, {});
    if (op.f == f::cas) next.value = op.value.as_array()[1];
    if (op.f == f::write) next.value = op.value;
    if (op.f == f::delete_) next.revision = 0;
    if (op.f == f::write && strikes(Wrong::kSameToken) && next.value.is_int()) {
      next.version = next.revision = 1'000'000 + next.value.as_int();
      next.created = 1;
    }
    Cell answered = next;
    answered.value = op.value;
    const Op done = answer(op, answered);
    if (!strikes(Wrong::kLostWrite)) {
      before = cell;
      cell = next;
    }
    return done;
  }

  Op list(const Op& op) {
    const std::string prefix(op.key.text());
    const bool stale = strikes(Wrong::kStaleRead);
    Value::Array rows;
    for (const auto& [key, cells] : cells_) {
      const Cell& cell = stale ? cells.second : cells.first;
      if (!key.starts_with(prefix) || cell.revision == 0) continue;
      rows.push_back(Value::array({Value(key), cell.value, token_of(cell).to_value()}));
    }
    Op done = complete(op, OpType::kOk);
    done.value = Value::array(std::move(rows));
    done.at = at();
    return done;
  }

  Op transact(const Op& op) {
    for (const Value& guard : op.extra["guards"].as_array()) {
      const Cell& cell = cells_[std::string(guard.as_array()[0].as_text())].first;
      if (guard.as_array()[1] == token_of(cell).to_value() || strikes(Wrong::kBlindGuard)) continue;
      Op failed = complete(op, OpType::kFail, {Symbol("conflict"), "", {}});
      failed.at = at();
      return failed;
    }
    ++revision_;
    Value::Array tokens;
    for (const Value& write : op.value.as_array()) {
      auto& [cell, before] = cells_[std::string(write.as_array()[1].as_text())];
      before = cell;
      cell = next_of(cell, write.as_array()[2]);
      tokens.push_back(Value::array({write.as_array()[1], token_of(cell).to_value()}));
    }
    Op done = complete(op, OpType::kOk);
    done.at = at();
    if (options_.key_versions) {
      done.extra = Value::object({{Symbol("revisions"), Value::array(std::move(tokens))}});
    } else {
      done.revision = Token(revision_);
    }
    return done;
  }

  Op answer(const Op& op, const Cell& cell) const {
    Op done = complete(op, OpType::kOk);
    done.value = cell.value;
    if (cell.revision > 0) done.revision = token_of(cell);
    done.at = at();
    return done;
  }

  const SimulatedMapOptions options_;
  Rng rng_;
  int64_t revision_ = 0;
  std::map<std::string, std::pair<Cell, Cell>> cells_;  // now, and before the last change
  std::vector<std::pair<uint64_t, Op>> late_;           // after so many more operations
};

// Is there an order of one key's operations, within their real-time bounds, that a cas-register
// (null at first) explains? Tries them all: for up to 64 operations that count.
class BruteForce {
 public:
  // The key's events in order.
  explicit BruteForce(const std::vector<SimulatedEvent>& events) {
    std::map<Process, size_t> open;
    for (size_t at = 0; at < events.size(); ++at) {
      const Op& op = events[at].op;
      if (op.type == OpType::kInvoke) {
        open[op.process] = items_.size();
        items_.push_back({op, op, at, SIZE_MAX});
      } else {
        Item& item = items_[open.at(op.process)];
        item.completion = op;
        if (op.type != OpType::kInfo) item.returned = at;
      }
    }
    std::erase_if(items_, [](const Item& item) { return !counts(item); });
    ASSAY_CHECK(items_.size() <= 64, "%zu operations", items_.size());
  }

  bool linearizable() { return search(0, Value()); }

 private:
  struct Item {
    Op invocation;
    Op completion;
    size_t invoked;
    size_t returned;  // SIZE_MAX: open to the end
    bool optional() const { return returned == SIZE_MAX; }
  };

  // Reads without an answer and refusals say nothing; a cas that failed because it compared does.
  static bool counts(const Item& item) {
    const OpType type = item.completion.type;
    if (type == OpType::kOk) return true;
    if (type == OpType::kFail) {
      const std::string_view why = item.completion.error->cls.text();
      return item.invocation.f == f::cas && (why == "conflict" || why == "mismatch");
    }
    return item.invocation.f != f::read;
  }

  static bool step(const Item& item, const Value& state, Value& next) {
    next = state;
    const Value& argument = item.invocation.value;
    if (item.invocation.f == f::read) return item.completion.value == state;
    if (item.invocation.f == f::write) {
      next = argument;
      return true;
    }
    const bool matches = argument.as_array()[0] == state;
    if (item.completion.type == OpType::kFail) return !matches;
    next = argument.as_array()[1];
    return matches;
  }

  bool search(uint64_t done, const Value& state) {
    size_t first_return = SIZE_MAX;  // nothing invoked after it can come before it
    bool complete = true;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (done >> i & 1 || items_[i].optional()) continue;
      complete = false;
      first_return = std::min(first_return, items_[i].returned);
    }
    if (complete) return true;
    if (!seen_.emplace(done, state.to_json()).second) return false;
    for (size_t i = 0; i < items_.size(); ++i) {
      Value next;
      if (done >> i & 1 || items_[i].invoked > first_return || !step(items_[i], state, next)) {
        continue;
      }
      if (search(done | uint64_t{1} << i, next)) return true;
    }
    return false;
  }

  std::vector<Item> items_;
  std::set<std::pair<uint64_t, std::string>> seen_;
};

// The keys of a run whose operations no order explains.
inline std::vector<std::string> keys_that_are_not_linearizable(const SimulatedRun& run) {
  std::map<std::string, std::vector<SimulatedEvent>> events;
  for (const SimulatedEvent& event : run.events) {
    if (!event.op.key.empty()) events[std::string(event.op.key.text())].push_back(event);
  }
  std::vector<std::string> found;
  for (const auto& [key, of_key] : events) {
    if (!BruteForce(of_key).linearizable()) found.push_back(key);
  }
  return found;
}

}  // namespace assay
