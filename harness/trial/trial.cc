#include "harness/trial/trial.h"

#include "harness/trial/steps.h"

namespace assay {
namespace trial {
namespace {

const Symbol kLied{"client-lied"}, kUnknown{"unknown"};

}  // namespace

Steps::Steps(Plan& plan, const RunFolder& folder, Console& console)
    : Rig(plan, folder), console_(console) {}

TrialResult Steps::take_result() {
  result_.failure = failure_;
  result_.interrupted = interrupted_;
  return std::move(result_);
}

void Steps::try_all() {
  void (Steps::*const steps[])() = {&Steps::absent_key,         &Steps::write_then_read,
                                    &Steps::odd_values,         &Steps::cas,
                                    &Steps::guarded_write,      &Steps::answer_lost,
                                    &Steps::stands_still,       &Steps::killed_in_the_middle,
                                    &Steps::connection_refused, &Steps::started_again,
                                    &Steps::own_faults};
  for (const auto step : steps) {
    if (stopped() || hopeless_) return;
    (this->*step)();
  }
}

void Steps::add(const std::string& name, Grade grade, std::string seen, std::string mend) {
  if (stopped()) return;
  result_.steps.push_back({name, grade, std::move(seen), std::move(mend)});
  console_.detail(name + ": " + result_.steps.back().seen);
}
void Steps::note_error(const std::string& situation, const Op& completion, bool ours) {
  if (completion.type == OpType::kOk || stopped()) return;
  const bool guess = ours || !completion.error || completion.error->cls.empty() ||
                     completion.error->cls == kUnknown;
  result_.errors.push_back({situation, completion, guess});
}
bool Steps::lied(const std::string& name, const Op& op) {
  const bool changed = op.f != f::read && op.value != asked_value_;
  if (op.error && op.error->cls == kLied) {
    add(name, Grade::kWrong, op.error->text,
        "mend the client program: see the protocol in the guide");
    return true;
  }
  if (!changed) return false;
  add(name, Grade::kWrong,
      "the " + std::string(op.f.text()) + " of " + asked_value_.to_json() +
          " came back as one of " + op.value.to_json(),
      "keep the argument: what is not known to have failed is checked by what it tried to write");
  return true;
}
const Op& Steps::asked(const Op& completion, const Value& argument) {
  asked_value_ = argument;
  return completion;
}

}  // namespace trial

TrialResult run_trial(Plan& plan, const RunFolder& folder, Console& console) {
  trial::Steps steps(plan, folder, console);
  if (steps.set_up()) steps.try_all();
  steps.tear_down();
  plan.target->end();
  return steps.take_result();
}

}  // namespace assay
