// The rule that update-chain shares with conflicts.
#pragma once

#include <optional>

#include "checkers/findings.h"

namespace assay::update_chain {

// What a history's tokens may be used for.
struct Scope {
  bool orderable = false;
  bool one_scale = false;      // revisions of keys are those of the store
  bool origins_known = false;  // every change is of a kind that key events show
};
Scope scope_of(const History& history);

// A guarded write that was accepted though what it compared was provably not the last state, or none.
std::optional<Finding> accepted_on_an_old_token(const History& history, const KeyTrack& track,
                                                const Scope& scope);

}  // namespace assay::update_chain
