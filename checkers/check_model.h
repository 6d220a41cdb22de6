// The linearizability check for any Model: is there, for each part of the state, one order of its
// operations that respects real time and that the model could have gone through? What
// `assay check --model NAME` runs; call it with a model of your own.
#pragma once

#include "checkers/checker.h"
#include "checkers/model.h"

namespace assay {

// An input error when there is an operation that the model does not have, one that is malformed, or
// an initial value that is none of the model's.
Result<void> can_judge(const History& history, const Model& model);

// The verdict is named "linearizable"; its children are the parts that are not valid. can_judge()
// must have accepted the history. The model must outlive the call; parts are judged in
// budget.jobs threads, the largest first. The orders of valid parts go to the proof, where there is
// one.
Verdict check_model(const History& history, const Model& model, const Budget& budget,
                    Proof* proof = nullptr);
// The orders alone.
void prove_model(const History& history, const Model& model, const Budget& budget, Proof& proof);

// Whether one of its parts is found to be impossible (Checker::refutes). can_judge() must have
// accepted the history.
bool model_refutes(const History& prefix, const Model& model, const Budget& budget);

// An input error where some operations have a key and others have none: these would be judged as
// one more key, which nobody can have meant. Of a model as initials_of_nothing() takes it.
Result<void> keys_fit(const History& history, const Model* model);

// The names of which the header gives an initial value by an object, and which nothing in the
// history touches. An input error where that is all of them: then an object was meant as the value
// itself, or a name is wrong. can_judge() must have accepted the history where a model is given;
// nullptr: the names are the keys.
Result<std::vector<Symbol>> initials_of_nothing(const History& history, const Model* model);

// The model that the header names, or that the operations can only belong to; nullptr for those of
// registers, which have a check of their own, and where no model has them.
Result<const Model*> general_model_of(const History& history);

}  // namespace assay
