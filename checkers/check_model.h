// The linearizability check for any Model: is there, for each part of the state, one order of its
// operations that respects real time and that the model could have gone through? What
// `assay check --model NAME` runs; call it with a model of your own.
#pragma once

#include "checkers/checker.h"
#include "checkers/model.h"

namespace assay {

// An input error when there is an operation that the model does not have, or one that is malformed.
Result<void> can_judge(const History& history, const Model& model);

// The verdict is named "linearizable"; its children are the parts that are not valid. can_judge()
// must have accepted the history. The model must outlive the call; parts are judged in
// budget.jobs threads, the largest first.
Verdict check_model(const History& history, const Model& model, const Budget& budget);

// Whether one of its parts is found to be impossible (Checker::refutes). can_judge() must have
// accepted the history.
bool model_refutes(const History& prefix, const Model& model, const Budget& budget);

// The model that the header names, or that the operations can only belong to; nullptr for those of
// registers, which have a check of their own, and where no model has them.
Result<const Model*> general_model_of(const History& history);

}  // namespace assay
