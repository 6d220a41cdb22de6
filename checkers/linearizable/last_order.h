// The last legal order: of what came before the moment at which nothing explains a key any more,
// one order that is legal. Not a part of the proof, but of the picture: it shows what the state was.
#pragma once

#include <optional>

#include "checkers/checker.h"
#include "checkers/linearizable/general_problem.h"
#include "checkers/linearizable/key_history.h"
#include "checkers/linearizable/witness.h"

namespace assay::linearizable {

// Of what comes before the event at the position `last`, which must be one of the key's. Nothing
// where that is not possible either, or where the budget ended.
std::optional<LastOrder> last_order(const History& history, const KeyHistory& key, Position last,
                                    const ShrinkLimits& limits);
// Where it is not: of what comes before the first event, up to `last`, that makes it impossible.
std::optional<LastOrder> first_break(const History& history, const KeyHistory& key, Position last,
                                     const ShrinkLimits& limits);
std::optional<LastOrder> last_order(const History& history, const assay::Model& model,
                                    const PartGroup& group, Position last,
                                    const ShrinkLimits& limits);

}  // namespace assay::linearizable
