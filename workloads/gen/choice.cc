// mix, any, reserve, on_workers, each_worker, each_process, map, borrow, always.
#include "workloads/gen/combinators.h"
#include "workloads/gen/soonest.h"

namespace assay::gen {
namespace {

class Mix final : public Generator {
 public:
  Mix(Rng rng, std::vector<Weighted> children) : rng_(rng), children_(std::move(children)) {
    for (const Weighted& child : children_) {
      ASSAY_CHECK(child.weight >= 0, "a weight of %d", child.weight);
      total_ += static_cast<uint64_t>(child.weight);
    }
  }

  Next next(const Context& context) override {
    while (total_ > 0) {
      if (!drawn_) draw();
      Next next = children_[current_].gen->next(context);
      if (next.kind != Next::Kind::kDone) return next;
      drawn_ = false;
      total_ -= static_cast<uint64_t>(children_[current_].weight);
      children_[current_].weight = 0;
    }
    return Next::done();
  }
  void taken(const Context& context, const Next& next) override {
    drawn_ = false;
    children_[current_].gen->taken(context, next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    for (const Weighted& child : children_) child.gen->update(context, worker, completion);
  }

 private:
  void draw() {
    auto at = static_cast<int64_t>(rng_.below(total_));
    for (current_ = 0; at >= children_[current_].weight; ++current_)
      at -= children_[current_].weight;
    drawn_ = true;
  }

  Rng rng_;
  std::vector<Weighted> children_;  // weight 0: done
  uint64_t total_ = 0;
  size_t current_ = 0;
  bool drawn_ = false;
};

class Any final : public Generator {
 public:
  explicit Any(std::vector<Gen> gens) : gens_(std::move(gens)) {}

  Next next(const Context& context) override {
    if (gens_.empty()) return Next::done();
    const int count = static_cast<int>(gens_.size());
    return soonest(count, turn_ % count, Fairness::kAskAll, context.now, chosen_,
                   [&](int child) { return gens_[child]->next(context); });
  }
  void taken(const Context& context, const Next& next) override {
    turn_ = chosen_ + 1;
    gens_[chosen_]->taken(context, next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    for (const Gen& gen : gens_) gen->update(context, worker, completion);
  }

 private:
  std::vector<Gen> gens_;
  int turn_ = 0;  // who is asked first
  int chosen_ = 0;
};

// Children with workers of their own. The one whose worker has been idle the longest goes first,
// and is not compared with the others when its operation is due: it is the fair choice, and the
// cheap one.
class Reserve final : public Generator {
 public:
  Reserve(std::vector<Reserved> children, Gen rest) : children_(std::move(children)) {
    children_.push_back({0, std::move(rest)});
  }

  Next next(const Context& context) override {
    const Worker idlest = context.idlest();
    const int first = idlest == kNoWorker ? 0 : child_of(context, idlest);
    return soonest(static_cast<int>(children_.size()), first, Fairness::kFirstIfDue, context.now,
                   chosen_,
                   [&](int child) { return children_[child].gen->next(share_of(context, child)); });
  }
  void taken(const Context& context, const Next& next) override {
    children_[chosen_].gen->taken(share_of(context, chosen_), next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    if (worker < context.begin || worker >= context.end) return;
    const int child = child_of(context, worker);
    children_[child].gen->update(share_of(context, child), worker, completion);
  }

 private:
  int child_of(const Context& context, Worker worker) const {
    const int last = static_cast<int>(children_.size()) - 1;
    Worker end = context.begin;
    for (int child = 0; child < last; ++child) {
      end += children_[child].workers;
      if (worker < end) return child;
    }
    return last;
  }
  Context share_of(const Context& context, int child) const {
    Worker begin = context.begin;
    for (int i = 0; i < child; ++i) begin += children_[i].workers;
    const bool last = child + 1 == static_cast<int>(children_.size());
    return context.within(begin, last ? context.end : begin + children_[child].workers);
  }

  std::vector<Reserved> children_;  // the last one: the rest
  int chosen_ = 0;
};

class OnWorkers final : public Generator {
 public:
  OnWorkers(Worker begin, Worker end, Gen gen) : begin_(begin), end_(end), gen_(std::move(gen)) {}

  Next next(const Context& context) override { return gen_->next(context.within(begin_, end_)); }
  void taken(const Context& context, const Next& next) override {
    gen_->taken(context.within(begin_, end_), next);
  }
  void update(const Context& context, Worker worker, const Op& completion) override {
    if (worker >= begin_ && worker < end_) {
      gen_->update(context.within(begin_, end_), worker, completion);
    }
  }

 private:
  const Worker begin_;
  const Worker end_;
  Gen gen_;
};

class EachWorker final : public Generator {
 public:
  EachWorker(std::function<Gen(Worker, Process)> make, bool renew)
      : make_(std::move(make)), renew_(renew) {}

  Next next(const Context& context) override {
    if (context.begin == context.end) return Next::done();
    slots_.resize(static_cast<size_t>(context.workers->size()));
    const Worker idlest = context.idlest();
    const int first = idlest == kNoWorker ? 0 : idlest - context.begin;
    int chosen = 0;  // the operation names its worker
    return soonest(context.end - context.begin, first, Fairness::kFirstIfDue, context.now, chosen,
                   [&](int child) { return ask(context, context.begin + child); });
  }
  void taken(const Context& context, const Next& next) override {
    const Worker w = next.worker;
    slots_[w].gen->taken(context.within(w, w + 1), next);
  }
  void update(const Context& context, Worker w, const Op& completion) override {
    if (w < context.begin || w >= context.end || static_cast<size_t>(w) >= slots_.size()) return;
    if (slots_[w].gen) slots_[w].gen->update(context.within(w, w + 1), w, completion);
  }

 private:
  struct Slot {
    Gen gen;
    Process process;
  };

  Next ask(const Context& context, Worker w) {
    if (!context.workers->is_free(w)) return Next::pending();
    Slot& slot = slots_[w];
    const Process process = context.workers->process(w);
    if (!slot.gen || (renew_ && slot.process != process)) slot = {make_(w, process), process};
    return slot.gen->next(context.within(w, w + 1));
  }

  std::function<Gen(Worker, Process)> make_;
  const bool renew_;
  std::vector<Slot> slots_;  // by worker
};

class Map final : public Generator {
 public:
  Map(std::function<void(Op&)> alter, Gen gen) : alter_(std::move(alter)), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    Next next = gen_->next(context);
    if (next.kind == Next::Kind::kOp) alter_(next.op);
    return next;
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& completion) override {
    gen_->update(context, worker, completion);
  }

 private:
  std::function<void(Op&)> alter_;
  Gen gen_;
};

class Borrow final : public Generator {
 public:
  explicit Borrow(Generator& gen) : gen_(gen) {}

  Next next(const Context& context) override { return gen_.next(context); }
  void taken(const Context& context, const Next& next) override { gen_.taken(context, next); }
  void update(const Context& context, Worker worker, const Op& completion) override {
    gen_.update(context, worker, completion);
  }

 private:
  Generator& gen_;
};

}  // namespace

Gen always(Op op) {
  return each([op = std::move(op)](const Context&, Worker) { return op; });
}
Weighted weighted(int weight, Gen gen) { return {weight, std::move(gen)}; }
Gen mix(Rng rng, std::vector<Weighted> children) {
  return std::make_unique<Mix>(rng, std::move(children));
}
Gen any(std::vector<Gen> gens) { return std::make_unique<Any>(std::move(gens)); }
Reserved reserved(int workers, Gen gen) { return {workers, std::move(gen)}; }
Gen reserve(std::vector<Reserved> children, Gen rest) {
  return std::make_unique<Reserve>(std::move(children), std::move(rest));
}
Gen on_workers(Worker begin, Worker end, Gen gen) {
  return std::make_unique<OnWorkers>(begin, end, std::move(gen));
}
Gen each_worker(std::function<Gen(Worker)> make) {
  return std::make_unique<EachWorker>(
      [make = std::move(make)](Worker w, Process) { return make(w); }, false);
}
Gen each_process(std::function<Gen(Process)> make) {
  return std::make_unique<EachWorker>(
      [make = std::move(make)](Worker, Process process) { return make(process); }, true);
}
Gen map(std::function<void(Op&)> alter, Gen gen) {
  return std::make_unique<Map>(std::move(alter), std::move(gen));
}
Gen borrow(Generator& gen) { return std::make_unique<Borrow>(gen); }

}  // namespace assay::gen
