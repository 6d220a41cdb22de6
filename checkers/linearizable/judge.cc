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
// nobody saw is left out, and values that nobody saw are one.
class Mending {
 public:
  template <typename Ops>
  Mending(const Ops& ops, const Conventions& conventions, const Unique& unique)
      : conventions_(conventions), unique_(unique), observed_(unique.observed()) {
    problem_.values = unique.values() + 1;
    guide_.assign(unique.values(), {.op = kNobody, .event = 0});
    uint32_t source = 0;
    ops.for_each([&](const KeyOp& op) {
      take(op, source++);
      return true;
    });
    std::vector<Position> positions;
    problem_.lay_out(&positions);
    lay_guide(positions);
  }

  SearchResult search(const SearchOptions& options) const {
    return search_along(problem_, guide_, options);
  }
  std::vector<uint32_t> order(const std::vector<Placement>& placements) const {
    return linear_order(problem_, placements);
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  // Positions, twice as fine, so that there is room before each.
  static Position fine(Position position) { return position == kOpen ? kOpen : 2 * position + 1; }
  static Position before(Tick tick) { return 2 * (tick - kFirstTick); }

  void take(const KeyOp& op, uint32_t source) {
    ProblemOp out{.call = fine(op.call), .ret = fine(op.ret), .source = source};
    if (!translate(op, out)) return;
    if (out.produces()) guide_[unique_.rank(out.to)].op = static_cast<uint32_t>(problem_.ops.size());
    if (out.produces() && !observed_[out.to]) out.to = unique_.values();
    problem_.ops.push_back(out);
  }
  bool translate(const KeyOp& op, ProblemOp& out) const {
    const bool ok = op.type == OpType::kOk;
    const bool says_nothing =
        op.f == Call::kRead && op.value == Scalar{} && !conventions_.null_read_is_value;
    if (op.is_read() || op.type == OpType::kFail) {
      const bool failed = op.f == Call::kCas && op.mismatch && conventions_.failed_cas_observes;
      out.kind = ok ? Kind::kRead : Kind::kMismatch;
      out.from = unique_.value(op.value);
      return ok ? !says_nothing : op.type == OpType::kFail && failed;
    }
    out.kind = op.f == Call::kCas ? Kind::kCas : Kind::kWrite;
    out.to = unique_.value(op.produced());
    if (op.f == Call::kCas) out.from = unique_.value(op.value);
    if (!ok && unique_.is_effective(out.to)) out.ret = before(unique_.latest(out.to));
    return unique_.is_effective(out.to);
  }
  void lay_guide(const std::vector<Position>& positions) {
    uint32_t event = 0;
    for (uint32_t rank = 0; rank < guide_.size(); ++rank) {
      if (guide_[rank].op == kNobody) continue;  // the initial value's
      const Position point = fine(unique_.point(rank) - kFirstTick);
      while (event < positions.size() && positions[event] <= point) ++event;
      guide_[rank].event = event;
    }
    std::erase_if(guide_, [](const Placement& p) { return p.op == kNobody; });
  }

  const Conventions& conventions_;
  const Unique& unique_;
  const std::vector<uint8_t> observed_;
  Problem problem_;
  std::vector<Placement> guide_;
};

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
  const Mending mending(ops, conventions, unique);
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
