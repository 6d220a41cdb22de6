#include "checkers/linearizable/witness.h"

#include <algorithm>
#include <unordered_map>

namespace assay::linearizable {
namespace {

// Numbers values anew, densely.
class Renaming {
 public:
  ValueId operator()(ValueId v) {
    return ids_.try_emplace(v, static_cast<ValueId>(ids_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(ids_.size()); }
  const std::unordered_map<ValueId, ValueId>& ids() const { return ids_; }

 private:
  std::unordered_map<ValueId, ValueId> ids_;
};

class Shrinker {
 public:
  Shrinker(const Problem& full, const ShrinkLimits& limits)
      : full_(full), limits_(limits), work_left_(limits.work_max) {
    first_produced_.assign(full.values, kNoEvent);
    first_produced_[full.initial] = 0;
    for (const ProblemOp& op : full.ops) {
      if (!op.produces()) continue;
      first_produced_[op.to] = std::min(first_produced_[op.to], op.call);
    }
  }

  Core run(uint32_t event) {
    last_ = last_needed(event);
    const uint32_t start = latest_start();
    Problem window = cut(start);
    Core core{.ops = {}, .start = start, .last = last_, .minimal = true};
    weaken(window);
    core.minimal = !out_of_budget_;
    for (uint32_t op = 0; op < window.ops.size(); ++op) {
      if (!window.ops[op].optional) core.ops.push_back(window.ops[op].source);
    }
    return core;
  }

  Outcome impossible_until(uint32_t last) {
    last_ = last;
    if (latest_start() > 0) return Outcome::kInvalid;
    if (out_of_budget_) return Outcome::kUnknown;
    SearchOptions options;
    options.work_max = work_left_;
    options.exhausted = limits_.exhausted;
    return search(cut(0), options).outcome;
  }

 private:
  // The last event of the shortest prefix that is impossible. The search may have given up before,
  // knowing of a read to come.
  uint32_t last_needed(uint32_t event) {
    const auto end = static_cast<uint32_t>(full_.events.size()) - 1;
    uint32_t possible = event;  // at most
    uint32_t length = 0;
    for (;; length = 2 * length + 1) {
      last_ = std::min(end, event + length);
      if (last_ == end || is_impossible(cut(0), work_left_)) break;
      if (out_of_budget_) return end;
      possible = last_ + 1;
    }
    uint32_t impossible = last_;
    while (possible < impossible) {
      last_ = possible + (impossible - possible) / 2;
      if (is_impossible(cut(0), work_left_)) {
        impossible = last_;
      } else {
        possible = last_ + 1;
      }
    }
    return impossible;
  }

  // The latest event from which on the rest is impossible whatever the state is. That what is
  // impossible from one event on is so from each earlier one makes bisection right.
  uint32_t latest_start() {
    if (last_ == 0) return 0;
    uint32_t failing = last_ + 1;
    uint32_t length = std::min(8u, last_);
    for (;; length = std::min(2 * length, last_)) {
      const uint32_t start = last_ + 1 - length;
      if (is_impossible(cut(start), limits_.work_max_once)) break;
      if (out_of_budget_ || length == last_) return 0;
      failing = start;
    }
    uint32_t found = last_ + 1 - length;
    while (failing - found > 1) {
      const uint32_t middle = found + (failing - found) / 2;
      if (is_impossible(cut(middle), limits_.work_max_once)) {
        found = middle;
      } else {
        failing = middle;
      }
    }
    return found;
  }

  // The events from start to last_, nothing being known of the state at start unless that is 0.
  // Operations that return later need not have happened yet.
  Problem cut(uint32_t start) const {
    Problem part;
    Renaming rename;
    part.initial = rename(full_.initial);
    std::vector<std::pair<uint32_t, uint32_t>> events;  // old event, 2 * op + return
    for (const ProblemOp& op : full_.ops) {
      if (op.call > last_) break;
      if (!op.optional && op.ret < start) continue;
      const bool pending = !op.optional && op.ret > last_;
      if (pending && op.observes()) continue;
      if (op.observes() && op.call < start) continue;  // may have seen the state before
      ProblemOp copy = op;
      copy.optional |= pending;
      if (op.kind != Kind::kWrite) copy.from = rename(op.from);
      if (op.produces()) copy.to = rename(op.to);
      const auto id = static_cast<uint32_t>(part.ops.size());
      events.emplace_back(op.call, 2 * id);
      if (!copy.optional) events.emplace_back(op.ret, 2 * id + 1);
      part.ops.push_back(copy);
    }
    std::sort(events.begin(), events.end());
    for (const auto& [at, event] : events) {
      ProblemOp& op = part.ops[event / 2];
      const auto now = static_cast<uint32_t>(part.events.size());
      if (event & 1) {
        op.ret = now;
      } else {
        op.call = now;
        if (op.optional) op.ret = kNoEvent;
      }
      if (at < start) part.start = now + 1;  // of events, so many come before
      part.events.push_back(event);
    }
    part.values = rename.size();
    if (start > 0) {
      // Values that the part does not mention cannot be told apart: one more stands for them.
      part.any_state = true;
      for (const auto& [old_id, new_id] : rename.ids()) {
        if (first_produced_[old_id] < start) part.start_states.push_back(new_id);
      }
      std::sort(part.start_states.begin(), part.start_states.end());
      part.start_states.push_back(part.values++);
    }
    part.finish();
    return part;
  }

  bool is_impossible(const Problem& problem, uint64_t work_max) {
    if (work_left_ == 0 || (limits_.exhausted && limits_.exhausted())) out_of_budget_ = true;
    if (out_of_budget_) return false;
    if (first_contradiction(problem) != kNoEvent) return true;
    SearchOptions options;
    options.work_max = std::min(work_left_, work_max);
    options.exhausted = limits_.exhausted;
    const SearchResult result = search(problem, options);
    work_left_ -= std::min(work_left_, result.counters.work + 1);
    return result.outcome == Outcome::kInvalid;
  }

  void weaken(Problem& problem) {
    std::vector<uint32_t> strong;
    auto list_strong = [&] {
      strong.clear();
      for (uint32_t op = 0; op < problem.ops.size(); ++op) {
        if (!problem.ops[op].optional) strong.push_back(op);
      }
    };
    list_strong();
    for (size_t chunk = std::max<size_t>(strong.size() / 2, 1); !out_of_budget_;) {
      bool changed = false;
      for (size_t i = 0; i < strong.size() && !out_of_budget_;) {
        std::vector<uint8_t> weak(problem.ops.size());
        for (size_t j = i; j < std::min(i + chunk, strong.size()); ++j) weak[strong[j]] = 1;
        Problem weaker = weakened(problem, weak);
        if (is_impossible(weaker, limits_.work_max_once)) {
          problem = std::move(weaker);
          list_strong();
          changed = true;
        } else {
          i += chunk;
        }
      }
      if (chunk == 1 && !changed) return;
      chunk = std::max<size_t>(chunk / 2, 1);
    }
  }

  static Problem weakened(const Problem& problem, const std::vector<uint8_t>& weak) {
    Problem part;
    part.initial = problem.initial;
    part.values = problem.values;
    part.any_state = problem.any_state;
    part.start_states = problem.start_states;
    std::vector<uint32_t> ids(problem.ops.size(), kNoEvent);
    for (uint32_t i = 0; i < problem.ops.size(); ++i) {
      ProblemOp op = problem.ops[i];
      if (weak[i]) {
        if (op.observes()) continue;
        op.optional = true;
        op.ret = kNoEvent;
      }
      ids[i] = static_cast<uint32_t>(part.ops.size());
      part.ops.push_back(op);
    }
    for (uint32_t e = 0; e < problem.events.size(); ++e) {
      const uint32_t event = problem.events[e];
      const uint32_t id = ids[event / 2];
      if (id == kNoEvent) continue;
      ProblemOp& op = part.ops[id];
      if ((event & 1) && op.optional) continue;
      ((event & 1) ? op.ret : op.call) = static_cast<uint32_t>(part.events.size());
      if (e < problem.start) part.start = static_cast<uint32_t>(part.events.size()) + 1;
      part.events.push_back(2 * id + (event & 1));
    }
    part.finish();
    return part;
  }

  const Problem& full_;
  const ShrinkLimits& limits_;
  uint32_t last_ = 0;  // event; later ones are not looked at
  uint64_t work_left_;
  bool out_of_budget_ = false;
  std::vector<uint32_t> first_produced_;
};

}  // namespace

Core shrink(const Problem& problem, uint32_t event, const ShrinkLimits& limits) {
  return Shrinker(problem, limits).run(event);
}

Outcome impossible_until(const Problem& problem, uint32_t last, const ShrinkLimits& limits) {
  return Shrinker(problem, limits).impossible_until(last);
}

}  // namespace assay::linearizable
