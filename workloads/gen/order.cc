// sequence, phases, repeat, cycle.
#include <cstdint>

#include "workloads/gen/combinators.h"

namespace assay::gen {
namespace {

class Sequence final : public Generator {
 public:
  Sequence(std::vector<Gen> gens, bool barrier) : gens_(std::move(gens)), barrier_(barrier) {}

  Next next(const Context& context) override {
    for (; current_ < gens_.size(); ++current_, open_ = false) {
      if (barrier_ && !open_ && !context.all_free()) return Next::pending();
      open_ = true;
      Next next = gens_[current_]->next(context);
      if (next.kind != Next::Kind::kDone) return next;
    }
    return Next::done();
  }
  void taken(const Context& context, const Next& next) override {
    gens_[current_]->taken(context, next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    if (current_ < gens_.size()) gens_[current_]->update(context, worker, completion);
  }

 private:
  std::vector<Gen> gens_;
  const bool barrier_;
  size_t current_ = 0;
  bool open_ = false;  // the current one has begun
};

class Repeat final : public Generator {
 public:
  Repeat(int64_t times, std::function<Gen()> make) : left_(times), make_(std::move(make)) {}

  Next next(const Context& context) override {
    while (current_ || left_ > 0) {
      const bool fresh = !current_;
      if (fresh) {
        --left_;
        current_ = make_();
      }
      Next next = current_->next(context);
      if (next.kind != Next::Kind::kDone) return next;
      current_.reset();
      if (fresh) left_ = 0;
    }
    return Next::done();
  }
  void taken(const Context& context, const Next& next) override { current_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& completion) override {
    if (current_) current_->update(context, worker, completion);
  }

 private:
  int64_t left_;
  std::function<Gen()> make_;
  Gen current_;
};

}  // namespace

Gen sequence(std::vector<Gen> gens) { return std::make_unique<Sequence>(std::move(gens), false); }
Gen phases(std::vector<Gen> gens) { return std::make_unique<Sequence>(std::move(gens), true); }
Gen repeat(int64_t times, std::function<Gen()> make) {
  return std::make_unique<Repeat>(times, std::move(make));
}
Gen cycle(std::function<Gen()> make) { return repeat(INT64_MAX, std::move(make)); }

}  // namespace assay::gen
