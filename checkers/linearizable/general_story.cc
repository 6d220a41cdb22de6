#include "checkers/linearizable/general_story.h"

#include <algorithm>

#include "checkers/words.h"

namespace assay::linearizable {
namespace {

constexpr size_t kOperationsTold = 12;
constexpr size_t kTextMax = 120;  // of one operation, or of one state

// Of something long, the beginning and the end: what differs is mostly there.
std::string shortened(const std::string& text) {
  if (text.size() <= kTextMax) return text;
  constexpr size_t kHalf = kTextMax / 2 - 3;
  return text.substr(0, kHalf) + " ... " + text.substr(text.size() - kHalf);
}

class GeneralTeller {
 public:
  GeneralTeller(const History& history, const assay::Model& model, const PartGroup& group,
                const GeneralCore& core)
      : history_(history), model_(model), core_(core), timed_(Surroundings(history).timed) {
    if (core.start && core.ops.size() < kFew) find_context(group);
  }

  Story tell() {
    Story story;
    const Operation last = subject();
    story.anomaly = model_.anomaly(last);
    auto& lines = story.witness.lines;
    lines.push_back(headline(last));
    const size_t all = core_.ops.size();
    const size_t first = all > kOperationsTold ? all - kOperationsTold : 0;
    if (first > 0) {
      lines.push_back(counted(first, "operation", "operations") +
                      " before these cannot be left out either");
    }
    if (context_) {
      story.witness.operations.push_back(*context_);
      lines.push_back(line(history_[*context_]));
    }
    for (size_t i = 0; i < all; ++i) {
      story.witness.operations.push_back(core_.ops[i]);
      if (i >= first) lines.push_back(line(history_[core_.ops[i]]));
    }
    if (core_.start) lines.push_back(before());
    if (core_.open > 0) {
      lines.push_back((core_.open == 1 ? std::string("1 other operation") : "each of " +
                       std::to_string(core_.open) + " other operations") +
                      " may happen at any time after its start, or never: that does not help");
    }
    if (!core_.minimal) lines.push_back("the budget ended before the smallest set was found");
    return story;
  }

 private:
  static constexpr size_t kFew = 6;

  CallEffect effect_of(const Operation& operation) const {
    ModelOp op{operation.f(), operation.key(), operation.argument(), operation.result(),
               operation.type()};
    (void)model_.role(history_.header(), operation, op);
    return model_.effect(op);
  }
  // The last acknowledged change before what matters: not a part of the proof, but of the picture.
  void find_context(const PartGroup& group) {
    const Operation at = history_[*core_.start];
    const Position start = core_.start_returns ? at.return_position() : at.invoke_position();
    for (uint32_t id : group.ids) {
      const Operation operation = history_[id];
      if (operation.invoke_position() >= start) return;
      if (operation.type() != OpType::kOk || operation.return_position() >= start) continue;
      if (effect_of(operation) == CallEffect::kObserves) continue;
      if (std::find(core_.ops.begin(), core_.ops.end(), id) != core_.ops.end()) continue;
      if (!context_ || operation.return_position() > history_[*context_].return_position()) {
        context_ = id;
      }
    }
  }
  // What the story is about: of those that answer a question, the one invoked last; else the last.
  Operation subject() const {
    for (auto id = core_.ops.rbegin(); id != core_.ops.rend(); ++id) {
      const Operation operation = history_[*id];
      if (effect_of(operation) == CallEffect::kObserves) return operation;
    }
    return history_[core_.ops.back()];
  }
  std::string did(const Operation& operation) const {
    std::string text = "p" + std::to_string(operation.process().id) + " ";
    text += shortened(model_.did(operation));
    if (!operation.node().empty()) text += " at " + std::string(operation.node().text());
    return text;
  }
  std::string headline(const Operation& last) const {
    const std::string text = did(last);
    if (core_.ops.size() == 1) return alone(last);
    if (core_.ops.size() > 2 && core_.ops.size() <= kFew) return together();
    const Operation* newest = nullptr;
    std::vector<Operation> others;
    for (uint32_t id : core_.ops) {
      if (id != last.id()) others.push_back(history_[id]);
    }
    for (const Operation& other : others) {
      if (other.return_position() > last.invoke_position()) continue;
      if (!newest || other.return_position() > newest->return_position()) newest = &other;
    }
    if (newest) return text + after(*newest, last) + did(*newest) + ": no order explains that";
    return text + " while " + did(others.back()) + ": no order explains that";
  }
  // Of several that only together are impossible.
  std::string together() const {
    std::vector<std::string> all;
    for (uint32_t id : core_.ops) all.push_back(did(history_[id]));
    const bool known = core_.states.size() == 1 && !core_.states[0].empty();
    return (known ? "it was " + shortened(core_.states[0]) + ", and " : std::string()) +
           "no order explains these together: " + listed(all);
  }
  std::string alone(const Operation& last) const {
    std::string text = did(last);
    if (context_ && history_[*context_].return_position() < last.invoke_position()) {
      text += after(history_[*context_], last) + did(history_[*context_]);
    }
    if (core_.open > 0) {
      return text + ": neither what came before nor " +
             (core_.open == 1 ? "what" : "any of the " + std::to_string(core_.open) +
                                             " operations that") +
             " may have happened since explains that";
    }
    if (core_.states.size() != 1 || core_.states[0].empty()) {
      return text + ": nothing before it explains that";
    }
    return text + ", and nothing changed it from " + shortened(core_.states[0]);
  }
  std::string after(const Operation& earlier, const Operation& later) const {
    if (!is_timed(later)) return ", after ";
    return ", " + format_duration(later.invoke_time() - earlier.return_time()) + " after ";
  }
  bool is_timed(const Operation& operation) const {
    return timed_ && operation.invoke_time().count >= 0;
  }
  std::string line(const Operation& operation) const {
    std::string text = did(operation);
    if (is_timed(operation)) {
      return text + " (" + exact_point(operation.invoke_time()) + " to " +
             exact_point(operation.return_time()) + ")";
    }
    return text + " (index " + std::to_string(operation.invoke_index()) + " to " +
           std::to_string(operation.return_index()) + ")";
  }
  std::string before() const {
    const Operation at = history_[*core_.start];
    const std::string when =
        "before " +
        (is_timed(at) ? exact_point(core_.start_returns ? at.return_time() : at.invoke_time())
                      : "index " + std::to_string(core_.start_returns ? at.return_index()
                                                                      : at.invoke_index()));
    std::vector<std::string> states;
    for (const std::string& state : core_.states) {
      if (!state.empty()) states.push_back(shortened(state));
    }
    if (states.empty() || states.size() != core_.states.size() || states.size() > 3) {
      return "of what happened " + when + " only where it may have led was needed";
    }
    std::string text = states[0];
    for (size_t i = 1; i < states.size(); ++i) text += " or " + states[i];
    return "whatever the order of the operations " + when + ", they left it " + text;
  }

  const History& history_;
  const assay::Model& model_;
  const GeneralCore& core_;
  std::optional<uint32_t> context_;  // an operation
  const bool timed_;
};

// Judges what comes up to a position with failures taken as unknown.
class GeneralWord {
 public:
  GeneralWord(const History& history, const assay::Model& model, const PartGroup& group,
              Position last, const ShrinkLimits& limits)
      : history_(history), model_(model), group_(group), last_(last), limits_(limits) {
    for (uint32_t id : group.ids) {
      const Operation operation = history[id];
      if (operation.invoke_position() > last || operation.type() != OpType::kFail) continue;
      ModelOp op{operation.f(), operation.key(), operation.argument(), Value(), OpType::kInfo};
      if (model.role(history.header(), operation, op) == CallRole::kMay) failures_.push_back(id);
    }
    if (failures_.size() > kNear) failures_.erase(failures_.begin(), failures_.end() - kNear);
  }

  std::string sentence() const {
    const std::string independent = "independent of your error mapping";
    if (failures_.empty()) return independent + ": no operation near the witness failed";
    const Outcome all = without(failures_, limits_.work_max);
    if (all == Outcome::kInvalid) {
      return independent + ": still impossible when each of " +
             counted(failures_.size(), "failed operation", "failed operations") +
             " near the witness may have happened";
    }
    if (all == Outcome::kUnknown) {
      return "whether it rests on your error mapping was not decided within its budget";
    }
    size_t tried = 0;
    for (auto id = failures_.rbegin(); id != failures_.rend() && tried < kTriedAlone; ++id) {
      ++tried;
      if (without({*id}, kWorkForOne) == Outcome::kValid) return rests_on_failure(history_[*id]);
    }
    return "rests on definite failures, though on none of those near the witness alone";
  }

 private:
  static constexpr std::ptrdiff_t kNear = 200;
  static constexpr size_t kTriedAlone = 30;
  static constexpr uint64_t kWorkForOne = 2'000'000;

  Outcome without(std::vector<uint32_t> failures, uint64_t work_max) const {
    GeneralSearchOptions options;
    options.work_max = work_max;
    options.exhausted = limits_.exhausted;
    const GeneralOptions weaker{.unknown = std::move(failures), .end = last_ + 1};
    return general_search(prepare(history_, model_, group_, weaker), options).outcome;
  }

  const History& history_;
  const assay::Model& model_;
  const PartGroup& group_;
  const Position last_;
  const ShrinkLimits& limits_;
  std::vector<uint32_t> failures_;
};

}  // namespace

Story tell(const History& history, const assay::Model& model, const PartGroup& group,
           const GeneralCore& core) {
  return GeneralTeller(history, model, group, core).tell();
}

std::string whose_word(const History& history, const assay::Model& model, const PartGroup& group,
                       Position last, const ShrinkLimits& limits) {
  return GeneralWord(history, model, group, last, limits).sentence();
}

}  // namespace assay::linearizable
