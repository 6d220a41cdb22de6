// script: ordered steps from the spec, one after another: client operations on named nodes, faults
// and waits on the nemesis lane (script_steps.h). A step that refers to an answer that did not come
// is left out, with a remark, and so is what refers to it.
#include <algorithm>
#include <memory>
#include <utility>

#include "workloads/gen/combinators.h"
#include "workloads/keyed_run.h"
#include "workloads/registry.h"
#include "workloads/script_steps.h"

namespace assay {
namespace {

// The steps in order. A client step runs on the first free worker of its node, so that steps that
// wait for each other are those of one process; the others run on the first lane.
class ScriptGenerator final : public Generator {
 public:
  ScriptGenerator(Script script, int group_size, int nodes)
      : script_(std::move(script)),
        group_size_(group_size),
        nodes_(nodes),
        answers_(script_.steps().size()),
        under_way_(script_.steps().size()),
        begun_(script_.steps().size()) {}

  Next next(const Context& context) override {
    Nanos wake = kNever;
    proposed_again_ = again_.size();
    for (size_t i = 0; i < again_.size(); ++i) {
      const Worker worker = worker_for(context, script_.steps()[again_[i].step]);
      if (context.now < again_[i].not_before) wake = std::min(wake, again_[i].not_before);
      if (context.now < again_[i].not_before || worker == kNoWorker) continue;
      proposed_again_ = i;
      return proposal(context, again_[i].op, worker);
    }
    for (; current_ < script_.steps().size(); ++current_) {
      const ScriptStep& step = script_.steps()[current_];
      if (must_wait(step)) return Next::pending(wake);
      if (step.kind == ScriptStep::Kind::kAnswers) continue;
      std::string why;
      std::optional<Op> op = script_.resolve(current_, answers_, why);
      if (!op) {
        remarks_.push_back("script step " + std::to_string(current_ + 1) + " was left out: " + why);
        continue;
      }
      const Worker worker = worker_for(context, step);
      if (worker == kNoWorker) return Next::pending(wake);
      return proposal(context, std::move(*op), worker);
    }
    return awaited_ == kNone && !may_try_again() ? Next::done() : Next::pending(wake);
  }

  void taken(const Context& context, const Next& next) override {
    step_of_worker_.resize(static_cast<size_t>(context.workers->size()), kNone);
    if (proposed_again_ < again_.size()) {
      step_of_worker_[next.worker] = again_[proposed_again_].step;
      again_.erase(again_.begin() + static_cast<ptrdiff_t>(proposed_again_));
      return;
    }
    step_of_worker_[next.worker] = current_;
    begun_[current_] = context.now;
    under_way_[current_] = true;
    if (!script_.steps()[current_].async) awaited_ = current_;
    ++current_;
  }

  void update(const Context& context, Worker worker, const Op& completion) override {
    if (static_cast<size_t>(worker) >= step_of_worker_.size()) return;
    const size_t step = std::exchange(step_of_worker_[worker], kNone);
    if (step == kNone) return;
    answers_[step] = completion;
    if (completion.type != OpType::kOk &&
        context.now < begun_[step] + script_.steps()[step].until_ok) {
      std::string ignored;
      if (auto op = script_.resolve(step, answers_, ignored))
        return again_.push_back({step, std::move(*op), context.now + kRest});
    }
    under_way_[step] = false;
    if (awaited_ == step) awaited_ = kNone;
  }

  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr Nanos kRest = milliseconds(50);  // before an operation is tried again

  struct Again {
    size_t step;
    Op op;
    Nanos not_before;
  };

  static Next proposal(const Context& context, Op op, Worker worker) {
    op.process = context.workers->process(worker);
    op.time = context.now;
    return Next::ready(std::move(op), worker);
  }

  bool must_wait(const ScriptStep& step) const {
    if (step.kind == ScriptStep::Kind::kAnswers &&
        std::find(under_way_.begin(), under_way_.end(), true) != under_way_.end())
      return true;
    return awaited_ != kNone || std::any_of(step.needs.begin(), step.needs.end(),
                                            [&](size_t needed) { return under_way_[needed]; });
  }

  bool may_try_again() const {
    for (size_t step = 0; step < under_way_.size(); ++step)
      if (under_way_[step] && script_.steps()[step].until_ok > Nanos{}) return true;
    return false;
  }

  Worker worker_for(const Context& context, const ScriptStep& step) const {
    const Workers& workers = *context.workers;
    if (step.kind != ScriptStep::Kind::kClient) {
      const Worker lane = workers.clients();
      return lane < context.end && workers.is_free(lane) ? lane : kNoWorker;
    }
    for (Worker w = 0; w < workers.clients(); ++w) {
      if (workers.is_free(w) && node_of_worker(w, group_size_, nodes_) == step.node) return w;
    }
    return kNoWorker;
  }

  const Script script_;
  const int group_size_;
  const int nodes_;
  size_t current_ = 0;      // the next step
  size_t awaited_ = kNone;  // the step that the next one waits for
  std::vector<size_t> step_of_worker_;
  std::vector<std::optional<Op>> answers_;  // by step
  std::vector<bool> under_way_;             // by step
  std::vector<Nanos> begun_;                // by step
  std::vector<Again> again_;                // operations to be tried again
  size_t proposed_again_ = 0;               // of these the one proposed; their count: none
  std::vector<std::string> remarks_;
};

class ScriptRun final : public WorkloadRun {
 public:
  ScriptRun(Script script, const WorkloadOptions& options)
      : options_(options),
        steps_(script.steps()),
        generator_(std::move(script), options.group_size, static_cast<int>(options.nodes.size())) {}

  Gen load() override { return gen::borrow(generator_); }
  int lanes() const override { return 1; }
  Gen final_reads() override {
    return final_reads_of(options_, [this] { return keys(); });
  }
  std::vector<Symbol> ops() const override {
    std::vector<Symbol> ops;
    for (const ScriptStep& step : steps_) {
      if (step.kind == ScriptStep::Kind::kClient) add(ops, step.op.f);
    }
    return ops;
  }
  bool guarded() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const ScriptStep& step) {
      return step.expected || !step.op.expected.none();
    });
  }
  std::vector<std::string> remarks() const override { return generator_.remarks(); }

 private:
  static void add(std::vector<Symbol>& symbols, Symbol symbol) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
      symbols.push_back(symbol);
    }
  }

  // Those that the script uses, the last ones first.
  std::vector<Symbol> keys() const {
    std::vector<Symbol> keys;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (!step->op.key.empty()) add(keys, step->op.key);
    }
    return keys;
  }

  const WorkloadOptions options_;
  const std::vector<ScriptStep> steps_;
  ScriptGenerator generator_;
};

class ScriptWorkload final : public Workload {
 public:
  std::string_view name() const override { return "script"; }
  std::string_view summary() const override {
    return "the steps of the spec's \"script\", one after another: operations, faults and waits";
  }
  std::vector<Symbol> ops() const override { return {}; }
  std::vector<std::string> checkers() const override { return register_checkers(); }
  // A script shows what it was written for in a few operations, of which some are meant to fail;
  // that it ran is seen in its final reads.
  Value header() const override {
    Value::Object members = cas_register_header().as_object();
    Value::Object thresholds;
    for (const char* counter :
         {"ok_per_f", "conflicts_percent", "ok_under_fault", "ok_after_heal"}) {
      thresholds.emplace_back(Symbol(counter), Value(0));
    }
    members.emplace_back(Symbol("thresholds"), Value::object(std::move(thresholds)));
    return Value::object(std::move(members));
  }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    auto script = Script::parse(options.script, options.nodes);
    if (!script) return script.error();
    const int nodes = static_cast<int>(options.nodes.size());
    for (size_t i = 0; i < script->steps().size(); ++i) {
      const ScriptStep& step = script->steps()[i];
      if (step.kind == ScriptStep::Kind::kClient && !reaches(options, step.node, nodes)) {
        return input_error("script step " + std::to_string(i + 1) + ": no worker is on the node " +
                           options.nodes[step.node] + ": more concurrency is needed");
      }
    }
    return std::unique_ptr<WorkloadRun>(std::make_unique<ScriptRun>(std::move(*script), options));
  }

 private:
  static bool reaches(const WorkloadOptions& options, int node, int nodes) {
    for (Worker w = 0; w < options.concurrency; ++w) {
      if (node_of_worker(w, options.group_size, nodes) == node) return true;
    }
    return false;
  }
};

}  // namespace

const Workload& script_workload() {
  static const ScriptWorkload workload;
  return workload;
}

}  // namespace assay
