// Trial: the conformance run of a target's clients, before any nemesis (`assay try`). Most reports
// that a harness is wrong come from a client that calls an unknown outcome a failure: here each
// such trap is set on purpose, on a small cluster of its own, and the answer is looked at.
//
// A step is wrong when the client said what is not so or what it cannot know; it is weak when it
// knew more than it said. Both need mending; what the target does not claim or serve is not tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/history/op.h"
#include "harness/console.h"
#include "harness/plan.h"
#include "results/store.h"

namespace assay {

enum class Grade { kFine, kWeak, kWrong, kNotTried };
std::string_view to_string(Grade grade);  // "fine", "weak", "wrong", "not tried"

struct TrialStep {
  std::string name;  // the situation
  Grade grade = Grade::kFine;
  std::string seen;  // what was expected and what came; why it was not tried
  std::string mend;  // what to do about it; empty where it is fine
};

// A row of the table of errors as observed.
struct ObservedError {
  std::string situation;
  Op completion;
  bool guess = false;  // nobody named this error: its class is the default for what is not known
};

struct TrialResult {
  std::vector<TrialStep> steps;
  std::vector<ObservedError> errors;
  std::optional<Error> failure;  // the harness's or the environment's: no statement
  bool interrupted = false;
  bool conforms() const;
};

// In the private world already, where the plan says so. Blocks until the cluster is gone again.
TrialResult run_trial(Plan& plan, const RunFolder& folder, Console& console);

std::string trial_text(const TrialResult& result);
Value trial_json(const TrialResult& result);

}  // namespace assay
