#include "checkers/linearizable/judge.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "checkers/linearizable/mending.h"
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

// Adds up without branches: what comes next in a history is hard to foretell.
void count(const KeyOp& op, const Conventions& conventions, KeyResult& result) {
  const bool ok = op.type == OpType::kOk;
  const bool unknown = (op.f != Call::kRead) & (op.type == OpType::kInfo);
  const bool compared = (op.f == Call::kCas) & op.mismatch & conventions.failed_cas_observes;
  result.events += 2 * size_t{ok || compared} + unknown;
  result.unknown += unknown;
  if (result.observed) return;
  result.observed =
      compared || (ok && op.f == Call::kCas) ||
      (ok && op.f == Call::kRead && (conventions.null_read_is_value || op.value != Scalar{}));
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

// False: not decided.
template <typename Ops>
bool judge_unique(const Ops& ops, const Conventions& conventions, size_t operations,
                  const JudgeOptions& options, KeyResult& result) {
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
  if (unique.last() > kOpen / 4) return false;
  result.found = mend(unique, options.search);
  if (result.found.outcome != Outcome::kValid) return false;
  result.found.event = static_cast<uint32_t>(result.events);
  if (options.want_order) result.order = order_of(unique, ops);
  return true;
}

}  // namespace

KeyResult judge_key(const History& history, const KeyGroup& group, const JudgeOptions& options) {
  KeyResult result;
  if (options.unique && judge_unique(Reader(history, group), conventions_of(history, group),
                                     group.ids.size(), options, result)) {
    return result;
  }
  return judge_by_search(key_history(history, group), options);
}

KeyResult judge_key(const KeyHistory& key, const JudgeOptions& options) {
  KeyResult result;
  if (options.unique &&
      judge_unique(Listed{key}, key.conventions, key.ops.size(), options, result)) {
    return result;
  }
  return judge_by_search(key, options);
}

}  // namespace assay::linearizable
