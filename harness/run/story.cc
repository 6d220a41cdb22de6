#include "harness/run/story.h"

#include <algorithm>

#include "checkers/history/vocabulary.h"
#include "workloads/gen/combinators.h"

namespace assay {
namespace {

constexpr Nanos kQuiet = milliseconds(500);  // before the final reads
constexpr int kServedPerNode = 20;          // ok operations after which a node has recovered
constexpr Nanos kRecoveryMax = seconds(5);  // or until then

// Says once that a phase begins.
class Announced : public Generator {
 public:
  Announced(std::string_view phase, std::function<void(std::string_view)> say, Gen gen)
      : phase_(phase), say_(std::move(say)), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    if (!said_) say_(phase_);
    said_ = true;
    return gen_->next(context);
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& done) override {
    gen_->update(context, worker, done);
  }

 private:
  std::string_view phase_;
  std::function<void(std::string_view)> say_;
  Gen gen_;
  bool said_ = false;
};

// Done as soon as it is so, though operations may be under way.
class Until : public Generator {
 public:
  Until(std::function<bool()> is_so, Gen gen) : is_so_(std::move(is_so)), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    return is_so_() ? Next::done() : gen_->next(context);
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& done) override {
    gen_->update(context, worker, done);
  }

 private:
  std::function<bool()> is_so_;
  Gen gen_;
};

// Done when each of the workers' nodes has answered ok so many times.
class UntilServed : public Generator {
 public:
  UntilServed(int nodes, int times, Gen gen) : left_(nodes), times_(times), gen_(std::move(gen)) {}

  Next next(const Context& context) override {
    return left_ == 0 ? Next::done() : gen_->next(context);
  }
  void taken(const Context& context, const Next& next) override { gen_->taken(context, next); }
  void update(const Context& context, Worker worker, const Op& done) override {
    gen_->update(context, worker, done);
    if (done.type != OpType::kOk) return;
    const auto found = std::find_if(served_.begin(), served_.end(),
                                    [&](const auto& s) { return s.first == done.node; });
    int& count = found == served_.end() ? served_.emplace_back(done.node, 0).second : found->second;
    if (++count == times_) --left_;
  }

 private:
  int left_;
  int times_;
  Gen gen_;
  std::vector<std::pair<Symbol, int>> served_;
};

Gen in_phase(std::string_view phase, Gen gen) {
  return gen::map(
      [phase](Op& op) {
        if (!op.process.is_client() || !op.extra.is_null()) return;
        op.extra = Value::object({{Symbol("phase"), Value(phase)}});
      },
      std::move(gen));
}

class Story {
 public:
  Story(const Plan& plan, const StoryParts& parts)
      : plan_(plan), parts_(parts), rng_(Rng(plan.seed).stream("story")) {}

  Gen whole() const {
    std::vector<Gen> phases;
    phases.push_back(announced("load", load_and_faults()));
    if (!parts_.faults.empty() || scripted_faults()) {
      phases.push_back(announced("heal", heal()));
      phases.push_back(announced("recovery", recovery()));
    }
    phases.push_back(announced("final", final_reads()));
    return gen::phases(std::move(phases));
  }

 private:
  Gen announced(std::string_view phase, Gen gen) const {
    return std::make_unique<Announced>(phase, parts_.on_phase, std::move(gen));
  }
  Gen clients(Gen gen) const { return gen::on_workers(0, plan_.concurrency, std::move(gen)); }
  Gen lane(size_t i, Gen gen) const {
    const Worker worker = plan_.concurrency + parts_.workload.lanes() + static_cast<int>(i);
    return gen::on_workers(worker, worker + 1, std::move(gen));
  }

  Gen paced(std::string_view stream) const {
    Gen load = parts_.workload.load();
    if (plan_.spec.rate == 0) return load;
    return gen::stagger(seconds(1) / plan_.spec.rate, rng_.stream(stream), std::move(load));
  }

  Gen load_and_faults() const {
    const Worker own = plan_.concurrency + parts_.workload.lanes();
    std::vector<Gen> all;
    all.push_back(gen::on_workers(0, own, gen::time_limit(plan_.spec.time_limit, paced("load"))));
    for (size_t i = 0; i < parts_.faults.size(); ++i)
      all.push_back(lane(i, parts_.faults[i]->schedule()));
    return std::make_unique<Until>(parts_.load_is_over, gen::any(std::move(all)));
  }

  // To every kind, in force or not, and to all nodes: healing is idempotent.
  Gen heal() const {
    std::vector<Gen> all;
    for (size_t i = 0; i < parts_.faults.size(); ++i) {
      const Op stop = stop_op(plan_.faults[i].nemesis->kind());
      all.push_back(lane(i, gen::once(gen::always(stop))));
    }
    if (scripted_faults()) {
      const Worker own = plan_.concurrency;
      for (const char* kind : {"partition", "pause", "kill", "delay"})
        all.push_back(gen::on_workers(own, own + 1, gen::once(gen::always(stop_op(kind)))));
    }
    return gen::any(std::move(all));
  }
  static Op stop_op(std::string_view kind) {
    Op stop;
    stop.process = kNemesis;
    stop.f = stop_of(kind);
    return stop;
  }
  // Steps of a script may break things too; the lanes are its own.
  bool scripted_faults() const { return plan_.starts_nodes && parts_.workload.lanes() > 0; }

  Gen recovery() const {
    return clients(gen::time_limit(
        kRecoveryMax,
        std::make_unique<UntilServed>(static_cast<int>(plan_.layout.nodes.size()), kServedPerNode,
                                      in_phase("recovery", paced("recovery")))));
  }

  // Whatever answers from copies is given time for the last changes to come.
  Gen final_reads() const {
    std::vector<Gen> phases;
    if (plan_.starts_nodes) phases.push_back(gen::sleep(kQuiet));
    phases.push_back(clients(in_phase("final", parts_.workload.final_reads())));
    return gen::phases(std::move(phases));
  }

  const Plan& plan_;
  const StoryParts& parts_;
  Rng rng_;
};

}  // namespace

Gen run_story(const Plan& plan, const StoryParts& parts) { return Story(plan, parts).whole(); }

}  // namespace assay
