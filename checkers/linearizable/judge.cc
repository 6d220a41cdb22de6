#include "checkers/linearizable/judge.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "checkers/linearizable/order.h"
#include "checkers/linearizable/unique.h"

namespace assay::linearizable {
namespace {

// The operations of a key one after another, without a copy of them all.
class Reader {
 public:
  Reader(const History& history, const KeyGroup& group)
      : history_(history), group_(group), reads_(judges_reads(history)) {}

  // Until fn is false.
  template <typename Fn>
  bool for_each(const Fn& fn) const {
    for (uint32_t id : group_.ids) {
      if ((reads_ || history_[id].f() != f::read) && !fn(key_op(history_[id]))) return false;
    }
    return true;
  }

 private:
  const History& history_;
  const KeyGroup& group_;
  const bool reads_;
};

struct Listed {
  const KeyHistory& key;
  template <typename Fn>
  bool for_each(const Fn& fn) const {
    return std::all_of(key.ops.begin(), key.ops.end(), fn);
  }
};

void count(const KeyOp& op, const Conventions& conventions, KeyResult& result) {
  const bool ok = op.type == OpType::kOk;
  const bool unknown = op.f != Call::kRead && op.type == OpType::kInfo;
  const bool compared = op.f == Call::kCas && op.mismatch && conventions.failed_cas_observes;
  result.events += ok || compared ? 2 : unknown ? 1 : 0;
  result.unknown += unknown;
  result.observed |= compared || (ok && op.f == Call::kCas) ||
                     (ok && op.f == Call::kRead &&
                      (conventions.null_read_is_value || op.value != Scalar{}));
}

std::vector<uint32_t> order_of(const Unique& unique, const auto& ops) {
  struct Placed {
    uint32_t rank;
    bool later;
    uint32_t op;
  };
  std::vector<Placed> placed;
  uint32_t index = 0;
  ops.for_each([&](const KeyOp& op) {
    uint32_t rank = 0;
    bool first = false;
    if (unique.place(op, rank, first)) placed.push_back({rank, !first, index});
    ++index;
    return true;
  });
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.rank, a.later, a.op) < std::tie(b.rank, b.later, b.op);
  });
  std::vector<uint32_t> order;
  for (const Placed& p : placed) order.push_back(p.op);
  return order;
}

KeyResult judge_by_search(const KeyHistory& key, const JudgeOptions& options) {
  KeyResult result;
  for (const KeyOp& op : key.ops) count(op, key.conventions, result);
  const Problem problem = prepare(key);
  SearchOptions search_options = options.search;
  search_options.want_order |= options.want_order;
  result.found = search(problem, search_options);
  result.events = problem.events.size();
  if (options.want_order && result.found.outcome == Outcome::kValid)
    result.order = linear_order(problem, result.found.placements);
  result.found.placements = {};
  return result;
}

// What is open for its failed cas, made ready to be searched along the order that explains the
// rest: what has an unknown outcome, and was seen, happened in an interval that is known; what
// nobody saw is left out.
class Mending {
 public:
  Mending(const KeyHistory& key, const Unique& unique) : whole_(key), unique_(unique) {
    key_.conventions = key.conventions;
    key_.ops.reserve(key.ops.size());
    for (uint32_t i = 0; i < key.ops.size(); ++i) take(i);
    problem_ = prepare(key_);
    lay_guide();
  }

  SearchResult search(const SearchOptions& options) const {
    return search_along(problem_, guide_, options);
  }
  std::vector<uint32_t> order(const std::vector<Placement>& placements) const {
    std::vector<uint32_t> order = linear_order(problem_, placements);
    for (uint32_t& op : order) op = source_[op];
    return order;
  }
  static bool fits(const KeyHistory& key) {  // its positions, twice as fine
    return key.ops.empty() || key.ops.back().call < kOpen / 4;
  }

 private:
  struct Step {
    uint32_t rank;
    uint32_t op;      // of the problem
    Position point;  // just after it
  };

  static Position fine(Position position) { return position == kOpen ? kOpen : 2 * position + 1; }

  void take(uint32_t i) {
    KeyOp op = whole_.ops[i];
    uint32_t rank = 0;
    Tick point = 0;
    if (op.may_produce() && op.type == OpType::kInfo && !op.is_read()) {
      if (!unique_.guide(op, rank, point)) return;
      op.type = OpType::kOk;
      op.ret = unique_.latest(op) - kFirstTick;
      op.ret = 2 * op.ret;
    } else {
      op.ret = fine(op.ret);
    }
    op.call = fine(op.call);
    key_.ops.push_back(op);
    source_.push_back(i);
  }
  void lay_guide() {
    std::vector<Step> steps;
    for (uint32_t op = 0; op < problem_.ops.size(); ++op) {
      if (!problem_.ops[op].produces()) continue;
      Step step{.rank = 0, .op = op, .point = 0};
      Tick point = 0;
      if (!unique_.guide(key_.ops[problem_.ops[op].source], step.rank, point)) continue;
      step.point = point < kFirstTick ? 0 : fine(point - kFirstTick);
      steps.push_back(step);
    }
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.rank < b.rank; });
    uint32_t event = 0;
    for (const Step& step : steps) {
      while (event < problem_.events.size() && position(event) <= step.point) ++event;
      guide_.push_back({.op = step.op, .event = event});
    }
  }
  Position position(uint32_t event) const {
    const KeyOp& op = key_.ops[problem_.ops[problem_.events[event] / 2].source];
    return problem_.events[event] & 1 ? op.ret : op.call;
  }

  const KeyHistory& whole_;
  const Unique& unique_;
  KeyHistory key_;
  std::vector<uint32_t> source_;  // of its operations, in whole_
  Problem problem_;
  std::vector<Placement> guide_;
};

// False: not decided.
template <typename Ops, typename Whole>
bool judge_unique(const Ops& ops, const Conventions& conventions, size_t operations,
                  const Whole& whole, const JudgeOptions& options, KeyResult& result) {
  using Answer = UniqueResult::Answer;
  Unique unique(conventions, operations);
  uint32_t seen = 0;
  const bool read = ops.for_each([&](const KeyOp& op) {
    if ((++seen & 0xffff) == 0 && options.search.exhausted && options.search.exhausted())
      return false;
    count(op, conventions, result);
    return unique.add(op);
  });
  UniqueResult found;
  if (read) found = unique.judge(options.want_order);
  result.suspects = std::move(found.suspects);
  result.as_writes = std::move(found.as_writes);
  result.found.event = static_cast<uint32_t>(result.events);
  result.found.stage = found.left > 0 ? Stage::kUniqueOrder : Stage::kUnique;
  switch (found.answer) {
    case Answer::kNotUnique:
      return false;
    case Answer::kValid:
      result.found.outcome = Outcome::kValid;
      if (options.want_order) result.order = order_of(unique, ops);
      return true;
    case Answer::kInvalid:
      result.found.outcome = Outcome::kInvalid;
      return true;
    case Answer::kOpen:
      break;
  }
  const KeyHistory& key = whole();
  if (!Mending::fits(key)) return false;
  const Mending mending(key, unique);
  SearchOptions search_options = options.search;
  search_options.want_order |= options.want_order;
  result.found = mending.search(search_options);
  if (result.found.outcome != Outcome::kValid) return false;
  if (options.want_order) result.order = mending.order(result.found.placements);
  result.found.placements = {};
  return true;
}

}  // namespace

KeyResult judge_key(const History& history, const KeyGroup& group, const JudgeOptions& options) {
  KeyResult result;
  std::optional<KeyHistory> key;
  auto whole = [&]() -> const KeyHistory& {
    if (!key) key = key_history(history, group);
    return *key;
  };
  if (options.unique && judge_unique(Reader(history, group), conventions_of(history, group),
                                     group.ids.size(), whole, options, result)) {
    return result;
  }
  return judge_by_search(whole(), options);
}

KeyResult judge_key(const KeyHistory& key, const JudgeOptions& options) {
  KeyResult result;
  auto whole = [&]() -> const KeyHistory& { return key; };
  if (options.unique && judge_unique(Listed{key}, key.conventions, key.ops.size(), whole, options,
                                     result)) {
    return result;
  }
  return judge_by_search(key, options);
}

}  // namespace assay::linearizable
