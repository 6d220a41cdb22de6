// Conviction: what is told of a key that no order explains: the operations that show it, on whose
// word it rests, and the longest beginning that an order still explains.
#pragma once

#include <string>

#include "checkers/checker.h"
#include "checkers/linearizable/judge.h"
#include "checkers/linearizable/story.h"
#include "checkers/linearizable/unclaimed_reads.h"
#include "checkers/linearizable/witness.h"

namespace assay::linearizable {

// What was found of a key, reads included that are not claimed to be linearizable.
struct KeyFinding : KeyResult {
  UnclaimedReads reads;
  Outcome outcome() const { return reads.first ? Outcome::kInvalid : found.outcome; }
};

struct Told {
  Verdict verdict;
  bool rests = false;     // on what the client called a definite failure
  size_t operations = 0;  // that cannot be weakened
  Position last = 0;
};

std::string key_name(Symbol key);  // of the verdict
std::string of_key(Symbol key);    // " of k7"

Told tell_invalid(const History& history, const KeyGroup& group, const KeyFinding& result,
                  const Surroundings& surroundings, const ShrinkLimits& limits);

}  // namespace assay::linearizable
