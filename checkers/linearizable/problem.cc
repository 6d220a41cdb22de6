#include "checkers/linearizable/problem.h"

#include <algorithm>
#include <unordered_map>

namespace assay::linearizable {
namespace {

// An operation on its way into the problem, with its positions in the history.
struct Draft {
  ProblemOp op;
  Position call;
  Position ret;
};

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
    if (op.f == Call::kRead || op.type == OpType::kFail) continue;
    count(op.f == Call::kCas ? op.next : op.value);
  }
  return producers;
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
  out.to = values.id(op.next);
  out.kind = out.from == out.to ? Kind::kRead : Kind::kCas;
  return ok || out.from != out.to;
}

void drop_unobserved(std::vector<Draft>& drafts, Problem& problem) {
  std::vector<uint32_t> observers(problem.values);
  bool mismatches = false;
  for (const Draft& draft : drafts) {
    if (draft.op.kind != Kind::kWrite) ++observers[draft.op.from];
    mismatches |= draft.op.kind == Kind::kMismatch;
  }
  // An optional operation whose value nobody observes could as well not have happened, unless it
  // is why a comparison failed. Without it, what it expected may be unobserved too.
  while (!mismatches) {
    const size_t before = drafts.size();
    std::erase_if(drafts, [&](const Draft& draft) {
      if (!draft.op.optional || observers[draft.op.to] > 0) return false;
      if (draft.op.kind == Kind::kCas) --observers[draft.op.from];
      return true;
    });
    if (drafts.size() == before) break;
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
  problem.initial = renamed[problem.initial];
  for (Draft& draft : drafts) {
    draft.op.from = draft.op.kind == Kind::kWrite ? 0 : renamed[draft.op.from];
    draft.op.to = draft.op.observes() ? 0 : renamed[draft.op.to];
  }
}

void lay_out_events(const std::vector<Draft>& drafts, Problem& problem) {
  std::vector<std::pair<Position, uint32_t>> returns;
  problem.ops.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    const auto op = static_cast<uint32_t>(problem.ops.size());
    problem.ops.push_back(draft.op);
    if (!draft.op.optional) returns.emplace_back(draft.ret, op);
  }
  std::sort(returns.begin(), returns.end());
  problem.events.reserve(drafts.size() + returns.size());
  size_t r = 0;
  auto take_return = [&] {
    problem.ops[returns[r].second].ret = static_cast<uint32_t>(problem.events.size());
    problem.events.push_back(2 * returns[r++].second + 1);
  };
  for (uint32_t op = 0; op < drafts.size(); ++op) {
    while (r < returns.size() && returns[r].first < drafts[op].call) take_return();
    problem.ops[op].call = static_cast<uint32_t>(problem.events.size());
    problem.events.push_back(2 * op);
  }
  while (r < returns.size()) take_return();
}

}  // namespace

Problem prepare(const KeyHistory& history, const PrepareOptions& options) {
  Problem problem;
  Interner values;
  const std::vector<uint32_t> producers = count_producers(history, values);
  problem.initial = values.id(history.conventions.initial);
  std::vector<Draft> drafts;
  drafts.reserve(history.ops.size());
  for (uint32_t i = 0; i < history.ops.size(); ++i) {
    const KeyOp& op = history.ops[i];
    Draft draft{.op = {.source = i}, .call = op.call, .ret = op.ret};
    if (translate(op, history.conventions, values, producers, draft.op)) {
      drafts.push_back(draft);
    }
  }
  problem.values = values.size();
  if (options.merge_unobserved) drop_unobserved(drafts, problem);
  lay_out_events(drafts, problem);
  problem.finish();
  return problem;
}

void Problem::finish() {
  classes.clear();
  futures.assign(values, {});
  mismatch_until = mismatch_until_other = 0;
  pending_max = 0;
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
  uint32_t pending = 0;
  for (uint32_t event : events) {
    if (event & 1) {
      --pending;
    } else if (!ops[event / 2].optional) {
      pending_max = std::max(pending_max, ++pending);
    }
  }
}

uint32_t first_unproduced(const Problem& problem) {
  // The first call of a producer of each value, as an event.
  std::vector<uint32_t> produced(problem.values, kNoEvent);
  produced[problem.initial] = 0;
  for (const ProblemOp& op : problem.ops) {
    if (op.produces()) produced[op.to] = std::min(produced[op.to], op.call);
  }
  uint32_t first = kNoEvent;
  for (const ProblemOp& op : problem.ops) {
    if (op.optional || op.kind == Kind::kWrite || op.kind == Kind::kMismatch) continue;
    if (produced[op.from] > op.ret) first = std::min(first, op.ret);
  }
  return first;
}

}  // namespace assay::linearizable
