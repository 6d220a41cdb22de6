// Soonest: how a composite chooses among its children. Private to workloads/gen.
#pragma once

#include <algorithm>
#include <utility>

#include "workloads/gen/generator.h"

namespace assay::gen {

// Collects the children's answers and keeps the operation that is due first; among equals the
// one offered first.
class Soonest {
 public:
  static constexpr int kNone = -1;

  void offer(Next&& next, int child) {
    if (next.kind == Next::Kind::kDone) return;
    all_done_ = false;
    if (next.kind == Next::Kind::kPending) {
      wake_ = std::min(wake_, next.wake);
      return;
    }
    wake_ = std::min(wake_, next.wake);
    if (child_ == kNone || next.op.time < best_.op.time) {
      best_ = std::move(next);
      child_ = child;
    }
  }
  // A child that was not asked because it can have nothing now: all its workers are busy.
  void note_busy() { all_done_ = false; }

  bool due(Nanos now) const { return child_ != kNone && best_.op.time <= now; }
  int child() const { return child_; }
  // The answer of the composite; call it last.
  Next take() {
    if (child_ != kNone) {
      best_.wake = std::min(best_.wake, wake_);
      return std::move(best_);
    }
    return all_done_ ? Next::done() : Next::pending(wake_);
  }

 private:
  Next best_;
  int child_ = kNone;
  Nanos wake_ = kNever;
  bool all_done_ = true;
};

}  // namespace assay::gen
