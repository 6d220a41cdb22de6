#include "nemesis/process_fault.h"

#include <numeric>

#include "checkers/history/vocabulary.h"
#include "nemesis/schedule.h"

namespace assay {
namespace {

// For the next leader to be elected, where a fault is to strike it: other faults bring that about.
constexpr Nanos kElectionPatience = seconds(5);

class ProcessFaultRun : public NemesisRun {
 public:
  ProcessFaultRun(Cluster& cluster, const NemesisOptions& options, ProcessFault fault)
      : cluster_(cluster),
        options_(options),
        victims_rng_(options.rng.stream("victims")),
        fault_(std::move(fault)) {}

  Gen schedule() override { return fault_schedule(fault_.kind, options_.shapes, options_); }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (op.f == start_of(fault_.kind)) return start(op, std::move(done));
    std::vector<int> everyone(cluster_.nodes().size());
    std::iota(everyone.begin(), everyone.end(), 0);
    on_each(everyone, fault_.restore, Bite::kAnywhere,
            [op, tells = fault_.tells, done = std::move(done)](const Result<Effect>& seen) {
              done(fault_stopped(op, seen, tells));
            });
  }

 private:
  void start(const Op& op, std::function<void(Op)> done) {
    const std::string shape(op.value.text_or("shape", "one"));
    if (shape != "elected") return strike(op, choose_victims(shape, cluster_, victims_rng_), done);
    cluster_.await_election(kElectionPatience, [this, op, done = std::move(done)](
                                                   const Result<int>& elected) {
      const bool came = elected && *elected >= 0;
      strike(
          op, came ? std::vector<int>{*elected} : choose_victims("leader", cluster_, victims_rng_),
          done, came ? "" : "no leader was elected within " + format_duration(kElectionPatience));
    });
  }

  void strike(const Op& op, std::vector<int> victims, const std::function<void(Op)>& done,
              const std::string& remark = "") {
    const std::string shape(op.value.text_or("shape", "one"));
    const bool led = cluster_.leader() >= 0;
    if (fault_.strikes != Strikes::kAny) {
      std::vector<int> running = those_that_run(victims);
      if (running.empty() && fault_.strikes == Strikes::kRunningOnly)
        return done(fault_started(op, cluster_, {}, {}, Effect{false, false, "no node runs"}));
      if (!running.empty()) victims = std::move(running);
    }
    on_each(victims, fault_.strike, Bite::kEverywhere,
            [this, op, shape, led, victims, done, remark](const Result<Effect>& seen) {
              Result<Effect> told = aimed(shape, led, seen);
              if (told && !remark.empty()) told->evidence = remark + "; " + told->evidence;
              done(fault_started(op, cluster_, victims, {}, told));
            });
  }

  // The first node that does, where none of them does.
  std::vector<int> those_that_run(std::vector<int> nodes) const {
    std::erase_if(nodes, [&](int node) { return !cluster_.runs(node); });
    for (int node = 0; nodes.empty() && node < static_cast<int>(cluster_.nodes().size()); ++node)
      if (cluster_.runs(node)) nodes = {node};
    return nodes;
  }

  Cluster& cluster_;
  NemesisOptions options_;
  Rng victims_rng_;
  ProcessFault fault_;
};

}  // namespace

std::vector<std::string_view> process_victims() {
  return {"one", "minority", "majority", "leader", "followers", "elected", "all"};
}

std::unique_ptr<NemesisRun> run_process_fault(Cluster& cluster, const NemesisOptions& options,
                                              const std::vector<std::string_view>& deck,
                                              ProcessFault fault) {
  NemesisOptions used = options;
  if (used.shapes.empty()) used.shapes = {deck.begin(), deck.end()};
  return std::make_unique<ProcessFaultRun>(cluster, used, std::move(fault));
}

}  // namespace assay
