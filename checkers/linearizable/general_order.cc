// The order behind a valid verdict of the search for any model, and its replay.
#include <algorithm>
#include <unordered_map>

#include "checkers/linearizable/general_search.h"

namespace assay::linearizable {
namespace {

// The stretches between placements: stretch k follows the k-th placement (from 1; 0 is the start).
class OrderFinder {
 public:
  OrderFinder(const GeneralProblem& problem, const std::vector<Placement>& placements)
      : problem_(problem), placements_(placements), states_(problem.model->states()) {
    at_.push_back(states_->initial(problem.part));
    for (const Placement& p : placements) {
      at_.push_back(states_->step(at_.back(), op_of(p.op)));
      ASSAY_CHECK(at_.back() != kNoState, "operation %u does not fit where it was placed", p.op);
    }
    inside_.resize(at_.size());
    hidden_.resize(at_.size());
  }

  std::vector<uint32_t> run() {
    std::vector<uint8_t> placed(problem_.ops.size());
    for (const Placement& p : placements_) placed[p.op] = 1;
    for (uint32_t op = 0; op < problem_.ops.size(); ++op) {
      if (!placed[op] && !problem_.ops[op].optional) fill_in(op);
    }
    std::vector<uint32_t> order;
    for (uint32_t k = 0; k < at_.size(); ++k) {
      if (k > 0) order.push_back(problem_.ops[placements_[k - 1].op].id);
      leave_to_be_hidden(k);
      for (uint32_t op : inside_[k]) order.push_back(problem_.ops[op].id);
      for (uint32_t op : hidden_[k]) order.push_back(problem_.ops[op].id);
    }
    return order;
  }

 private:
  const GeneralClass& class_of(uint32_t op) const { return problem_.classes[problem_.ops[op].cls]; }
  const ModelOp& op_of(uint32_t op) const { return class_of(op).op; }
  uint32_t stretch_at(uint32_t event) const {
    const auto after =
        std::upper_bound(placements_.begin(), placements_.end(), event,
                         [](uint32_t e, const Placement& p) { return e < p.event; });
    return static_cast<uint32_t>(after - placements_.begin());
  }
  // Where it changes nothing: the state stays, or the next placement hides it. That comes after its
  // return only where nobody could see the state any more.
  void fill_in(uint32_t op) {
    const uint32_t last = stretch_at(problem_.ops[op].ret);
    for (uint32_t k = stretch_at(problem_.ops[op].call); k <= last; ++k) {
      if (states_->step(at_[k], op_of(op)) == at_[k]) return inside_[k].push_back(op);
      if (k < placements_.size() && !problem_.ops[op].observes &&
          hides(*problem_.model, class_of(placements_[k].op), class_of(op))) {
        return hidden_[k].push_back(op);
      }
    }
    ASSAY_CHECK(false, "operation %u has no place in the order found", op);
  }

  // What changes nothing, but was invoked when one that is hidden had returned.
  void leave_to_be_hidden(uint32_t k) {
    uint32_t returned = kNoEvent;
    for (uint32_t op : hidden_[k]) returned = std::min(returned, problem_.ops[op].ret);
    const auto later = std::stable_partition(
        inside_[k].begin(), inside_[k].end(),
        [&](uint32_t op) { return problem_.ops[op].call < returned; });
    hidden_[k].insert(hidden_[k].end(), later, inside_[k].end());
    inside_[k].erase(later, inside_[k].end());
    std::sort(hidden_[k].begin(), hidden_[k].end());
  }

  const GeneralProblem& problem_;
  const std::vector<Placement>& placements_;
  std::unique_ptr<ModelStates> states_;
  std::vector<StateId> at_;  // by stretch
  std::vector<std::vector<uint32_t>> inside_, hidden_;
};

std::string at_index(const Operation& operation) {
  return "operation " + std::to_string(operation.invoke_index());
}

}  // namespace

std::vector<uint32_t> linear_order(const GeneralProblem& problem,
                                   const std::vector<Placement>& placements) {
  return OrderFinder(problem, placements).run();
}

std::string replay(const History& history, const assay::Model& model, const PartGroup& group,
                   const std::vector<uint32_t>& order) {
  const GeneralProblem problem = prepare(history, model, group);
  std::unordered_map<uint32_t, const GeneralOp*> ops;
  for (const GeneralOp& op : problem.ops) ops[op.id] = &op;
  const auto states = model.states();
  StateId state = states->initial(group.part);
  uint32_t latest_call = 0;
  size_t required = 0;
  for (uint32_t id : order) {
    const auto found = ops.find(id);
    if (found == ops.end()) return at_index(history[id]) + " is in it twice, or has no place in it";
    const GeneralOp& op = *found->second;
    if (op.ret < latest_call) {
      return at_index(history[id]) + " comes after one that was invoked when it had returned";
    }
    latest_call = std::max(latest_call, op.call);
    state = states->step(state, problem.classes[op.cls].op);
    if (state == kNoState) return at_index(history[id]) + " does not fit";
    required += !op.optional;
    ops.erase(found);
  }
  const auto all = static_cast<size_t>(std::count_if(
      problem.ops.begin(), problem.ops.end(), [](const GeneralOp& op) { return !op.optional; }));
  return required == all ? "" : std::to_string(all - required) + " operations are not in it";
}

}  // namespace assay::linearizable
