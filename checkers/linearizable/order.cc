#include "checkers/linearizable/order.h"

#include <algorithm>

namespace assay::linearizable {
namespace {

// The stretches between placements: stretch k follows the k-th placement (from 1; 0 is the start).
// What else happens in a stretch happens in order of calls, first what needs its state, then the
// writes that the next placement overwrites.
struct Stretches {
  Stretches(const Problem& problem, const std::vector<Placement>& placements)
      : placements(placements) {
    states.push_back(problem.initial);
    for (const Placement& p : placements) states.push_back(problem.ops[p.op].to);
    next_write.assign(placements.size() + 1, UINT32_MAX);
    for (auto k = static_cast<uint32_t>(placements.size()); k-- > 0;) {
      const bool write = problem.ops[placements[k].op].kind == Kind::kWrite;
      next_write[k] = write ? k : next_write[k + 1];
    }
  }
  uint32_t first_at(uint32_t event) const {  // in force at an event
    const auto after = std::upper_bound(placements.begin(), placements.end(), event,
                                        [](uint32_t e, const Placement& p) { return e < p.event; });
    return static_cast<uint32_t>(after - placements.begin());
  }

  const std::vector<Placement>& placements;
  std::vector<ValueId> states;       // by stretch
  std::vector<uint32_t> next_write;  // the first placement from here on that is a write
};

}  // namespace

std::vector<uint32_t> linear_order(const Problem& problem,
                                   const std::vector<Placement>& placements) {
  const Stretches stretches(problem, placements);
  std::vector<uint8_t> placed(problem.ops.size());
  for (const Placement& p : placements) placed[p.op] = 1;
  std::vector<std::vector<uint32_t>> inside(placements.size() + 1);
  std::vector<std::vector<uint32_t>> overwritten(placements.size() + 1);
  for (uint32_t op = 0; op < problem.ops.size(); ++op) {
    const ProblemOp& o = problem.ops[op];
    if (placed[op] || o.optional) continue;
    const uint32_t first = stretches.first_at(o.call);
    // A burst at its own return is still before it, but one that ends with it would have placed it.
    const uint32_t last = stretches.first_at(o.ret);
    const uint32_t write = o.kind == Kind::kWrite ? stretches.next_write[first] : UINT32_MAX;
    if (write != UINT32_MAX && placements[write].event < o.ret) {
      overwritten[write].push_back(op);
      continue;
    }
    const ValueId value = o.kind == Kind::kWrite ? o.to : o.from;
    uint32_t k = first;
    while (k <= last && (stretches.states[k] == value) == (o.kind == Kind::kMismatch)) ++k;
    ASSAY_CHECK(k <= last, "operation %u has no place in the order found", op);
    inside[k].push_back(op);
  }
  std::vector<uint32_t> order;
  for (uint32_t k = 0; k <= placements.size(); ++k) {
    // Operations come in order of their calls already.
    for (uint32_t op : inside[k]) order.push_back(problem.ops[op].source);
    for (uint32_t op : overwritten[k]) order.push_back(problem.ops[op].source);
    if (k < placements.size()) order.push_back(problem.ops[placements[k].op].source);
  }
  return order;
}

std::string replay(const KeyHistory& history, const std::vector<uint32_t>& order) {
  const Conventions& conventions = history.conventions;
  Scalar state = conventions.initial;
  Position latest_call = 0;
  std::vector<uint8_t> seen(history.ops.size());
  for (uint32_t i : order) {
    const KeyOp& op = history.ops[i];
    const std::string name = "operation " + std::to_string(op.id);
    if (seen[i]++) return name + " comes twice";
    if (op.type != OpType::kInfo && op.ret < latest_call) return name + " comes too late";
    latest_call = std::max(latest_call, op.call);
    const bool equal = op.value == state;
    if (op.type == OpType::kFail) {
      if (op.f != Call::kCas || equal) return name + " has failed";
    } else if (op.f == Call::kWrite) {
      state = op.value;
    } else {
      if (!equal) return name + " found another value";
      if (op.f == Call::kCas) state = op.next;
    }
  }
  for (uint32_t i = 0; i < history.ops.size(); ++i) {
    const KeyOp& op = history.ops[i];
    const bool says_nothing =
        op.f == Call::kRead && op.value == Scalar{} && !conventions.null_read_is_value;
    const bool observes = op.f == Call::kCas && op.type == OpType::kFail && op.mismatch &&
                          conventions.failed_cas_observes && !op.guarded;
    if (!seen[i] && ((op.type == OpType::kOk && !says_nothing) || observes)) {
      return "operation " + std::to_string(op.id) + " is missing";
    }
  }
  return "";
}

}  // namespace assay::linearizable
