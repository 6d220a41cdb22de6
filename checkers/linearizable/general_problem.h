// GeneralProblem: one part of a history (a key, or several that operations connect), prepared for
// the search that knows no more of the operations than a Model says.
#pragma once

#include <string>
#include <vector>

#include "checkers/linearizable/problem.h"
#include "checkers/model.h"

namespace assay::linearizable {

// The operations of a part, most of them first (equal: in order of first appearance).
struct PartGroup {
  ModelPart part;
  std::vector<uint32_t> ids;  // in order of invocation
};
std::vector<PartGroup> group_by_part(const History& history, const assay::Model& model);
std::string part_name(const ModelPart& part);  // "k7", "x+y"; empty where there are no keys

struct GeneralOp {
  uint32_t cls = 0;
  bool optional = false;  // may never have happened; always a change
  bool observes = false;
  uint32_t call = 0;        // event
  uint32_t ret = kNoEvent;  // event; kNoEvent of an optional one
  uint32_t id = 0;          // of the operation in the history
  // Of an observer: the event after the last call, before its return, of a reset that shows in it.
  uint32_t reset = 0;
};

// Operations of one class are equal for the model.
struct GeneralClass {
  ModelOp op;
  bool observes = false;
  bool resets = false;
  uint32_t useful_until = kNoEvent;  // optional ones show in nothing that returns after this event
  bool may_hide = false;             // worth asking whether it hides others
};

// From every state, `earlier` fits and leaves no trace where `later` comes just after it.
bool hides(const assay::Model& model, const GeneralClass& later, const GeneralClass& earlier);

struct GeneralProblem {
  const assay::Model* model = nullptr;
  ModelPart part;
  std::vector<GeneralOp> ops;    // in order of invocation
  std::vector<uint32_t> events;  // 2 * op, + 1 for a return
  std::vector<GeneralClass> classes;
  uint32_t start = 0;  // the events before it are calls of what is under way when it starts

  // Derived by finish().
  uint32_t pending_max = 0;
  std::vector<uint32_t> next_observer;  // by event: of the first call from it on that observes

  void finish();

 private:
  uint32_t last_showing(const std::vector<uint32_t>& resets, const ModelOp& observer) const;
};

// `unknown`: operations whose failure is taken as an unknown outcome, in ascending order. Only the
// operations invoked before the position `end` are in it, and what had not returned by then may
// have happened.
struct GeneralOptions {
  std::vector<uint32_t> unknown;
  Position end = kOpen;
};
GeneralProblem prepare(const History& history, const assay::Model& model, const PartGroup& group,
                       const GeneralOptions& options = {});

// The problem with the operations marked made optional (observers: left out). What is impossible
// then was impossible before.
GeneralProblem weakened(const GeneralProblem& problem, const std::vector<uint8_t>& marks);

// The problem from an event on, without what had returned before: as hard as the whole where it is
// searched from all that there may be then (GeneralSearchOptions::start).
GeneralProblem from_event(const GeneralProblem& problem, uint32_t start);

}  // namespace assay::linearizable
