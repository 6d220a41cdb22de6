// The search for any model: decides whether a legal order of a part's operations exists. Exact:
// valid and invalid are proven; unknown only where a budget ran out.
//
// In layers, as the one for registers (search.h), knowing no values: a configuration is a state and
// what is placed of the operations under way. What it does not branch on:
//   observers    are placed as soon as they fit
//   free changes are those that would have changed nothing at some moment while they were under way
//                (the state stayed as it was, or the next change hides them, by Model::hides); they
//                may be dropped when they return, or still be used
//   equals       of equal operations the one that returns first is used, acknowledged ones before
//                those of unknown outcome; of these only how many of a class are used is kept
//   lost states  lead nowhere: an observer under way, or the next, cannot fit any more (lost())
//   unseen ones  are all one: no observer fits before the next reset, and that overwrites what comes
//                before it (Model::resets_overwrite), so that changes until then are free
// No recursion; memory is linear in the part plus the largest set.
#pragma once

#include <memory>
#include <vector>

#include "checkers/linearizable/general_problem.h"
#include "checkers/linearizable/search.h"

namespace assay::linearizable {

// Each is exact: switching one off changes the work, never the verdict. For the tests.
struct GeneralReductions {
  bool free_changes = true;
  bool symmetry = true;
  bool dominance = true;
  bool lost_states = true;
  bool unseen_states = true;  // needs free_changes and lost_states
};

// Where things may stand just before an event: the state, and of the operations under way those that
// have happened, and those that need not happen any more (ids in the history).
struct Standing {
  StateId state = kNoState;
  std::vector<uint32_t> placed;
  std::vector<uint32_t> freed;
};

// Of SearchOptions, `reductions` mean nothing here.
struct GeneralSearchOptions : SearchOptions {
  GeneralReductions general;
  // Those of another search, whose ids `start` and `seen` use. Empty: its own.
  std::shared_ptr<ModelStates> states;
  std::vector<Standing> start;  // how it may stand at first; empty: in the initial state
  // Receives how it may stand just before each event from seen_from on; nothing where that is more
  // than seen_max. Of use where nothing is cut (beam 0).
  std::vector<std::vector<Standing>>* seen = nullptr;
  uint32_t seen_from = 0;
  uint32_t seen_max = 16;
};

// Placements are of changes; SearchCounters::hidden counts free changes that were dropped.
SearchResult general_search(const GeneralProblem& problem, const GeneralSearchOptions& options = {});

// A legal order of the operations, as their ids in the history, from what the search placed.
// Aborts where one has no place: then the search was wrong.
std::vector<uint32_t> linear_order(const GeneralProblem& problem,
                                   const std::vector<Placement>& placements);

// Replays an order on the model and the history as it was recorded. Empty when it is legal,
// respects real time and holds every operation that must be in it; else what is wrong with it.
std::string replay(const History& history, const assay::Model& model, const PartGroup& group,
                   const std::vector<uint32_t>& order);

}  // namespace assay::linearizable
