#include "checkers/linearizable/general_problem.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "checkers/history/vocabulary.h"

namespace assay::linearizable {
namespace {

// Names that operations connect, as sets.
class Connected {
 public:
  size_t of(Symbol name) {
    const auto [found, inserted] = ids_.try_emplace(name, parents_.size());
    if (inserted) {
      parents_.push_back(found->second);
      names_.push_back(name);
    }
    return find(found->second);
  }
  void join(size_t a, size_t b) {
    a = find(a), b = find(b);
    if (a != b) parents_[std::max(a, b)] = std::min(a, b);
  }
  size_t find(size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  const std::vector<Symbol>& names() const { return names_; }

 private:
  std::unordered_map<Symbol, size_t> ids_;
  std::vector<size_t> parents_;
  std::vector<Symbol> names_;
};

struct OpHash {
  size_t operator()(const ModelOp& op) const {
    uint64_t h = mix_hash(op.f.id() + (uint64_t{op.key.id()} << 32));
    h = mix_hash(h ^ op.argument.hash());
    return mix_hash(h ^ op.result.hash()) + static_cast<uint64_t>(op.type);
  }
};

class Builder {
 public:
  Builder(const History& history, const assay::Model& model, const PartGroup& group,
          const GeneralOptions& options)
      : history_(history), options_(options) {
    problem_.model = &model;
    problem_.part = group.part;
    for (uint32_t id : group.ids) take(history[id]);
  }
  GeneralProblem build() {
    find_useful();
    drop_useless();
    std::sort(events_.begin(), events_.end());
    problem_.events.reserve(events_.size());
    for (const auto& [position, what] : events_) {
      const auto now = static_cast<uint32_t>(problem_.events.size());
      (what & 1 ? problem_.ops[what / 2].ret : problem_.ops[what / 2].call) = now;
      problem_.events.push_back(what);
    }
    for (GeneralClass& cls : problem_.classes) {
      if (cls.useful_until == kNoEvent) continue;
      const auto at = std::lower_bound(events_.begin(), events_.end(),
                                       std::pair<Position, uint32_t>(cls.useful_until, 0));
      cls.useful_until = static_cast<uint32_t>(at - events_.begin());
    }
    find_hiding();
    problem_.finish();
    return std::move(problem_);
  }

 private:
  void take(const Operation& operation) {
    if (operation.invoke_position() >= options_.end) return;
    const auto id = static_cast<uint32_t>(operation.id());
    ModelOp op{operation.f(), operation.key(), operation.argument(), Value(), operation.type()};
    if (std::binary_search(options_.unknown.begin(), options_.unknown.end(), id)) {
      op.type = OpType::kInfo;
    }
    const bool returned = operation.return_position() < options_.end;
    if (!returned && op.type != OpType::kFail) op.type = OpType::kInfo;
    if (op.type == OpType::kOk) op.result = operation.result();
    const CallRole role = problem_.model->role(history_.header(), operation, op);
    if (role == CallRole::kLeftOut || (role == CallRole::kMust && !returned)) return;
    GeneralOp made;
    made.optional = role == CallRole::kMay;
    made.observes = problem_.model->effect(op) == CallEffect::kObserves;
    if (made.observes && (made.optional || !reads_claimed_)) return;
    made.cls = class_of(op);
    made.id = id;
    problem_.ops.push_back(made);
    calls_.push_back(operation.invoke_position());
    returns_.push_back(made.optional ? kOpen : operation.return_position());
    last_[made.cls] = std::max(last_[made.cls], returns_.back());
  }
  uint32_t class_of(const ModelOp& op) {
    const auto [found, inserted] =
        ids_.try_emplace(op, static_cast<uint32_t>(problem_.classes.size()));
    if (inserted) {
      const CallEffect effect = problem_.model->effect(op);
      problem_.classes.push_back({op, effect == CallEffect::kObserves, effect == CallEffect::kResets, 0, false});
      last_.push_back(0);
    }
    return found->second;
  }

  // For each class with optional operations, the last return of a class in which it shows. Where
  // that would take too long, it is taken to show in all.
  void find_useful() {
    std::vector<uint8_t> optional(problem_.classes.size());
    for (const GeneralOp& op : problem_.ops) optional[op.cls] |= op.optional;
    const auto kinds = static_cast<size_t>(std::count(optional.begin(), optional.end(), 1));
    const bool affordable = kinds * problem_.classes.size() <= kPairsMax;
    for (uint32_t c = 0; c < problem_.classes.size(); ++c) {
      GeneralClass& cls = problem_.classes[c];
      if (!optional[c] || !affordable) cls.useful_until = kNoEvent;
      if (!optional[c] || !affordable) continue;
      for (uint32_t later = 0; later < problem_.classes.size(); ++later) {
        if (last_[later] > cls.useful_until &&
            problem_.model->shows(problem_.classes[later].op, cls.op)) {
          cls.useful_until = last_[later];
        }
      }
    }
  }
  void drop_useless() {
    uint32_t to = 0;
    for (uint32_t i = 0; i < problem_.ops.size(); ++i) {
      const GeneralOp& op = problem_.ops[i];
      if (op.optional && problem_.classes[op.cls].useful_until <= calls_[i]) continue;
      problem_.ops[to] = op;
      events_.emplace_back(calls_[i], 2 * to);
      if (!op.optional) events_.emplace_back(returns_[i], 2 * to + 1);
      ++to;
    }
    problem_.ops.resize(to);
  }
  // What hides others hides its like; the search asks of pairs that are under way at once.
  void find_hiding() {
    for (GeneralClass& cls : problem_.classes) {
      cls.may_hide = !cls.observes && hides(*problem_.model, cls, cls);
    }
  }

  static constexpr size_t kPairsMax = 4'000'000;
  const History& history_;
  const GeneralOptions& options_;
  // Reads that a target does not claim to be linearizable accuse nobody.
  const bool reads_claimed_ = read_claim(history_.header()) == "linearizable";
  GeneralProblem problem_;
  std::unordered_map<ModelOp, uint32_t, OpHash> ids_;
  std::vector<Position> last_;  // by class
  std::vector<Position> calls_, returns_;  // by operation
  std::vector<std::pair<Position, uint32_t>> events_;
};

}  // namespace

std::vector<PartGroup> group_by_part(const History& history, const assay::Model& model) {
  Connected connected;
  std::vector<size_t> first(history.size());
  for (size_t id = 0; id < history.size(); ++id) {
    const std::vector<Symbol> names = model.touches(history[id]);
    ASSAY_CHECK(!names.empty(), "operation %zu touches nothing", id);
    first[id] = connected.of(names[0]);
    for (Symbol name : names) connected.join(first[id], connected.of(name));
  }
  std::unordered_map<size_t, size_t> index;
  std::vector<PartGroup> groups;
  const std::vector<Symbol>& names = connected.names();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [found, inserted] = index.try_emplace(connected.find(i), groups.size());
    if (inserted) groups.emplace_back();
    ModelPart& part = groups[found->second].part;
    part.names.push_back(names[i]);
    part.initial_of.push_back(history.header().initial_of(names[i]));
    if (inserted) part.initial = part.initial_of[0];
  }
  for (size_t id = 0; id < history.size(); ++id) {
    groups[index.at(connected.find(first[id]))].ids.push_back(static_cast<uint32_t>(id));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const PartGroup& a, const PartGroup& b) {
    return a.ids.size() > b.ids.size();
  });
  return groups;
}

std::string part_name(const ModelPart& part) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(part.names.size(), kShown); ++i) {
    text += (text.empty() ? "" : "+") + std::string(part.names[i].text());
  }
  return text + (part.names.size() > kShown ? "+..." : "");
}

bool hides(const assay::Model& model, const GeneralClass& later, const GeneralClass& earlier) {
  if (later.resets && !earlier.observes && model.resets_overwrite()) return true;
  return model.hides(later.op, earlier.op);
}

GeneralProblem prepare(const History& history, const assay::Model& model, const PartGroup& group,
                       const GeneralOptions& options) {
  return Builder(history, model, group, options).build();
}

void GeneralProblem::finish() {
  pending_max = 0;
  uint32_t pending = 0;
  for (uint32_t event : events) {
    if (ops[event / 2].optional) continue;
    pending = event & 1 ? pending - 1 : pending + 1;
    pending_max = std::max(pending_max, pending);
  }
  next_observer.assign(events.size() + 1, kNoEvent);
  for (auto e = static_cast<uint32_t>(events.size()); e-- > 0;) {
    const uint32_t op = events[e] / 2;
    const bool observes = !(events[e] & 1) && ops[op].observes;
    next_observer[e] = observes ? op : next_observer[e + 1];
  }
  std::vector<uint32_t> resets;  // their calls
  for (uint32_t e = 0; e < events.size(); ++e) {
    GeneralOp& op = ops[events[e] / 2];
    if (!(events[e] & 1) && classes[op.cls].resets) resets.push_back(e);
    if ((events[e] & 1) && op.observes) op.reset = last_showing(resets, classes[op.cls].op);
  }
}

// Looks at the last ones only; the one before these is taken to show.
uint32_t GeneralProblem::last_showing(const std::vector<uint32_t>& resets,
                                      const ModelOp& observer) const {
  constexpr size_t kLookedAt = 64;
  for (size_t i = 0; i < resets.size(); ++i) {
    const uint32_t event = resets[resets.size() - 1 - i];
    const ModelOp& reset = classes[ops[events[event] / 2].cls].op;
    if (i == kLookedAt || model->shows(observer, reset)) return event + 1;
  }
  return 0;
}

namespace {

enum class Fate : uint8_t { kKept, kOptional, kDropped };

GeneralProblem part_of(const GeneralProblem& problem, const std::vector<Fate>& fates,
                       uint32_t start) {
  GeneralProblem part;
  part.model = problem.model;
  part.part = problem.part;
  part.classes = problem.classes;
  std::vector<uint32_t> ids(problem.ops.size(), kNoEvent);
  for (uint32_t i = 0; i < problem.ops.size(); ++i) {
    if (fates[i] == Fate::kDropped) continue;
    ids[i] = static_cast<uint32_t>(part.ops.size());
    part.ops.push_back(problem.ops[i]);
    part.ops.back().optional |= fates[i] == Fate::kOptional;
  }
  for (uint32_t e = 0; e < problem.events.size(); ++e) {
    const uint32_t event = problem.events[e];
    const uint32_t id = ids[event / 2];
    if (id == kNoEvent) continue;
    GeneralOp& op = part.ops[id];
    if ((event & 1) && op.optional) continue;
    ((event & 1) ? op.ret : op.call) = static_cast<uint32_t>(part.events.size());
    if (op.optional) op.ret = kNoEvent;
    part.events.push_back(2 * id + (event & 1));
    if (e < start) part.start = static_cast<uint32_t>(part.events.size());
  }
  for (GeneralClass& cls : part.classes) cls.useful_until = kNoEvent;
  part.finish();
  return part;
}

}  // namespace

GeneralProblem weakened(const GeneralProblem& problem, const std::vector<uint8_t>& marks) {
  std::vector<Fate> fates(problem.ops.size(), Fate::kKept);
  for (uint32_t i = 0; i < problem.ops.size(); ++i) {
    if (marks[i]) fates[i] = problem.ops[i].observes ? Fate::kDropped : Fate::kOptional;
  }
  return part_of(problem, fates, problem.start);
}

GeneralProblem from_event(const GeneralProblem& problem, uint32_t start) {
  std::vector<Fate> fates(problem.ops.size(), Fate::kKept);
  for (uint32_t i = 0; i < problem.ops.size(); ++i) {
    const GeneralOp& op = problem.ops[i];
    if (!op.optional && op.ret < start) fates[i] = Fate::kDropped;
  }
  return part_of(problem, fates, start);
}

}  // namespace assay::linearizable
