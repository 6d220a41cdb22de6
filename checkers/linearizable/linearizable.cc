#include "checkers/linearizable/linearizable.h"

#include <algorithm>
#include <tuple>

#include "checkers/check_model.h"
#include "checkers/facts.h"
#include "checkers/linearizable/conviction.h"
#include "checkers/key_events.h"
#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/keywise.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/parallel.h"
#include "checkers/linearizable/proof.h"
#include "checkers/linearizable/story.h"
#include "checkers/linearizable/unclaimed_reads.h"
#include "checkers/linearizable/weaker.h"
#include "checkers/models/registry.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::linearizable {
namespace {

constexpr size_t kWitnessesMax = 5;  // keys whose anomaly is told
constexpr size_t kChildrenMax = 20;  // keys shown

// What is found of the keys, by the number of their group.
class Keys {
 public:
  Keys(const History& history, const Budget& budget, const LinearizableOptions& options)
      : history_(history), budget_(budget), options_(options), groups(group_by_key(history)) {
    results.resize(groups.size());
    if (options.proof == nullptr) return;
    options.proof->model = to_string(*model_of(history));
    for (const KeyGroup& group : groups)
      options.proof->parts.push_back({.names = {group.key}, .order = {}});
  }

  void judge() {
    in_parallel(groups.size(), budget_.jobs, [&](size_t i) { results[i] = judge_one(i); });
  }

  std::vector<size_t> with(Outcome outcome) const {
    std::vector<size_t> keys;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].outcome() == outcome) keys.push_back(i);
    }
    return keys;
  }

 private:
  KeyFinding judge_one(size_t i) const {
    KeyFinding result;
    if (budget_.exhausted()) return result;  // small keys end before the search asks
    if (!judges_reads(history_)) result.reads = judge_values(history_, groups[i]);
    JudgeOptions options{.search = options_.search,
                         .want_order = options_.prove || options_.proof != nullptr};
    options.search.exhausted = budget_.exhausted;
    options.search.memory_bytes_max =
        budget_.memory_bytes / 4 / static_cast<uint64_t>(std::max(1, budget_.jobs));
    static_cast<KeyResult&>(result) = judge_key(history_, groups[i], options);
    if (options.want_order) take_order(i, result);
    result.order = {};
    return result;
  }
  void take_order(size_t i, const KeyFinding& result) const {
    PartProof* proof = options_.proof ? &options_.proof->parts[i] : nullptr;
    if (proof) proof->safety = safety_of(result.outcome());
    if (result.found.outcome != Outcome::kValid) return;
    const KeyHistory key = key_history(history_, groups[i]);
    const std::string wrong = replay(key, result.order);
    ASSAY_CHECK(wrong.empty(), "the order found for key \"%s\" is not one: %s",
                std::string(groups[i].key.text()).c_str(), wrong.c_str());
    if (!proof || proof->safety != Safety::kValid) return;
    for (uint32_t op : result.order) proof->order.push_back(key.ops[op].id);
  }

  const History& history_;
  const Budget& budget_;
  const LinearizableOptions& options_;

 public:
  const std::vector<KeyGroup> groups;
  std::vector<KeyFinding> results;
};

Verdict tell_unknown(const History& history, const KeyGroup& group, const KeyFinding& result) {
  Verdict verdict;
  verdict.name = key_name(group.key);
  verdict.safety = Safety::kUnknown;
  const KeyHistory key = key_history(history, group);
  const Problem problem = prepare(key);
  const size_t events = problem.events.size();
  const size_t event = std::min<size_t>(result.found.event, events > 0 ? events - 1 : 0);
  verdict.reason = "not decided within its " + std::string(result.found.out_of_memory ? "memory" : "budget") +
                   ": " + std::to_string(event) + " of " +
                   std::to_string(events) + " events" + of_key(group.key) + " explained";
  if (events > 0) {
    const uint32_t what = problem.events[event];
    const Operation at = history[key.ops[problem.ops[what / 2].source].id];
    verdict.reason +=
        ", up to index " + std::to_string(what & 1 ? at.return_index() : at.invoke_index());
  }
  verdict.counts = {{"operations", static_cast<int64_t>(group.ids.size())},
                    {"events", static_cast<int64_t>(events)},
                    {"event reached", static_cast<int64_t>(event)},
                    {"unknown writes", static_cast<int64_t>(result.unknown)}};
  verdict.facts.emplace_back(fact::kMissing, verdict.reason);
  verdict.facts.emplace_back(fact::kRemedy, result.found.out_of_memory
                                                ? "more memory: `--memory 16G`"
                                                : "more time: `--budget 600s`");
  verdict.facts.emplace_back(fact::kRemedy, "fewer operations on a key: `--ops-per-key 100`");
  return verdict;
}

void add_conventions(const History& history, Model model, Verdict& verdict) {
  const HistoryHeader& header = history.header();
  auto assume = [&](std::string text) {
    verdict.facts.emplace_back(fact::kConvention, std::move(text));
  };
  assume("each key is a " + std::string(to_string(model)) +
         (header.model.empty() ? " (guessed)" : ""));
  assume("the initial value is " + header.initial.to_json());
  if (model == Model::kCasRegister) {
    assume(header.failed_cas_observes ? "a failed CAS observes that the value differed"
                                      : "a failed CAS says nothing of the value");
  }
  assume(header.null_read_is_value ? "an ok read of null is a value"
                                   : "an ok read of null says nothing");
}

void add_counts(const History& history, const Keys& keys, Verdict& verdict) {
  int64_t ok = 0, fail = 0, info = 0, events = 0, unknown = 0;
  for (size_t id = 0; id < history.size(); ++id) {
    switch (history[id].type()) {
      case OpType::kOk:
        ++ok;
        break;
      case OpType::kFail:
        ++fail;
        break;
      default:
        ++info;
    }
  }
  SearchCounters counters;
  for (const KeyFinding& result : keys.results) {
    events += static_cast<int64_t>(result.events);
    unknown += static_cast<int64_t>(result.unknown);
    counters.add(result.found.counters);
  }
  const size_t largest = keys.groups.empty() ? 0 : keys.groups[0].ids.size();
  verdict.counts = {{"keys", static_cast<int64_t>(keys.groups.size())},
                    {"operations", static_cast<int64_t>(history.size())},
                    {"ok", ok},
                    {"fail", fail},
                    {"info", info},
                    {"largest key", static_cast<int64_t>(largest)},
                    {"events", events},
                    {"events searched", static_cast<int64_t>(counters.events)},
                    {"configurations", static_cast<int64_t>(counters.nodes)},
                    {"configurations at once", static_cast<int64_t>(counters.layer_max)},
                    {"unknown writes", unknown}};
}

UnclaimedReads unclaimed_reads(const Keys& keys) {
  UnclaimedReads all;
  for (const KeyFinding& result : keys.results) all.add(result.reads);
  return all;
}

void add_invalid_keys(const History& history, const Keys& keys, const std::vector<size_t>& invalid,
                      const ShrinkLimits& limits, Verdict& verdict) {
  const Surroundings surroundings(history);
  std::vector<Told> told;
  for (size_t i : invalid) {
    if (told.size() == kWitnessesMax) break;
    told.push_back(tell_invalid(history, keys.groups[i], keys.results[i], surroundings, limits));
  }
  // First what no error mapping can explain away, then the one that is understood most easily.
  std::stable_sort(told.begin(), told.end(), [](const Told& a, const Told& b) {
    return std::tuple(a.rests, a.operations, a.last) < std::tuple(b.rests, b.operations, b.last);
  });
  for (Told& t : told) verdict.add(std::move(t.verdict));
  for (size_t i = kWitnessesMax; i < std::min(invalid.size(), kChildrenMax); ++i) {
    Verdict child{.name = key_name(keys.groups[invalid[i]].key), .safety = Safety::kInvalid};
    child.reason = "no order explains the operations" + of_key(keys.groups[invalid[i]].key);
    verdict.add(std::move(child));
  }
  if (invalid.size() > 1) {
    verdict.facts.emplace_back("invalid keys", std::to_string(invalid.size()) + " of " +
                                                   std::to_string(keys.groups.size()));
  }
}

void add_weaker_promises(const History& history, const Keys& keys,
                         const std::vector<size_t>& invalid, size_t undecided,
                         const Budget& budget, Verdict& verdict) {
  if (invalid.empty() || !judges_reads(history)) return;
  std::vector<const KeyGroup*> groups;
  for (size_t i : invalid) groups.push_back(&keys.groups[i]);
  for (std::string& text : weaker_promises(history, groups, undecided, budget.exhausted)) {
    verdict.facts.emplace_back(fact::kWeaker, std::move(text));
  }
}

// Nothing but unclaimed reads observed a value, or nothing at all did.
void conclude_unobserved(const History& history, const UnclaimedReads& reads, Verdict& verdict) {
  if (reads.telling > 0) {
    verdict.reason = found_sentence(reads) + "; nothing else observed the order of the changes";
    verdict.facts.emplace_back(fact::kNotTested,
                               "the order of the changes: only reads observed it, and these are "
                               "not claimed to be linearizable");
    return;
  }
  const bool claimed = read_claim(history.header()) == "linearizable";
  verdict.reason = history.size() == 0 ? "there is no client operation to judge"
                   : claimed           ? "no operation observed a value: any order will do"
                             : "no operation observed a value that was written: any order will do";
  verdict.safety = Safety::kVacuous;
  verdict.facts.emplace_back(
      fact::kMissing, claimed ? "reads that were answered" : "reads of values that were written");
}

void add_sensitivity(const History& history, const Keys& keys, const Budget& budget,
                     const LinearizableOptions& options, Verdict& verdict) {
  SensitivityOptions sensitivity = options.sensitivity;
  sensitivity.exhausted = budget.exhausted;
  const Sensitivity measured =
      measure_sensitivity(history, keys.groups, Rng(history.header().seed).stream("sensitivity"),
                          sensitivity, options.judge);
  verdict.facts.emplace_back(fact::kCouldHaveBeenCaught, measured.sentence(sensitivity));
  verdict.counts.emplace_back("illegal edits", measured.made());
  verdict.counts.emplace_back("illegal edits caught", measured.caught());
}

std::string changes_sentence(const UnclaimedReads& reads, size_t keys) {
  return "the changes" + (keys == 1 ? "" : " of each of " + std::to_string(keys) + " keys") +
         " fit one order that respects real time" +
         (reads.judged > 0 ? ", and " + found_sentence(reads) : "");
}

}  // namespace

std::string_view to_string(Model model) {
  return model == Model::kRegister ? "register" : "cas-register";
}

Result<Model> model_of(const History& history) {
  bool any_cas = false;
  for (size_t id = 0; id < history.size() && !any_cas; ++id) any_cas = history[id].f() == f::cas;
  const std::string& name = history.header().model;
  if (name == "cas-register" || (name.empty() && any_cas)) return Model::kCasRegister;
  if (name == "register" && any_cas) {
    return input_error("the model register has no cas: use the model cas-register");
  }
  if (name == "register" || name.empty()) return Model::kRegister;
  return input_error("the model " + name + " is not known: there are " + model_names());
}

SearchResult LinearizableOptions::search_any(const Problem& problem, const SearchOptions& options) {
  return linearizable::search(problem, options);
}

Verdict check_linearizable(const History& history, const Budget& budget,
                           const LinearizableOptions& options) {
  Verdict verdict{.name = "linearizable"};
  const auto model = model_of(history);
  ASSAY_CHECK(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  Keys keys(history, budget, options);
  keys.judge();
  add_counts(history, keys, verdict);
  add_conventions(history, *model, verdict);
  const std::string_view claim = read_claim(history.header());
  const UnclaimedReads reads = unclaimed_reads(keys);
  if (claim != "linearizable") add_claims(claim, reads, verdict);

  const std::vector<size_t> invalid = keys.with(Outcome::kInvalid);
  const std::vector<size_t> unknown = keys.with(Outcome::kUnknown);
  ShrinkLimits limits = options.shrink;
  limits.exhausted = budget.exhausted;
  if (!invalid.empty()) add_invalid_keys(history, keys, invalid, limits, verdict);
  add_weaker_promises(history, keys, invalid, unknown.size(), budget, verdict);
  for (size_t i = 0; i < std::min(unknown.size(), kChildrenMax); ++i) {
    verdict.add(tell_unknown(history, keys.groups[unknown[i]], keys.results[unknown[i]]));
  }
  if (!invalid.empty() || !unknown.empty()) return verdict;

  const bool observed = std::any_of(keys.results.begin(), keys.results.end(),
                                    [](const KeyFinding& result) { return result.observed; });
  if (!observed) {
    conclude_unobserved(history, reads, verdict);
    return verdict;
  }
  verdict.reason = claim == "linearizable" ? one_order_sentence(history.size(), keys.groups.size())
                                           : changes_sentence(reads, keys.groups.size());
  add_sensitivity(history, keys, budget, options, verdict);
  return verdict;
}

void prove_registers(const History& history, const Budget& budget, Proof& proof) {
  LinearizableOptions options;
  options.proof = &proof;
  Keys(history, budget, options).judge();
}

namespace {

bool refutes_registers(const History& prefix, const Budget& budget) {
  JudgeOptions options;
  options.search.exhausted = budget.exhausted;
  options.search.memory_bytes_max = budget.memory_bytes / 4;
  for (const KeyGroup& group : group_by_key(prefix)) {
    if (budget.exhausted()) return false;
    if (!judges_reads(prefix) && judge_values(prefix, group).first) return true;
    if (judge_key(prefix, group, options).found.outcome == Outcome::kInvalid) return true;
  }
  return false;
}

class Linearizable : public Checker {
 public:
  std::string_view name() const override { return "linearizable"; }
  std::string_view summary() const override {
    return "one order of each key's operations explains all values and respects real time, by the "
           "model of what is stored";
  }
  Result<void> accepts(const History& history) const override {
    const auto general = general_model_of(history);
    if (!general) return general.error();
    if (*general == nullptr && can_be_keywise(history)) {
      if (auto fit = key_events_fit(history); !fit) return fit;
      const Keywise told = keywise(history);
      if (auto model = model_of(told.history); !model) return model.error();
      const auto fit = assay::linearizable::can_judge(told.history);
      return fit ? keys_fit(told.history, nullptr) : fit;
    }
    if (auto model = model_of(history); !*general && !model) return model.error();
    const auto fit = *general ? assay::can_judge(history, **general) : can_judge(history);
    return fit ? keys_fit(history, *general) : fit;
  }
  Verdict check(const History& history, const Budget& budget) const override {
    return judged(history, budget, nullptr);
  }
  Verdict check_and_prove(const History& history, const Budget& budget,
                          Proof& proof) const override {
    return judged(history, budget, &proof);
  }
  // What has not returned may have happened, by the building of a History; so what no order
  // explains now, none will. But what is to come might change a guess of the model.
  bool refutes(const History& prefix, const Budget& budget) const override {
    if (prefix.header().model.empty()) return false;
    const auto general = general_model_of(prefix);
    if (*general != nullptr) return model_refutes(prefix, **general, budget);
    if (can_be_keywise(prefix)) return refutes_registers(keywise(prefix).history, budget);
    return refutes_registers(prefix, budget);
  }

 private:
  static Verdict judged(const History& history, const Budget& budget, Proof* proof) {
    if (const auto general = general_model_of(history); *general != nullptr) {
      return check_model(history, **general, budget, proof);
    }
    if (can_be_keywise(history)) return judged_by_key(history, budget);
    LinearizableOptions options;
    options.proof = proof;
    return check_linearizable(history, budget, options);
  }
  // Without a proof: its orders would be of another history.
  static Verdict judged_by_key(const History& history, const Budget& budget) {
    const Keywise told = keywise(history);
    Verdict verdict = check_linearizable(told.history, budget);
    in_terms_of_origin(told, verdict);
    if (!told.on_many_keys) return verdict;
    verdict.facts.emplace_back(fact::kConvention,
                               "a list reads each key under its prefix, a txn writes each of its keys");
    verdict.facts.emplace_back(fact::kNotTested,
                               "that a list or a txn is of one instant: keys are judged one by one");
    if (told.lists_without_absence > 0)
      verdict.facts.emplace_back(fact::kNotTested,
                                 "what " + counted(told.lists_without_absence, "list", "lists") +
                                     " lacked: too many keys to judge each");
    return verdict;
  }
};

}  // namespace
}  // namespace assay::linearizable

namespace assay {

const Checker& linearizable_checker() {
  static const linearizable::Linearizable checker;
  return checker;
}

}  // namespace assay
