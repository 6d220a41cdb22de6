// stagger, sleep, sleep_until.
#include <algorithm>

#include "workloads/gen/combinators.h"

namespace assay::gen {
namespace {

class Stagger final : public Generator {
 public:
  Stagger(Nanos interval, Rng rng, Gen gen)
      : interval_(interval), rng_(rng), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    if (due_ == kNever) due_ = context.now;
    Next next = gen_->next(context);
    if (next.kind == Next::Kind::kPending) waited_ = true;
    if (next.kind != Next::Kind::kOp) return next;
    if (waited_ && context.now > due_) overdue_ = true;
    waited_ = false;
    // What the child itself puts into the future keeps its time where that is later than ours.
    const bool later = next.op.time > context.now && next.op.time > due_;
    if (!later) next.op.time = due_;
    if (next.op.process.is_client()) next.op.scheduled = next.op.time;
    return next;
  }

  void taken(const Context& context, const Next& next) override {
    const Nanos gap = draw();
    due_ = overdue_ ? context.now + gap : std::max(next.op.time + gap, context.now - kMadeUp);
    overdue_ = false;
    gen_->taken(context, next);
  }

  void update(const Context& context, Worker worker, const Op& completion) override {
    gen_->update(context, worker, completion);
  }

 private:
  static constexpr Nanos kMadeUp = milliseconds(1);

  Nanos draw() { return {static_cast<int64_t>(rng_.below(2 * interval_.count))}; }

  Nanos interval_;
  Rng rng_;
  Gen gen_;
  Nanos due_ = kNever;    // of the next operation; kNever before the first question
  bool waited_ = false;   // the last answer was pending
  bool overdue_ = false;  // it was still so when the operation was due: workers were short
};

class Sleep final : public Generator {
 public:
  Sleep(Nanos span, Nanos until) : span_(span), until_(until) {}

  Next next(const Context& context) override {
    if (until_ == kNever) until_ = context.now + span_;
    return context.now >= until_ ? Next::done() : Next::pending(until_);
  }
  void taken(const Context&, const Next&) override {}

 private:
  Nanos span_;
  Nanos until_;
};

}  // namespace

Gen stagger(Nanos interval, Rng rng, Gen gen) {
  ASSAY_CHECK(interval.count >= 0, "an interval of %lld ns",
              static_cast<long long>(interval.count));
  return std::make_unique<Stagger>(interval, rng, std::move(gen));
}
Gen sleep(Nanos span) { return std::make_unique<Sleep>(span, kNever); }
Gen sleep_until(Nanos point) { return std::make_unique<Sleep>(Nanos{}, point); }

}  // namespace assay::gen
