#include "checkers/linearizable/general_witness.h"

#include <algorithm>

namespace assay::linearizable {
namespace {

constexpr size_t kStatesTold = 3;
constexpr size_t kStatesMax = 16;
constexpr uint32_t kLookBack = 1000;  // events

class GeneralShrinker {
 public:
  GeneralShrinker(const History& history, const assay::Model& model, const PartGroup& group,
                  const ShrinkLimits& limits)
      : history_(history),
        model_(model),
        group_(group),
        limits_(limits),
        work_left_(limits.work_max),
        states_(model.states()) {}

  GeneralCore run(uint32_t event) {
    const GeneralProblem full = prepare(history_, model_, group_);
    const uint32_t last = last_needed(full, event);
    GeneralCore core;
    core.last = position(full, last);
    const GeneralProblem prefix = until(core.last);
    choose_start(prefix);
    GeneralProblem window = from_event(prefix, start_);
    weaken(window);
    core.minimal = !out_of_budget_;
    for (const GeneralOp& op : window.ops) {
      op.optional ? void(++core.open) : core.ops.push_back(op.id);
    }
    if (start_ == 0) return core;
    core.start = prefix.ops[prefix.events[start_] / 2].id;
    core.start_returns = prefix.events[start_] & 1;
    for (StateId s : states_of(from_)) core.states.push_back(states_->describe(s));
    return core;
  }

 private:
  Position position(const GeneralProblem& problem, uint32_t event) const {
    const uint32_t what = problem.events[event];
    const Operation operation = history_[problem.ops[what / 2].id];
    return what & 1 ? operation.return_position() : operation.invoke_position();
  }
  GeneralProblem until(Position last) const {
    return prepare(history_, model_, group_, {.unknown = {}, .end = last + 1});
  }

  // The last event of the shortest prefix that is impossible.
  uint32_t last_needed(const GeneralProblem& full, uint32_t event) {
    const auto end = static_cast<uint32_t>(full.events.size()) - 1;
    uint32_t possible = event, impossible = end;
    for (uint32_t length = 0; !out_of_budget_; length = 2 * length + 1) {
      const uint32_t last = std::min(end, event + length);
      if (last == end) break;
      if (is_impossible(until(position(full, last)), work_left_)) {
        impossible = last;
        break;
      }
      possible = last + 1;
    }
    while (possible < impossible && !out_of_budget_) {
      const uint32_t middle = possible + (impossible - possible) / 2;
      is_impossible(until(position(full, middle)), work_left_) ? impossible = middle
                                                               : possible = middle + 1;
    }
    return impossible;
  }

  // The latest event from which on it is impossible, of few states; 0 where there is none.
  void choose_start(const GeneralProblem& prefix) {
    GeneralSearchOptions options = search_options(limits_.work_max / 5);
    options.beam = 0;
    options.general.lost_states = false;  // knows of what comes later
    options.seen = &seen_;
    const auto events = static_cast<uint32_t>(prefix.events.size());
    options.seen_from = events - std::min(events, kLookBack);
    const SearchResult found = general_search(prefix, options);
    take_work(found);
    if (found.outcome != Outcome::kInvalid) return;
    // Not in the middle of the last operation, if that can be.
    const uint32_t call = prefix.ops[prefix.events.back() / 2].call;
    for (uint32_t end : {std::min(call + 1, events), events}) {
      for (size_t most : {size_t{1}, kStatesTold, kStatesMax}) {
        if (start_before(prefix, end, most)) return;
      }
    }
  }
  bool start_before(const GeneralProblem& prefix, uint32_t end, size_t states_most) {
    for (uint32_t length = 1; length < std::min(end, kLookBack); length += 1 + length / 16) {
      if (out_of_budget_) return false;
      const uint32_t start = end - length;
      if (start >= seen_.size() || seen_[start].empty()) continue;
      if (states_of(seen_[start]).size() > states_most) continue;
      from_ = seen_[start];
      start_ = start;
      if (is_impossible(from_event(prefix, start), limits_.work_max_once)) return true;
      from_.clear();
      start_ = 0;
    }
    return false;
  }
  static std::vector<StateId> states_of(const std::vector<Standing>& standings) {
    std::vector<StateId> states;
    for (const Standing& standing : standings) states.push_back(standing.state);
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    return states;
  }

  void weaken(GeneralProblem& problem) {
    std::vector<uint32_t> strong = strong_of(problem);
    for (size_t chunk = std::max<size_t>(strong.size() / 2, 1); !out_of_budget_;) {
      bool changed = false;
      for (size_t i = 0; i < strong.size() && !out_of_budget_;) {
        std::vector<uint8_t> marks(problem.ops.size());
        for (size_t j = i; j < std::min(i + chunk, strong.size()); ++j) marks[strong[j]] = 1;
        GeneralProblem weaker = weakened(problem, marks);
        if (is_impossible(weaker, limits_.work_max_once)) {
          problem = std::move(weaker);
          strong = strong_of(problem);
          changed = true;
        } else {
          i += chunk;
        }
      }
      if (chunk == 1 && !changed) return;
      chunk = std::max<size_t>(chunk / 2, 1);
    }
  }
  static std::vector<uint32_t> strong_of(const GeneralProblem& problem) {
    std::vector<uint32_t> strong;
    for (uint32_t op = 0; op < problem.ops.size(); ++op) {
      if (!problem.ops[op].optional) strong.push_back(op);
    }
    return strong;
  }

  GeneralSearchOptions search_options(uint64_t work_max) const {
    GeneralSearchOptions options;
    options.work_max = std::min(work_left_, work_max);
    options.exhausted = limits_.exhausted;
    options.states = states_;
    options.start = from_;
    return options;
  }
  void take_work(const SearchResult& result) {
    work_left_ -= std::min(work_left_, result.counters.work + 1);
  }
  bool is_impossible(const GeneralProblem& problem, uint64_t work_max) {
    if (work_left_ == 0 || (limits_.exhausted && limits_.exhausted())) out_of_budget_ = true;
    if (out_of_budget_) return false;
    const SearchResult result = general_search(problem, search_options(work_max));
    take_work(result);
    return result.outcome == Outcome::kInvalid;
  }

  const History& history_;
  const assay::Model& model_;
  const PartGroup& group_;
  const ShrinkLimits& limits_;
  uint64_t work_left_;
  bool out_of_budget_ = false;
  std::shared_ptr<ModelStates> states_;
  std::vector<std::vector<Standing>> seen_;  // by event of the prefix
  std::vector<Standing> from_;               // how it may stand at start_
  uint32_t start_ = 0;
};

}  // namespace

GeneralCore shrink(const History& history, const assay::Model& model, const PartGroup& group,
                   uint32_t event, const ShrinkLimits& limits) {
  return GeneralShrinker(history, model, group, limits).run(event);
}

}  // namespace assay::linearizable
