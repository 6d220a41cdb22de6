// Problem: one key, prepared for the search: what each operation becomes, values as small numbers,
// events in order.
//
//   read v             ok             R(v)    the state is v at some point of its interval
//   read               else           dropped
//   write v            ok             W(v)
//   write v            fail           dropped
//   write v            info           W(v)?   optional; may take effect at any time after its call
//   cas a b            ok             C(a,b); R(a) when a = b
//   cas a b            info           C(a,b)? optional; dropped when a = b
//   cas a b            fail           F(a)    the state is not a at some point, where the cause is
//                                             known to be the comparison and conventions let it
//                                             observe; else dropped
//   delete                            as a write of null
//
// A failed cas that compared a token says only that the tokens differed: it becomes F(a) where a is
// produced at most once on the key, and is dropped elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "checkers/linearizable/interner.h"
#include "checkers/linearizable/key_history.h"

namespace assay::linearizable {

inline constexpr uint32_t kNoEvent = UINT32_MAX;

enum class Kind : uint8_t { kRead, kWrite, kCas, kMismatch };

struct ProblemOp {
  Kind kind = Kind::kRead;
  bool optional = false;    // may never have happened; always a write or a cas
  ValueId from = 0;         // R, F, C: the value concerned
  ValueId to = 0;           // W, C: the value produced
  uint32_t call = 0;        // event
  uint32_t ret = kNoEvent;  // event; kNoEvent of an optional one
  uint32_t source = 0;      // position in KeyHistory::ops
  uint32_t cls = 0;         // of an optional one: its class, that is (kind, from, to)

  bool observes() const { return kind == Kind::kRead || kind == Kind::kMismatch; }
  bool produces() const { return !observes(); }
};

// Optional operations equal in kind and values are interchangeable.
struct OptionalClass {
  Kind kind = Kind::kWrite;
  ValueId from = 0;
  ValueId to = 0;
};

// Until when something about a value can still be invoked: the event after the last such call; 0
// when there is none.
struct ValueFuture {
  uint32_t producer = 0;  // W, W?, C, C? that make it
  uint32_t needed = 0;    // R, C: it must be current at some time
  uint32_t wanted = 0;    // R, C, C?
};

struct Problem {
  std::vector<ProblemOp> ops;    // in order of invocation
  std::vector<uint32_t> events;  // 2 * op, + 1 for a return
  ValueId initial = 0;
  uint32_t values = 1;
  // Nothing is known of the state just before the event `start` but that it is one of
  // start_states, and operations then under way may already have taken effect. What is impossible
  // from there is impossible whatever came before.
  bool any_state = false;
  uint32_t start = 0;
  std::vector<ValueId> start_states;

  // Derived by finish(), which lay_out() calls.
  std::vector<OptionalClass> classes;
  std::vector<ValueFuture> futures;   // by value
  uint32_t mismatch_until = 0;        // after the last call of an F …
  ValueId mismatch_value = 0;         // … this is its value …
  uint32_t mismatch_until_other = 0;  // … and the same among the F of other values
  uint32_t pending_max = 0;           // operations that are not optional, under way at once

  // From operations in order of invocation whose call and ret are positions of the history (equal
  // returns are taken in any order): the events, by which they are then numbered, and the rest.
  // `positions` receives those of the events.
  void lay_out(std::vector<Position>* positions = nullptr);
  void finish();
  // Whether an F(x) with x other than v is invoked after event t.
  bool mismatch_other_than(ValueId v, uint32_t t) const {
    return (v == mismatch_value ? mismatch_until_other : mismatch_until) > t + 1;
  }

 private:
  void look_ahead();  // all that finish() derives but pending_max
};

struct PrepareOptions {
  // Values that nobody observes are one value, and unobserved optional operations are dropped
  // where no F is left.
  bool merge_unobserved = true;
};

Problem prepare(const KeyHistory& history, const PrepareOptions& options = {});

// The first return of an operation that found a value which it cannot have: nobody had begun to
// make it, or whoever made it had returned before another operation began that found or made a
// different one, and that had returned before. kNoEvent when there is none. Proves a problem
// impossible in one pass: most stale reads are found so.
uint32_t first_contradiction(const Problem& problem);

}  // namespace assay::linearizable
