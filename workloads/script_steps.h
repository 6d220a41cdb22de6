// The steps of the workload `script`, read and checked. Private to workloads/.
//
// A step is an object of one of three kinds:
//   {"on": node, "f": …, "key": …, "value": …, "expected": token, "as": name}   a client operation
//   {"nemesis": "cut", "from": node, "to": node}, {"nemesis": "heal"},
//   {"nemesis": "split", "sides": [[node …], [node …] …]},
//   {"nemesis": "delay", "from": node, "to": node, "by": "300ms", "jitter": "100ms",
//    "reorder": true, "duplicate": percent}, {"nemesis": "undelay"},
//   {"nemesis": "kill"|"start"|"pause"|"resume", "node": node}                  a fault
//   {"wait": "converged"|"leader"|"blocked", "for": "5s"}, {"wait": "answers"}  a wait
// The nemesis gets them as start-partition {from, to} (one more directed cut) or {sides} (every link
// between two of them: each node is on one), stop-partition (all cuts), start-delay {from, to, by, …}
// (one more slow link; jitter, reorder and duplicate may be left out), stop-delay (all of them),
// start-kill, stop-kill, start-pause, stop-pause {node}, and wait {wait, for}. Each step may say
// "async": true: the next one does not wait for it to complete; a wait for answers is over when none
// is under way. An operation that says "until_ok": "5s" is tried again for so long, as operations of
// their own, until it is answered ok; its answer is the last one. The name that "as" gives stands in
// extra "step".
//
// Later steps use the answer to a step that is named by "as", in their value and expected:
//   "$a.value"     the value that it gave; of an ok answer
//   "$a.revision"  the token of the key's state; 0 (absent) where a read found nothing
//   "$a.at"        the store's revision in the answer
//   "$a.current"   the token that a conflict reported
// A text that begins with "$" itself is written with "$$".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/op.h"
#include "checkers/history/time.h"

namespace assay {

enum class AnswerField : uint8_t { kValue, kRevision, kAt, kCurrent };

// A reference to an earlier answer.
struct AnswerRef {
  size_t step = 0;  // ordinal from 0
  AnswerField field = AnswerField::kValue;
};

struct ScriptStep {
  enum class Kind : uint8_t { kClient, kNemesis, kWait, kAnswers };
  Kind kind = Kind::kClient;
  int node = -1;  // of a client step, ordinal from 0
  Op op;          // references in value stand as they were written
  Symbol name;    // "as"; empty: none
  bool async = false;
  Nanos until_ok;  // of a client step: tried again for so long; 0: once
  std::optional<AnswerRef> expected;  // in place of op.expected
  std::vector<size_t> needs;          // steps that it refers to
};

class Script {
 public:
  // Errors are the user's input and name the step from 1: "script step 3: unknown f "reed"…".
  static Result<Script> parse(const Value& steps, const std::vector<std::string>& nodes);

  const std::vector<ScriptStep>& steps() const { return steps_; }

  // The operation of a step with its references resolved by the answers so far (by step, those
  // that have completed). Nothing where an answer lacks what is asked of it; `why` says which.
  std::optional<Op> resolve(size_t step, const std::vector<std::optional<Op>>& answers,
                            std::string& why) const;

 private:
  friend class ScriptParser;
  std::optional<AnswerRef> find_ref(std::string_view text) const;
  std::optional<Value> resolve(const Value& value, const std::vector<std::optional<Op>>& answers,
                               std::string& why) const;

  std::vector<ScriptStep> steps_;
};

}  // namespace assay
