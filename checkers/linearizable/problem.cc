#include "checkers/linearizable/problem.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace assay::linearizable {
namespace {

// How often each value is produced by operations that may take effect; the initial value counts
// as produced once.
std::vector<uint32_t> count_producers(const KeyHistory& history, Interner& values) {
  std::vector<uint32_t> producers(values.size());
  auto count = [&](const Scalar& scalar) {
    const ValueId v = values.id(scalar);
    if (v >= producers.size()) producers.resize(v + 1);
    ++producers[v];
  };
  count(history.conventions.initial);
  for (const KeyOp& op : history.ops) {
    if (op.may_produce()) count(op.produced());
  }
  return producers;
}

bool any_guarded(const KeyHistory& history) {
  return std::any_of(history.ops.begin(), history.ops.end(),
                     [](const KeyOp& op) { return op.guarded; });
}

// The table above. False: dropped.
bool translate(const KeyOp& op, const Conventions& conventions, Interner& values,
               const std::vector<uint32_t>& producers, ProblemOp& out) {
  const bool ok = op.type == OpType::kOk;
  if (op.f == Call::kRead) {
    if (!ok || (op.value == Scalar{} && !conventions.null_read_is_value)) return false;
    out.kind = Kind::kRead;
    out.from = values.id(op.value);
    return true;
  }
  const bool failed = op.type == OpType::kFail;
  out.optional = !ok && !failed;
  if (op.f == Call::kWrite) {
    if (failed) return false;
    out.kind = Kind::kWrite;
    out.to = values.id(op.value);
    return true;
  }
  out.from = values.id(op.value);
  if (failed) {
    out.kind = Kind::kMismatch;
    if (!conventions.failed_cas_observes || !op.mismatch) return false;
    return !op.guarded || out.from >= producers.size() || producers[out.from] <= 1;
  }
  const ValueId to = values.id(op.next);
  out.kind = out.from == to ? Kind::kRead : Kind::kCas;
  out.to = out.from == to ? 0 : to;
  return ok || out.from != to;
}

void drop_unobserved(Problem& problem) {
  std::vector<ProblemOp>& ops = problem.ops;
  std::vector<uint32_t> observers(problem.values);
  bool mismatches = false, optional = false;
  for (const ProblemOp& op : ops) {
    if (op.kind != Kind::kWrite) ++observers[op.from];
    mismatches |= op.kind == Kind::kMismatch;
    optional |= op.optional;
  }
  // An optional operation whose value nobody observes could as well not have happened, unless it
  // is why a comparison failed. Without it, what it expected may be unobserved too.
  while (optional && !mismatches) {
    const size_t before = ops.size();
    std::erase_if(ops, [&](const ProblemOp& op) {
      if (!op.optional || observers[op.to] > 0) return false;
      if (op.kind == Kind::kCas) --observers[op.from];
      return true;
    });
    if (ops.size() == before) break;
  }
  // All other values nobody can tell apart.
  std::vector<ValueId> renamed(problem.values);
  uint32_t next = 0;
  bool any_unobserved = false;
  for (ValueId v = 0; v < problem.values; ++v) {
    if (observers[v] > 0) renamed[v] = next++;
    any_unobserved |= observers[v] == 0;
  }
  for (ValueId v = 0; v < problem.values; ++v) {
    if (observers[v] == 0) renamed[v] = next;
  }
  problem.values = std::max(next + (any_unobserved ? 1 : 0), 1u);
  if (!any_unobserved) return;
  problem.initial = renamed[problem.initial];
  for (ProblemOp& op : ops) {
    op.from = op.kind == Kind::kWrite ? 0 : renamed[op.from];
    op.to = op.observes() ? 0 : renamed[op.to];
  }
}

// The returns in order of their positions: by a table where they are dense.
class Returns {
 public:
  explicit Returns(const std::vector<ProblemOp>& ops) {
    Position first = kOpen, last = 0;
    size_t count = 0;
    for (const ProblemOp& op : ops) {
      if (op.optional) continue;
      first = std::min(first, op.ret);
      last = std::max(last, op.ret);
      ++count;
    }
    first_ = first;
    if (count > 0 && (last - first) / 8 <= count) at_.assign(size_t{last} - first + 1, kNoEvent);
    for (uint32_t op = 0; op < ops.size(); ++op) {
      if (ops[op].optional) continue;
      if (!at_.empty() && at_[ops[op].ret - first_] == kNoEvent) {
        at_[ops[op].ret - first_] = op;
      } else {
        listed_.emplace_back(ops[op].ret, op);
      }
    }
    std::sort(listed_.begin(), listed_.end());
  }
  // Those before a position, one after another, beginning where the last call ended.
  template <typename Fn>
  void until(Position end, const Fn& fn) {
    const size_t stop = end < first_ ? 0 : std::min(at_.size(), size_t{end} - first_);
    while (next_listed_ < listed_.size() && listed_[next_listed_].first < end) {
      const auto [position, op] = listed_[next_listed_++];
      table_until(std::min(stop, size_t{position} - first_), fn);
      fn(op);
    }
    table_until(stop, fn);
  }

 private:
  template <typename Fn>
  void table_until(size_t stop, const Fn& fn) {
    for (; next_ < stop; ++next_) {
      if (at_[next_] != kNoEvent) fn(at_[next_]);
    }
  }

  Position first_ = 0;
  std::vector<uint32_t> at_;
  std::vector<std::pair<Position, uint32_t>> listed_;
  size_t next_ = 0;
  size_t next_listed_ = 0;
};

}  // namespace

void Problem::lay_out(std::vector<Position>* positions) {
  Returns returns(ops);
  events.resize(2 * ops.size());  // optional operations have one
  if (positions) positions->reserve(events.size());
  uint32_t count = 0, pending = 0;
  auto add = [&](uint32_t& at, uint32_t what) {
    if (positions) positions->push_back(at);
    at = count;
    events[count++] = what;
  };
  auto add_return = [&](uint32_t op) {
    add(ops[op].ret, 2 * op + 1);
    --pending;
  };
  pending_max = 0;
  for (uint32_t op = 0; op < ops.size(); ++op) {
    returns.until(ops[op].call, add_return);
    add(ops[op].call, 2 * op);
    if (ops[op].optional) {
      ops[op].ret = kNoEvent;
    } else {
      pending_max = std::max(pending_max, ++pending);
    }
  }
  returns.until(kOpen, add_return);
  events.resize(count);
  look_ahead();
}

Problem prepare(const KeyHistory& history, const PrepareOptions& options) {
  Problem problem;
  Interner values;
  std::vector<uint32_t> producers;
  if (any_guarded(history)) producers = count_producers(history, values);
  problem.initial = values.id(history.conventions.initial);
  problem.ops.reserve(history.ops.size());
  for (uint32_t i = 0; i < history.ops.size(); ++i) {
    const KeyOp& op = history.ops[i];
    ProblemOp out{.call = op.call, .ret = op.ret, .source = i};
    if (translate(op, history.conventions, values, producers, out)) problem.ops.push_back(out);
  }
  problem.values = values.size();
  if (options.merge_unobserved) drop_unobserved(problem);
  problem.lay_out();
  return problem;
}

void Problem::finish() {
  pending_max = 0;
  uint32_t pending = 0;
  for (uint32_t event : events) {
    if (event & 1) {
      --pending;
    } else if (!ops[event / 2].optional) {
      pending_max = std::max(pending_max, ++pending);
    }
  }
  look_ahead();
}

void Problem::look_ahead() {
  classes.clear();
  futures.assign(values, {});
  mismatch_until = mismatch_until_other = 0;
  std::unordered_map<uint64_t, uint32_t> class_ids;
  for (ProblemOp& op : ops) {
    const uint32_t until = op.call + 1;
    if (op.produces()) futures[op.to].producer = until;
    if (op.kind == Kind::kMismatch) {
      // Calls come in order, so that the last F seen is the latest.
      if (op.from != mismatch_value) mismatch_until_other = mismatch_until;
      mismatch_until = until;
      mismatch_value = op.from;
    } else if (op.kind != Kind::kWrite) {
      futures[op.from].wanted = until;
      if (!op.optional) futures[op.from].needed = until;
    }
    if (!op.optional) continue;
    const uint64_t name =
        op.kind == Kind::kWrite ? uint64_t{op.to} : (uint64_t{op.from} + 1) << 32 | op.to;
    const auto [found, inserted] =
        class_ids.try_emplace(name, static_cast<uint32_t>(classes.size()));
    if (inserted) classes.push_back({op.kind, op.from, op.to});
    op.cls = found->second;
  }
}

namespace {

// Of what has returned, the operations invoked last that found or made a value: of one value, and
// of another.
class LatestSeen {
 public:
  void add(ValueId value, int64_t call) {
    if (value == value_[0]) {
      call_[0] = std::max(call_[0], call);
    } else if (call > call_[0]) {
      value_[1] = std::exchange(value_[0], value);
      call_[1] = std::exchange(call_[0], call);
    } else if (call > call_[1]) {
      value_[1] = value;
      call_[1] = call;
    }
  }
  int64_t of_another(ValueId value) const { return call_[value == value_[0] ? 1 : 0]; }

 private:
  ValueId value_[2] = {Interner::kNone, Interner::kNone};
  int64_t call_[2] = {-1, -1};
};

}  // namespace

uint32_t first_contradiction(const Problem& problem) {
  constexpr int64_t kNever = -2, kOpenEnd = INT64_MAX;
  // By value: by when whoever has begun to make it so far is certainly done.
  std::vector<int64_t> made(problem.values, kNever);
  if (problem.any_state) {
    for (ValueId v : problem.start_states) made[v] = problem.start;
  } else {
    made[problem.initial] = -1;
  }
  std::vector<int64_t> before(problem.ops.size(), -1);  // what another value was last seen by
  LatestSeen seen;
  for (uint32_t event : problem.events) {
    const ProblemOp& op = problem.ops[event / 2];
    if (op.kind == Kind::kMismatch) continue;
    if ((event & 1) == 0) {
      if (op.produces())
        made[op.to] = std::max(made[op.to], op.optional ? kOpenEnd : int64_t{op.ret});
      if (op.kind != Kind::kWrite) before[event / 2] = seen.of_another(op.from);
      continue;
    }
    // What was under way at an unknown start may have happened before it.
    const bool observes = op.kind != Kind::kWrite && (!problem.any_state || op.call >= problem.start);
    if (observes && (made[op.from] == kNever || made[op.from] < before[event / 2])) return op.ret;
    seen.add(op.produces() ? op.to : op.from, op.call);
  }
  return kNoEvent;
}

}  // namespace assay::linearizable
