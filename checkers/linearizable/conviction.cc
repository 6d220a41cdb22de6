#include "checkers/linearizable/conviction.h"

#include <algorithm>
#include <optional>
#include <set>

#include "checkers/facts.h"
#include "checkers/linearizable/last_order.h"
#include "checkers/linearizable/sensitivity.h"
#include "checkers/words.h"

namespace assay::linearizable {
namespace {

std::string named(const std::string& anomaly, Symbol key) {
  if (key.empty()) return anomaly;
  return anomaly + (anomaly == "stale read" ? " of " : " on ") + std::string(key.text());
}

// Whose word an invalid verdict rests on: judges once more with what failed near the witness taken
// as of unknown outcome.
class WhoseWord {
 public:
  WhoseWord(const History& history, const KeyHistory& key, Position last,
            const ShrinkLimits& limits)
      : history_(history), part_(with_failures(key, last + 1)), limits_(limits) {
    for (uint32_t i = 0; i < part_.ops.size(); ++i) {
      const KeyOp& op = part_.ops[i];
      if (op.type == OpType::kFail && op.f != Call::kRead) failures_.push_back(i);
    }
    if (failures_.size() > kNear) failures_.erase(failures_.begin(), failures_.end() - kNear);
  }

  static bool is_independent(std::string_view sentence) {
    return sentence.starts_with(kIndependent);
  }
  std::string sentence() {
    const std::string independent = kIndependent;
    if (failures_.empty()) return independent + ": no operation near the witness failed";
    switch (without(failures_)) {
      case Outcome::kInvalid:
        return independent + ": still impossible when each of " +
               counted(failures_.size(), "failed operation", "failed operations") +
               " near the witness may have happened";
      case Outcome::kUnknown:
        return "whether it rests on your error mapping was not decided within its budget";
      case Outcome::kValid:
        break;
    }
    limits_.work_max = kWorkForOne;
    size_t tried = 0;
    for (auto i = failures_.rbegin(); i != failures_.rend() && tried < kTriedAlone; ++i, ++tried) {
      if (without({*i}) != Outcome::kValid) continue;
      const Operation operation = history_[part_.ops[*i].id];
      return compared_nothing(*i) == Outcome::kValid ? rests_on_comparison(operation)
                                                     : rests_on_failure(operation);
    }
    return "rests on definite failures, though on none of those near the witness alone";
  }

 private:
  static constexpr const char* kIndependent = "independent of your error mapping";
  static constexpr std::ptrdiff_t kNear = 200;
  static constexpr size_t kTriedAlone = 30;
  static constexpr uint64_t kWorkForOne = 2'000'000;

  // Whatever failed has failed, though its answer may have come later.
  static KeyHistory with_failures(const KeyHistory& key, Position end) {
    KeyHistory part = cut_at(key, end);
    for (size_t i = 0; i < part.ops.size(); ++i) {
      if (key.ops[i].type == OpType::kFail) part.ops[i].type = OpType::kFail;
    }
    return part;
  }
  Outcome without(const std::vector<uint32_t>& failures) const {
    KeyHistory weaker = part_;
    for (uint32_t i : failures) {
      weaker.ops[i].type = OpType::kInfo;
      weaker.ops[i].mismatch = false;
    }
    return judged(weaker);
  }
  Outcome compared_nothing(uint32_t failure) const {
    if (!part_.ops[failure].mismatch) return Outcome::kUnknown;
    KeyHistory weaker = part_;
    weaker.ops[failure].mismatch = false;
    return judged(weaker);
  }
  Outcome judged(const KeyHistory& weaker) const {
    const Problem problem = prepare(weaker);
    if (problem.events.empty()) return Outcome::kValid;
    return impossible_until(problem, static_cast<uint32_t>(problem.events.size()) - 1, limits_);
  }

  const History& history_;
  const KeyHistory part_;
  ShrinkLimits limits_;
  std::vector<uint32_t> failures_;
};

Position position_of(const KeyHistory& key, const Problem& problem, uint32_t event) {
  const uint32_t what = problem.events[event];
  const KeyOp& op = key.ops[problem.ops[what / 2].source];
  return what & 1 ? op.ret : op.call;
}

Told tell_unwritten(const History& history, const KeyGroup& group, const UnclaimedReads& reads,
                    const Surroundings& surroundings) {
  ThinAir thin_air = tell_thin_air(history, group, *reads.first, surroundings);
  Told told{.verdict = {.name = key_name(group.key), .safety = Safety::kInvalid},
            .rests = !WhoseWord::is_independent(thin_air.rests_on),
            .operations = thin_air.story.witness.operations.size(),
            .last = thin_air.last};
  told.verdict.reason = named(thin_air.story.anomaly, group.key);
  told.verdict.facts.emplace_back(fact::kRestsOn, thin_air.rests_on);
  told.verdict.counts = {
      {"operations", static_cast<int64_t>(group.ids.size())},
      {"reads of values that nobody wrote", static_cast<int64_t>(reads.thin_air)}};
  told.verdict.witness = std::move(thin_air.story.witness);
  return told;
}

// The operations that a proof rests on: those of a few values, where what decided named some; else
// all.
struct Case {
  KeyHistory key;
  KeyHistory judged;  // the same, with a cas taken for a write where what it expected is left out
  Problem problem;
  uint32_t event = 0;  // at which it is impossible
};

enum class Failures : uint8_t {
  kTelling,  // those that would have made a value concerned
  kAll       // … and whatever else was said not to have happened
};

// What the suspects read, wrote or expected. Nothing where one of them is a failed cas: that speaks
// of all values.
std::set<Scalar> values_of_suspects(const History& history, const KeyGroup& group,
                                    std::vector<Position> suspects) {
  std::sort(suspects.begin(), suspects.end());
  auto suspect = [&](Position p) {
    return p != kOpen && std::binary_search(suspects.begin(), suspects.end(), p);
  };
  std::set<Scalar> values;
  for (uint32_t id : group.ids) {
    const KeyOp op = key_op(history[id]);
    if (!suspect(op.call) && !suspect(op.ret)) continue;
    if (op.mismatch) return {};
    values.insert(op.value);
    if (op.may_produce()) values.insert(op.produced());
  }
  return values;
}

// All that concerns these values. What it leaves out produces values that nobody in it observes, so
// that what is impossible with it is impossible without; failed cas observe nothing in it.
Case case_of_values(const History& history, const KeyGroup& group, const std::set<Scalar>& values,
                    Failures failures) {
  Case part{.key = {.key = group.key, .conventions = conventions_of(history, group), .ops = {}},
            .judged = {},
            .problem = {}};
  for (uint32_t id : group.ids) {
    KeyOp op = key_op(history[id]);
    const bool failed = op.type == OpType::kFail && op.f != Call::kRead;
    const bool concerned =
        op.type == OpType::kFail
            ? failed && (failures == Failures::kAll || values.contains(op.produced()))
            : values.contains(op.value) || (op.may_produce() && values.contains(op.produced()));
    op.mismatch = false;
    if (concerned && (op.f != Call::kRead || judges_reads(history))) part.key.ops.push_back(op);
  }
  part.judged = part.key;
  for (KeyOp& op : part.judged.ops) {
    if (op.f != Call::kCas || op.type == OpType::kFail || values.contains(op.value)) continue;
    op.f = Call::kWrite;
    op.value = op.next;
  }
  part.problem = prepare(part.judged);
  return part;
}

bool impossible(Case& part, const ShrinkLimits& limits) {
  SearchOptions options;
  options.work_max = 10'000'000;
  options.exhausted = limits.exhausted;
  const SearchResult found = search(part.problem, options);
  part.event = found.event;
  return found.outcome == Outcome::kInvalid;
}

Case case_of(const History& history, const KeyGroup& group, const KeyFinding& result,
             const std::set<Scalar>& values, const ShrinkLimits& limits) {
  if (!values.empty()) {
    Case part = case_of_values(history, group, values, Failures::kTelling);
    if (impossible(part, limits)) return part;
  }
  Case all{.key = key_history(history, group), .judged = {}, .problem = {}};
  all.judged = all.key;
  all.problem = prepare(all.key);
  all.event = result.found.event;
  if (result.found.stage == Stage::kUnique) {  // it counts no events of the problem
    SearchOptions options;
    options.work_max = limits.work_max;
    options.exhausted = limits.exhausted;
    all.event = search(all.problem, options).event;  // a lower bound where that ended it
  }
  return all;
}

std::string whose_word(const History& history, const KeyGroup& group,
                       const std::set<Scalar>& values, Position last, const ShrinkLimits& limits) {
  if (!values.empty()) {
    Case part = case_of_values(history, group, values, Failures::kAll);
    if (impossible(part, limits)) return WhoseWord(history, part.judged, last, limits).sentence();
  }
  return WhoseWord(history, key_history(history, group), last, limits).sentence();
}

// "the operations on 4 and 5": which the values are, as far as they are few.
std::string those_on(const History& history, const KeyHistory& key,
                     const std::set<Scalar>& values) {
  std::vector<std::string> texts;
  for (const KeyOp& op : key.ops) {
    if (op.f != Call::kWrite || !values.contains(op.value)) continue;
    const Operation write = history[op.id];
    texts.push_back(write.f() == f::delete_ ? "null" : write.argument().to_json());
  }
  constexpr size_t kNamed = 4;
  if (texts.size() != values.size() || texts.size() > kNamed) {
    return "the operations on the values concerned";
  }
  return "the operations on " + listed(texts);
}

// Where the key is impossible for another reason before that, of what the proof rests on.
std::optional<LastOrder> last_order_of(const History& history, const KeyGroup& group,
                                       const Case& found, const std::set<Scalar>& values,
                                       Position last, const ShrinkLimits& limits) {
  const KeyHistory key = key_history(history, group);
  auto order = last_order(history, key, last, limits);
  if (order) return order;
  if (values.empty()) return first_break(history, key, last, limits);
  order = last_order(history, found.judged, last, limits);
  if (order) order->of = those_on(history, found.key, values);
  return order;
}

}  // namespace

std::string key_name(Symbol key) { return key.empty() ? "register" : std::string(key.text()); }
std::string of_key(Symbol key) { return key.empty() ? "" : " of " + std::string(key.text()); }

Told tell_invalid(const History& history, const KeyGroup& group, const KeyFinding& result,
                  const Surroundings& surroundings, const ShrinkLimits& limits) {
  if (result.reads.first) return tell_unwritten(history, group, result.reads, surroundings);
  const std::set<Scalar> values = values_of_suspects(history, group, result.suspects);
  const Case found = case_of(history, group, result, values, limits);
  const KeyHistory& key = found.key;
  const Problem& problem = found.problem;
  const Core core = shrink(problem, found.event, limits);
  Story story = tell(history, key, problem, core, surroundings);
  Told told;
  told.operations = core.ops.size();
  told.last = position_of(key, problem, core.last);
  Verdict& verdict = told.verdict;
  verdict.name = key_name(group.key);
  verdict.safety = Safety::kInvalid;
  verdict.reason = named(story.anomaly, group.key);
  const std::string word = whose_word(history, group, values, told.last, limits);
  story.witness.lines.push_back(word);
  verdict.facts.emplace_back(fact::kRestsOn, word);
  told.rests = !WhoseWord::is_independent(word);
  verdict.facts.emplace_back("decided by", std::string(to_string(result.found.stage)));
  verdict.counts = {{"operations", static_cast<int64_t>(group.ids.size())},
                    {"cannot be weakened", static_cast<int64_t>(core.ops.size())}};
  story.witness.order = last_order_of(history, group, found, values, told.last, limits);
  verdict.witness = std::move(story.witness);
  return told;
}

}  // namespace assay::linearizable
