#include "checkers/linearizable/proof.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "checkers/check_model.h"
#include "checkers/linearizable/general_search.h"
#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/linearizable/order.h"
#include "checkers/linearizable/unclaimed_reads.h"

namespace assay {
namespace linearizable {
namespace {

void for_each_part(size_t parts, const Budget& budget, const std::function<void(size_t)>& prove) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < parts && !budget.exhausted(); i = next++) prove(i);
  };
  const size_t jobs = std::clamp<size_t>(parts, 1, std::max(1, budget.jobs));
  std::vector<std::thread> threads;
  for (size_t i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

template <typename Options>
Options search_options(const Budget& budget) {
  Options options;
  options.exhausted = budget.exhausted;
  options.memory_bytes_max =
      budget.memory_bytes / 4 / static_cast<uint64_t>(std::max(1, budget.jobs));
  options.want_order = true;
  return options;
}

Safety safety_of(Outcome outcome) {
  return outcome == Outcome::kValid     ? Safety::kValid
         : outcome == Outcome::kInvalid ? Safety::kInvalid
                                        : Safety::kUnknown;
}

void must_be_legal(const std::string& wrong) {
  ASSAY_CHECK(wrong.empty(), "the order found is not one: %s", wrong.c_str());
}

void prove_key(const History& history, const KeyGroup& group, const Budget& budget,
               PartProof& proof) {
  const JudgeOptions options{.search = search_options<SearchOptions>(budget), .want_order = true};
  const KeyResult result = judge_key(history, group, options);
  proof.safety = safety_of(result.found.outcome);
  if (!judges_reads(history) && judge_values(history, group).first) {
    proof.safety = Safety::kInvalid;
  }
  if (proof.safety != Safety::kValid) return;
  const KeyHistory key = key_history(history, group);
  must_be_legal(replay(key, result.order));
  for (uint32_t op : result.order) proof.order.push_back(key.ops[op].id);
}

void prove_part(const History& history, const assay::Model& model, const PartGroup& group,
                const Budget& budget, PartProof& proof) {
  const GeneralProblem problem = prepare(history, model, group);
  const SearchResult found = general_search(problem, search_options<GeneralSearchOptions>(budget));
  proof.safety = safety_of(found.outcome);
  if (proof.safety != Safety::kValid) return;
  proof.order = linear_order(problem, found.placements);
  must_be_legal(replay(history, model, group, proof.order));
}

PartProof unproven(const KeyGroup& group) { return {.names = {group.key}, .order = {}}; }
PartProof unproven(const PartGroup& group) { return {.names = group.part.names, .order = {}}; }

template <typename Groups, typename ProveOne>
Proof prove_all(std::string_view model, const Groups& groups, const Budget& budget,
                const ProveOne& prove_one) {
  Proof proof{.model = std::string(model), .parts = {}};
  for (const auto& group : groups) proof.parts.push_back(unproven(group));
  for_each_part(groups.size(), budget, [&](size_t i) { prove_one(groups[i], proof.parts[i]); });
  return proof;
}

}  // namespace
}  // namespace linearizable

Result<Proof> prove(const History& history, const Budget& budget) {
  using namespace linearizable;
  const auto general = general_model_of(history);
  if (!general) return general.error();
  if (const assay::Model* model = *general) {
    if (auto accepted = can_judge(history, *model); !accepted) return accepted.error();
    return prove_all(model->name(), group_by_part(history, *model), budget,
                     [&](const PartGroup& group, PartProof& proof) {
                       prove_part(history, *model, group, budget, proof);
                     });
  }
  const auto model = model_of(history);
  if (!model) return model.error();
  if (auto accepted = linearizable::can_judge(history); !accepted) return accepted.error();
  return prove_all(to_string(*model), group_by_key(history), budget,
                   [&](const KeyGroup& group, PartProof& proof) {
                     prove_key(history, group, budget, proof);
                   });
}

}  // namespace assay
