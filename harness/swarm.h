// Swarm testing: each seed draws which faults there are, how they come, and how the store is set, so
// that many runs of one command are many different tests (Groce et al., "Swarm testing", ISSTA 2012:
// what is left out matters as much as what is in).
#pragma once

#include "harness/spec.h"
#include "targets/target.h"

namespace assay {

// A spec without `swarm`, drawn from one with it. The same seed draws the same. Of the faults of the
// list (--nemesis; unset: those of a default run and delay), some, at least one; their length and
// their interval; and of the target's options those that have values to draw from and that the user
// did not set.
TestSpec draw_swarm(const TestSpec& spec, uint64_t seed, const TargetInfo& target);

}  // namespace assay
