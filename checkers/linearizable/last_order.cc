#include "checkers/linearizable/last_order.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "checkers/linearizable/general_search.h"
#include "checkers/linearizable/judge.h"

namespace assay::linearizable {
namespace {

constexpr size_t kStepsShown = 8;
constexpr size_t kStateBytesMax = 200;
constexpr size_t kBisectedMax = 20'000;  // operations
constexpr size_t kGeneralMax = 5'000;  // operations: each may leave a state of its own

std::string cut_short(std::string text) {
  if (text.size() <= kStateBytesMax) return text;
  size_t end = kStateBytesMax;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters
  return text.substr(0, end) + "...";
}

// The last steps of an order of so many; state_after(0) is that before all.
LastOrder tail_of(size_t steps, const std::function<size_t(size_t)>& operation,
                  const std::function<std::string(size_t)>& state_after) {
  LastOrder tail;
  tail.before = steps - std::min(steps, kStepsShown);
  tail.start = cut_short(state_after(tail.before));
  for (size_t i = tail.before; i < steps; ++i) {
    tail.steps.push_back({operation(i), cut_short(state_after(i + 1))});
  }
  return tail;
}

std::string made_by(const Operation& operation) {
  if (operation.f() == f::cas) return operation.argument().as_array()[1].to_json();
  return operation.f() == f::delete_ ? "null" : operation.argument().to_json();
}

std::string state_of(const History& history, const KeyHistory& key,
                     const std::vector<uint32_t>& order, size_t steps) {
  while (steps-- > 0) {
    const KeyOp& op = key.ops[order[steps]];
    if (op.may_produce()) return made_by(history[op.id]);
  }
  return history.header().initial_of(key.key).to_json();
}

// What failed later is not in it: it did not happen.
KeyHistory before_position(const KeyHistory& key, Position last) {
  KeyHistory part{.key = key.key, .conventions = key.conventions, .ops = {}};
  for (KeyOp op : key.ops) {
    const bool returned = op.ret < last;
    if (op.call >= last || (op.type == OpType::kFail && !returned)) continue;
    if (!returned) op.type = OpType::kInfo, op.ret = kOpen;
    part.ops.push_back(op);
  }
  return part;
}

template <typename Options>
Options within(const ShrinkLimits& limits) {
  Options options;
  options.work_max = limits.work_max;
  options.exhausted = limits.exhausted;
  options.want_order = true;
  return options;
}

bool is_at(const Operation& operation, Position position) {
  return operation.invoke_position() == position || operation.return_position() == position;
}

}  // namespace

std::optional<LastOrder> last_order(const History& history, const KeyHistory& key, Position last,
                                    const ShrinkLimits& limits) {
  const KeyHistory before = before_position(key, last);
  const KeyResult found =
      judge_key(before, {.search = within<SearchOptions>(limits), .want_order = true});
  if (found.found.outcome != Outcome::kValid) return std::nullopt;
  const auto& order = found.order;
  LastOrder tail = tail_of(
      order.size(), [&](size_t i) { return before.ops[order[i]].id; },
      [&](size_t steps) { return state_of(history, before, order, steps); });
  for (const KeyOp& op : key.ops) {
    if (op.call == last || op.ret == last) tail.breaks = op.id;
  }
  return tail;
}

std::optional<LastOrder> first_break(const History& history, const KeyHistory& key, Position last,
                                     const ShrinkLimits& limits) {
  if (key.ops.size() > kBisectedMax) return std::nullopt;
  std::vector<Position> ends;
  for (const KeyOp& op : key.ops) {
    if (op.ret < last && op.type != OpType::kInfo) ends.push_back(op.ret);
  }
  std::sort(ends.begin(), ends.end());
  const auto broken = std::partition_point(ends.begin(), ends.end(), [&](Position end) {
    const KeyResult found =
        judge_key(before_position(key, end + 1), {.search = within<SearchOptions>(limits)});
    return found.found.outcome == Outcome::kValid;
  });
  return broken == ends.end() ? std::nullopt : last_order(history, key, *broken, limits);
}

std::optional<LastOrder> last_order(const History& history, const assay::Model& model,
                                    const PartGroup& group, Position last,
                                    const ShrinkLimits& limits) {
  const GeneralProblem problem = prepare(history, model, group, {.unknown = {}, .end = last});
  if (problem.ops.size() > kGeneralMax) return std::nullopt;
  const SearchResult found = general_search(problem, within<GeneralSearchOptions>(limits));
  if (found.outcome != Outcome::kValid) return std::nullopt;
  const std::vector<uint32_t> order = linear_order(problem, found.placements);
  std::unordered_map<uint32_t, uint32_t> class_of;  // by id
  for (const GeneralOp& op : problem.ops) class_of[op.id] = op.cls;
  const auto states = model.states();
  std::vector<StateId> after = {states->initial(group.part)};
  for (uint32_t id : order) {
    after.push_back(states->step(after.back(), problem.classes[class_of.at(id)].op));
  }
  LastOrder tail = tail_of(
      order.size(), [&](size_t i) { return order[i]; },
      [&](size_t steps) { return states->describe(after[steps]); });
  const auto at = std::find_if(group.ids.begin(), group.ids.end(),
                               [&](uint32_t id) { return is_at(history[id], last); });
  if (at != group.ids.end()) tail.breaks = *at;
  return tail;
}

}  // namespace assay::linearizable
