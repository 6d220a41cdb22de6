#include "workloads/actors.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

class Actors final : public Generator {
 public:
  Actors(MakeActor make, int64_t operations) : make_(std::move(make)), left_(operations) {
    bounded_ = operations > 0;
  }

  Next next(const Context& context) override {
    if (seats_.empty()) take_seats(context);
    Next best = Next::done();
    for (Worker w = context.begin; w < context.end; ++w) {
      Seat& seat = seats_[w - context.begin];
      if (!seat.turn && seat.working) {
        wait_too(best, kNever);
        continue;
      }
      if (!seat.turn && winds_down() && seat.actor->between()) continue;
      if (!context.workers->is_free(w)) {
        wait_too(best, kNever);  // an operation of another generator's
        continue;
      }
      if (!seat.turn) seat.turn = seat.actor->turn(context.now);
      propose(best, context, w, *seat.turn);
    }
    return best;
  }

  void taken(const Context& context, const Next& next) override {
    Seat& seat = seats_[next.worker - context.begin];
    seat.turn.reset();
    seat.working = true;
    --left_;
    last_ = next.worker;
  }

  void update(const Context& context, Worker worker, const Op& completion) override {
    if (seats_.empty() || worker < context.begin || worker >= context.end) return;
    Seat& seat = seats_[worker - context.begin];
    if (!std::exchange(seat.working, false)) return;
    seat.actor->done(completion, context.now);
  }

 private:
  struct Seat {
    std::unique_ptr<Actor> actor;
    std::optional<Actor::Turn> turn;  // proposed, and not yet begun
    bool working = false;
  };

  bool winds_down() const { return bounded_ && left_ <= 0; }

  void take_seats(const Context& context) {
    for (Worker w = context.begin; w < context.end; ++w)
      seats_.push_back({make_(w - context.begin), std::nullopt, false});
  }

  static void wait_too(Next& best, Nanos until) {
    if (best.kind == Next::Kind::kOp) return;
    best.kind = Next::Kind::kPending;
    best.wake = std::min(best.wake, until);
  }

  // Of those that are due, the one whose turn comes first after the last that was taken.
  void propose(Next& best, const Context& context, Worker w, const Actor::Turn& turn) const {
    if (turn.not_before > context.now) return wait_too(best, turn.not_before);
    if (best.kind == Next::Kind::kOp && (best.worker > last_ || w <= last_)) return;
    Op op = turn.op;
    op.process = context.workers->process(w);
    op.time = context.now;
    best = Next::ready(std::move(op), w);
  }

  MakeActor make_;
  std::vector<Seat> seats_;
  bool bounded_ = false;
  int64_t left_;
  Worker last_ = kNoWorker;
};

}  // namespace

Gen actors(MakeActor make, int64_t operations) {
  return std::make_unique<Actors>(std::move(make), operations);
}

}  // namespace assay
