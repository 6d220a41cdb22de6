// Search: decides whether a legal order of a problem's operations exists. Exact: valid and invalid
// are proven; unknown only where a budget ran out.
//
// A just-in-time search in layers (Lowe 2017). If an order exists, one exists in which every
// operation that changes the state is placed just before the return of some operation, in bursts
// that end with it. So the events are swept with a set of configurations (the state, and what is
// placed of the operations under way); a return keeps those in which the operation is placed and
// replaces the others by all their bursts that end with it. The set becomes empty: invalid. It
// survives the end: valid. The art is to keep the sets small (Reductions), and to look at few of
// their members where that is enough (the ladder).
//
// No recursion; memory is linear in the problem plus the largest set.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "checkers/linearizable/problem.h"

namespace assay::linearizable {

// Each is exact: switching one off changes the work, never the verdict. For the tests.
struct Reductions {
  bool lazy_writes = true;  // whether a write was overwritten unseen is never decided by branching
  bool productive = true;   // inside a burst, write only what somebody under way can use
  bool unwanted = true;     // an overwritten write that nobody can want returns without bursts
  bool symmetry = true;     // of equal operations, use the one that returns first
  bool dominance = true;    // drop configurations that are no better than another
  bool contradiction = true;  // where a beam dies, look for two operations that are proof enough
  bool dead_values = true;  // leave no value that is needed later and cannot come back
};

struct SearchOptions {
  Reductions reductions;
  uint32_t beam = 3;               // configurations kept at the lowest level; 0: full sets at once
  int rungs = 5;                   // of the ladder of wider beams, before a full search
  bool over_approximation = true;  // before a full search, try with optional operations unlimited
  uint64_t work_max = UINT64_MAX;  // configurations looked at or compared; some 10 ns each
  uint64_t memory_bytes_max = 1ull << 30;
  std::function<bool()> exhausted;  // polled every few thousand steps; empty: never
  uint32_t pending_min = 0;  // for the tests: masks as wide as for so many operations under way
  bool want_order = false;   // of a valid problem: find the order too
};

enum class Outcome : uint8_t { kValid, kInvalid, kUnknown };

// What decided.
enum class Stage : uint8_t {
  kUnique,       // values are unique: no search
  kUniqueOrder,  // … and the failed cas fit the order tried
  kUniqueRepair,  // … or one that a search mended where they did not
  kContradiction,  // an operation found a value that it cannot have
  kBeam,
  kLadder,
  kOverApproximation,
  kFull
};
std::string_view to_string(Stage stage);

struct SearchCounters {
  uint64_t events = 0;     // swept, repeats included
  uint64_t nodes = 0;      // configurations looked at inside bursts
  uint64_t work = 0;       // what work_max limits
  uint64_t layer_max = 0;  // largest set
  // How often each device did something.
  uint64_t dominated = 0, dead = 0, unproductive = 0, boundaries = 0, symmetric = 0, hidden = 0,
           unwanted = 0, beam_cuts = 0, lean_retries = 0, restarts = 0, lanes_released = 0;
  void add(const SearchCounters& other);
};

// An operation that changes the state, and the event just before which it happens.
struct Placement {
  uint32_t op = 0;
  uint32_t event = 0;
};

struct SearchResult {
  Outcome outcome = Outcome::kUnknown;
  Stage stage = Stage::kBeam;
  // Invalid: the event at which no configuration was left; an operation that comes later may be the
  // reason, where it needs a value that cannot come back. Unknown: the furthest event reached.
  // Valid: their number.
  uint32_t event = 0;
  bool out_of_memory = false;  // unknown: it was memory_bytes_max that it met
  std::vector<Placement> placements;  // where an order was wanted: what changes the state, in order
  SearchCounters counters;
};

SearchResult search(const Problem& problem, const SearchOptions& options = {});

}  // namespace assay::linearizable
