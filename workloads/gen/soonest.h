// How a composite chooses among its children. Private to workloads/gen.
#pragma once

#include <algorithm>
#include <utility>

#include "workloads/gen/generator.h"

namespace assay::gen {

enum class Fairness : uint8_t {
  kAskAll,      // the first that is due, whoever it is
  kFirstIfDue,  // the first one asked is the fair choice: nobody else is asked when it is due
};

// Asks children 0 to count-1, beginning with `first`, for their answers: Next ask(int child). Gives
// the operation that is due first, among equals that of the child asked first, and sets `chosen`
// to its child; pending when none has any, done when all are done.
template <typename Ask>
Next soonest(int count, int first, Fairness fairness, Nanos now, int& chosen, Ask ask) {
  chosen = first;
  Next best = ask(first);
  for (int i = 1; i < count; ++i) {
    const bool have = best.kind == Next::Kind::kOp;
    if (have && fairness == Fairness::kFirstIfDue && best.op.time <= now) break;
    const int child = (first + i) % count;
    Next next = ask(child);
    if (next.kind == Next::Kind::kDone) continue;
    const Nanos wake = std::min(best.wake, next.wake);
    if (next.kind == Next::Kind::kOp && (!have || next.op.time < best.op.time)) {
      best = std::move(next);
      chosen = child;
    } else if (!have) {
      best.kind = Next::Kind::kPending;
    }
    best.wake = wake;
  }
  return best;
}

}  // namespace assay::gen
