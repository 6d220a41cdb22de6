#include <algorithm>

#include "checkers/check_model.h"
#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/linearizable/general_story.h"
#include "checkers/linearizable/last_order.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/linearizable/parallel.h"
#include "checkers/linearizable/proof.h"
#include "checkers/models/registry.h"
#include "checkers/words.h"

namespace assay::linearizable {
namespace {

constexpr size_t kPartsTold = 5;    // whose anomaly is told
constexpr size_t kPartsShown = 20;

struct PartResult {
  SearchResult found;
  size_t events = 0;
  size_t unknown = 0;     // optional operations
  bool observed = false;  // something in it need not have fitted
};

// What is found of the parts, by the number of their group.
class Parts {
 public:
  Parts(const History& history, const assay::Model& model, const Budget& budget,
        Proof* proof = nullptr)
      : history_(history),
        model_(model),
        budget_(budget),
        proof_(proof),
        groups(group_by_part(history, model)) {
    results.resize(groups.size());
    if (proof == nullptr) return;
    proof->model = model.name();
    for (const PartGroup& group : groups)
      proof->parts.push_back({.names = group.part.names, .order = {}});
  }

  void judge() {
    in_parallel(groups.size(), budget_.jobs, [&](size_t i) { results[i] = judge_part(i); });
  }
  std::vector<size_t> with(Outcome outcome) const {
    std::vector<size_t> parts;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].found.outcome == outcome) parts.push_back(i);
    }
    return parts;
  }

 private:
  PartResult judge_part(size_t i) const {
    PartResult result;
    if (budget_.exhausted()) return result;
    const GeneralProblem problem = prepare(history_, model_, groups[i]);
    GeneralSearchOptions options;
    options.exhausted = budget_.exhausted;
    options.memory_bytes_max =
        budget_.memory_bytes / 4 / static_cast<uint64_t>(std::max(1, budget_.jobs));
    options.want_order = kProveByDefault || proof_ != nullptr;
    result.found = general_search(problem, options);
    result.events = problem.events.size();
    for (const GeneralOp& op : problem.ops) {
      result.unknown += op.optional;
      result.observed =
          result.observed || (!op.optional && model_.tells(problem.classes[op.cls].op));
    }
    if (options.want_order) take_order(i, problem, result.found);
    result.found.placements = {};
    return result;
  }
  void take_order(size_t i, const GeneralProblem& problem, const SearchResult& found) const {
    if (proof_) proof_->parts[i].safety = safety_of(found.outcome);
    if (found.outcome != Outcome::kValid) return;
    std::vector<uint32_t> order = linear_order(problem, found.placements);
    const std::string wrong = replay(history_, model_, groups[i], order);
    ASSAY_CHECK(wrong.empty(), "the order found is not one: %s", wrong.c_str());
    if (proof_) proof_->parts[i].order = std::move(order);
  }

  const History& history_;
  const assay::Model& model_;
  const Budget& budget_;
  Proof* proof_;  // each thread writes to the parts that it judges

 public:
  const std::vector<PartGroup> groups;
  std::vector<PartResult> results;
};

std::string named_part(const assay::Model& model, const ModelPart& part) {
  const std::string name = part_name(part);
  return name.empty() ? std::string(model.name()) : name;
}
std::string on_part(const ModelPart& part) {
  const std::string name = part_name(part);
  return name.empty() ? "" : " on " + name;
}

Verdict tell_part(const History& history, const assay::Model& model, const PartGroup& group,
                  const PartResult& result, const ShrinkLimits& limits) {
  const GeneralCore core = shrink(history, model, group, result.found.event, limits);
  Verdict verdict{.name = named_part(model, group.part), .safety = Safety::kInvalid};
  Story story = tell(history, model, group, core);
  verdict.reason = story.anomaly + on_part(group.part);
  const std::string word = whose_word(history, model, group, core.last, limits);
  story.witness.lines.push_back(word);
  story.witness.order = last_order(history, model, group, core.last, limits);
  verdict.facts = {{std::string(fact::kRestsOn), word},
                   {"decided by", std::string(to_string(result.found.stage))}};
  verdict.counts = {{"operations", static_cast<int64_t>(group.ids.size())},
                    {"cannot be weakened", static_cast<int64_t>(core.ops.size())}};
  verdict.witness = std::move(story.witness);
  return verdict;
}

Verdict unknown_part(const History& history, const assay::Model& model, const PartGroup& group,
                     const PartResult& result) {
  Verdict verdict{.name = named_part(model, group.part), .safety = Safety::kUnknown};
  const GeneralProblem problem = prepare(history, model, group);
  const size_t events = problem.events.size();
  const size_t event = std::min<size_t>(result.found.event, events > 0 ? events - 1 : 0);
  verdict.reason = "not decided within its " + std::string(result.found.out_of_memory ? "memory" : "budget") +
                   ": " + std::to_string(event) + " of " +
                   std::to_string(events) + " events" + on_part(group.part) + " explained";
  if (events > 0) {
    const uint32_t what = problem.events[event];
    const Operation at = history[problem.ops[what / 2].id];
    verdict.reason +=
        ", up to index " + std::to_string(what & 1 ? at.return_index() : at.invoke_index());
  }
  verdict.counts = {{"operations", static_cast<int64_t>(group.ids.size())},
                    {"events", static_cast<int64_t>(events)},
                    {"event reached", static_cast<int64_t>(event)},
                    {"unknown writes", static_cast<int64_t>(result.unknown)}};
  verdict.facts = {{std::string(fact::kMissing), verdict.reason},
                   {std::string(fact::kRemedy), result.found.out_of_memory
                                                   ? "more memory: `--memory 16G`"
                                                   : "more time: `--budget 600s`"}};
  return verdict;
}

void say_conventions(const History& history, const assay::Model& model, Verdict& verdict) {
  const HistoryHeader& header = history.header();
  auto assume = [&](std::string text) {
    verdict.facts.emplace_back(fact::kConvention, std::move(text));
  };
  assume("the model is " + std::string(model.name()) + (header.model.empty() ? " (guessed)" : ""));
  assume("the initial value is " + header.initial.to_json());
  assume(header.null_read_is_value ? "an ok read of null is a value"
                                   : "an ok read of null says nothing");
  if (const std::string claim(read_claim(header)); claim != "linearizable") {
    verdict.facts.emplace_back(fact::kNotClaimed, "linearizable reads are not claimed (" + claim +
                                                      "): operations that only read are not judged");
  }
}

void count_parts(const History& history, const Parts& parts, Verdict& verdict) {
  int64_t outcomes[4] = {}, events = 0, unknown = 0;
  for (size_t id = 0; id < history.size(); ++id) ++outcomes[static_cast<int>(history[id].type())];
  SearchCounters counters;
  for (const PartResult& result : parts.results) {
    events += static_cast<int64_t>(result.events);
    unknown += static_cast<int64_t>(result.unknown);
    counters.add(result.found.counters);
  }
  const size_t largest = parts.groups.empty() ? 0 : parts.groups[0].ids.size();
  verdict.counts = {{"keys", static_cast<int64_t>(parts.groups.size())},
                    {"operations", static_cast<int64_t>(history.size())},
                    {"ok", outcomes[static_cast<int>(OpType::kOk)]},
                    {"fail", outcomes[static_cast<int>(OpType::kFail)]},
                    {"info", outcomes[static_cast<int>(OpType::kInfo)]},
                    {"largest key", static_cast<int64_t>(largest)},
                    {"events", events},
                    {"events searched", static_cast<int64_t>(counters.events)},
                    {"configurations", static_cast<int64_t>(counters.nodes)},
                    {"configurations at once", static_cast<int64_t>(counters.layer_max)},
                    {"unknown writes", unknown}};
}

void add_invalid_parts(const History& history, const assay::Model& model, const Parts& parts,
                       const std::vector<size_t>& invalid, const Budget& budget,
                       Verdict& verdict) {
  ShrinkLimits limits{.work_max = 10'000'000, .work_max_once = 2'000'000, .exhausted = {}};
  limits.exhausted = budget.exhausted;
  std::vector<Verdict> told;
  for (size_t i = 0; i < std::min(invalid.size(), kPartsTold); ++i) {
    const size_t part = invalid[i];
    told.push_back(tell_part(history, model, parts.groups[part], parts.results[part], limits));
  }
  // First what no error mapping can explain away, then what is understood most easily.
  std::stable_sort(told.begin(), told.end(), [](const Verdict& a, const Verdict& b) {
    auto rank = [](const Verdict& v) {
      return std::pair(!v.facts[0].second.starts_with("independent"), v.counts[1].second);
    };
    return rank(a) < rank(b);
  });
  for (Verdict& t : told) verdict.add(std::move(t));
  for (size_t i = kPartsTold; i < std::min(invalid.size(), kPartsShown); ++i) {
    const ModelPart& part = parts.groups[invalid[i]].part;
    Verdict child{.name = named_part(model, part), .safety = Safety::kInvalid};
    child.reason = "no order explains the operations" + on_part(part);
    verdict.add(std::move(child));
  }
  if (invalid.size() > 1) {
    verdict.facts.emplace_back("invalid keys", std::to_string(invalid.size()) + " of " +
                                                   std::to_string(parts.groups.size()));
  }
}

void conclude_valid(const History& history, const Parts& parts, Verdict& verdict) {
  const bool observed = std::any_of(parts.results.begin(), parts.results.end(),
                                    [](const PartResult& result) { return result.observed; });
  if (observed) {
    verdict.reason = one_order_sentence(history.size(), parts.groups.size());
    return;
  }
  verdict.reason = history.size() == 0 ? "there is no client operation to judge"
                                       : "no operation observed a value: any order will do";
  verdict.safety = Safety::kVacuous;
  verdict.facts.emplace_back(fact::kMissing, "reads that were answered");
}

}  // namespace
}  // namespace assay::linearizable

namespace assay {

Verdict check_model(const History& history, const Model& model, const Budget& budget,
                    Proof* proof) {
  using namespace linearizable;
  Verdict verdict{.name = "linearizable"};
  Parts parts(history, model, budget, proof);
  parts.judge();
  count_parts(history, parts, verdict);
  say_conventions(history, model, verdict);
  const std::vector<size_t> invalid = parts.with(Outcome::kInvalid);
  const std::vector<size_t> unknown = parts.with(Outcome::kUnknown);
  if (!invalid.empty()) add_invalid_parts(history, model, parts, invalid, budget, verdict);
  for (size_t i = 0; i < std::min(unknown.size(), kPartsShown); ++i) {
    verdict.add(
        unknown_part(history, model, parts.groups[unknown[i]], parts.results[unknown[i]]));
  }
  if (invalid.empty() && unknown.empty()) conclude_valid(history, parts, verdict);
  return verdict;
}

void prove_model(const History& history, const Model& model, const Budget& budget, Proof& proof) {
  linearizable::Parts(history, model, budget, &proof).judge();
}

bool model_refutes(const History& prefix, const Model& model, const Budget& budget) {
  linearizable::Parts parts(prefix, model, budget);
  parts.judge();
  return !parts.with(linearizable::Outcome::kInvalid).empty();
}

}  // namespace assay
