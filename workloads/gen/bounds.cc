// limit, once, time_limit, until_ok.
#include <algorithm>

#include "workloads/gen/combinators.h"

namespace assay::gen {
namespace {

class Limit final : public Generator {
 public:
  Limit(int64_t operations, Gen gen) : left_(operations), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    return left_ > 0 ? gen_->next(context) : Next::done();
  }
  void taken(const Context& context, const Next& next) override {
    --left_;
    gen_->taken(context, next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    gen_->update(context, worker, completion);
  }

 private:
  int64_t left_;
  Gen gen_;
};

class TimeLimit final : public Generator {
 public:
  TimeLimit(Nanos span, Gen gen) : span_(span), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    if (end_ == kNever) end_ = context.now + span_;
    Next next = context.now >= end_ ? Next::done() : gen_->next(context);
    if (next.kind == Next::Kind::kDone) return next;
    if (next.kind == Next::Kind::kOp && next.op.time >= end_) next = Next::pending(next.wake);
    next.wake = std::min(next.wake, end_);
    return next;
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& completion) override {
    gen_->update(context, worker, completion);
  }

 private:
  Nanos span_;
  Gen gen_;
  Nanos end_ = kNever;
};

class UntilOk final : public Generator {
 public:
  explicit UntilOk(Gen gen) : gen_(std::move(gen)) {}

  Next next(const Context& context) override { return ok_ ? Next::done() : gen_->next(context); }
  void taken(const Context& context, const Next& next) override {
    own_.resize(static_cast<size_t>(context.workers->size()));
    own_[next.worker] = true;
    gen_->taken(context, next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    const bool own = static_cast<size_t>(worker) < own_.size() && own_[worker];
    if (own && completion.type == OpType::kOk) ok_ = true;
    if (own) own_[worker] = false;
    gen_->update(context, worker, completion);
  }

 private:
  Gen gen_;
  std::vector<bool> own_;  // by worker: it runs an operation of ours
  bool ok_ = false;
};

}  // namespace

Gen limit(int64_t operations, Gen gen) {
  return std::make_unique<Limit>(operations, std::move(gen));
}
Gen once(Gen gen) { return limit(1, std::move(gen)); }
Gen time_limit(Nanos span, Gen gen) { return std::make_unique<TimeLimit>(span, std::move(gen)); }
Gen until_ok(Gen gen) { return std::make_unique<UntilOk>(std::move(gen)); }

}  // namespace assay::gen
