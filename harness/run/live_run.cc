#include "harness/run/live_run.h"

#include <algorithm>
#include <thread>

#include "checkers/history/vocabulary.h"
#include "harness/run/fail_fast.h"
#include "harness/run/host_monitor.h"
#include "harness/run/node_logs.h"
#include "harness/run/observer.h"
#include "harness/run/real_loop.h"
#include "harness/run/set_up.h"
#include "harness/run/story.h"
#include "nemesis/script.h"

namespace assay {
namespace {

constexpr Nanos kStatusInterval = milliseconds(200);
constexpr int64_t kChainLength = 1000;  // compared over all members at the end
constexpr Nanos kWindUpMax =
    milliseconds(1500);                        // for nemesis operations under way at an interrupt
constexpr Nanos kConvergenceMax = seconds(5);  // after the last operation
constexpr Nanos kAnswersMax = seconds(10);     // of nodes that run already
constexpr Nanos kSignalsAreOne = milliseconds(200);

}  // namespace

class LiveRun::Impl {
 public:
  Impl(Plan& plan, const RunFolder& folder, Console& console)
      : plan_(plan), folder_(folder), console_(console) {}
  ~Impl() { plan_.target->end(); }

  Recorded record() {
    if (auto opened = writer_.open(folder_.history_path(), plan_.header()); !opened) {
      recorded_.failure = opened.error();
      return recorded_;
    }
    loop_.on_signal([this](int) { signalled(); });
    loop_.at(plan_.spec.deadline, [this] { past_deadline(); });
    loop_.post([this] { begin(); });
    loop_.run();
    if (auto closed = writer_.close(); !closed && !recorded_.failure)
      recorded_.failure = closed.error();
    closed_ = true;
    if (logs_) logs_->flush();
    recorded_.duration = loop_.now();
    if (runner_) recorded_.counts = runner_->counts();
    return recorded_;
  }

  void hold(std::function<void()> work) {
    held_ = true;
    std::thread worker([&] {
      work();
      loop_.post([this] {
        console_.note("the cluster is left running: Ctrl-C ends it");
        if (released_) tear_down();
        work_done_ = true;
      });
    });
    loop_.run();
    worker.join();
  }

 private:
  // --- The way of a run that nothing disturbs

  void begin() {
    host_ = std::make_unique<HostMonitor>(loop_, recorder_, folder_.path());
    if (plan_.in_process) {
      observe({});
      return play();
    }
    if (!plan_.starts_nodes) {
      observe(plan_.layout.nodes);
      observer_->start(kStatusInterval);
      return await_answers();
    }
    console_.detail("starting " + std::to_string(plan_.layout.nodes.size()) + " nodes");
    set_up_cluster(loop_, plan_, folder_, hooks(),
                   [this](Result<std::unique_ptr<NodeCluster>> cluster) {
                     if (!cluster) return fail(cluster.error());
                     cluster_ = std::move(*cluster);
                     logs_ = std::make_unique<NodeLogs>(folder_, plan_.layout.nodes);
                     observe(plan_.layout.nodes);
                     if (ending_) return tear_down();
                     observer_->start(kStatusInterval);
                     cluster_->set_up([this](Result<void> ready) {
                       if (!ready) return fail(ready.error());
                       if (!ending_) await_leader();
                     });
                   });
  }

  void observe(const std::vector<NodeInfo>& nodes) {
    observer_ = std::make_unique<Observer>(loop_, recorder_, *plan_.target, nodes);
  }

  // Nodes that run already.
  void await_answers() {
    observer_->watch([this, limit = loop_.now() + kAnswersMax] {
      if (ending_) return true;
      for (const NodeInfo& node : plan_.layout.nodes) {
        if (observer_->status(node.index).is_object()) continue;
        if (loop_.now() < limit) return false;
        fail(environment_error(node.name + " at " + node.address + ":" +
                               std::to_string(node.client_port) + " does not answer"));
        return true;
      }
      play();
      return true;
    });
  }

  // The load begins on a cluster that works: a bring-up that fails says nothing about the store.
  void await_leader() {
    observer_->watch([this, limit = loop_.now() + seconds(10)] {
      if (ending_) return true;
      if (observer_->leader() >= 0 || plan_.target->claims().election_timeout_min == Nanos{}) {
        try_clients();
        return true;
      }
      if (loop_.now() < limit) return false;
      fail(environment_error("no node became leader within 10 s of the start: see the logs in " +
                             folder_.file("nodes")));
      return true;
    });
  }

  void try_clients() {
    plan_.target->try_clients(loop_, [this](Result<void> tried) {
      if (!tried) return fail(tried.error());
      if (!ending_) play();
    });
  }

  void play() {
    host_->start();
    start_faults();
    if (plan_.spec.fail_fast) follow();
    runner_ = std::make_unique<Runner>(
        loop_, recorder_,
        RunnerOptions{.clients = plan_.concurrency,
                      .lanes = plan_.load->lanes() + static_cast<int>(faults_.size()),
                      .op_timeout = plan_.spec.op_timeout},
        ports());
    std::vector<NemesisRun*> faults;
    for (const auto& fault : faults_) faults.push_back(fault.get());
    runner_->run(run_story(plan_, {.workload = *plan_.load,
                                   .faults = faults,
                                   .on_phase = [this](std::string_view phase) { enter(phase); },
                                   .load_is_over = [this] { return recorded_.proof.has_value(); }}),
                 [this] { wind_up(); });
    show_progress();
  }

  void follow() {
    auto header = parse_header(*parse_value(header_line(plan_.header())));
    ASSAY_CHECK(header.ok(), "our own header: %s", header.error().message.c_str());
    fail_fast_ = std::make_unique<FailFast>(std::move(*header), loop_,
                                            [this](const ProvenAnomaly& proof) { proven(proof); });
    recorder_.follow([this](const Op& line) { fail_fast_->take(line); });
  }

  // The load ends here, as if its time were over.
  void proven(const ProvenAnomaly& proof) {
    if (ending_ || !loading_) return;  // it has ended already
    recorded_.proof = proof;
    observer_->note_proof(proof);
    const std::string key(proof.key.text());
    console_.note("fail-fast: the anomaly" + (key.empty() ? "" : " on " + key) + " at " +
                  format_point(proof.time) + " is proven (" + proof.checker +
                  "): the load ends at " + format_point(loop_.now()));
    runner_->ask_again();
  }

  void start_faults() {
    const Rng rng = Rng(plan_.seed).stream("nemesis");
    const Nanos origin = loop_.now();
    for (const PlannedFault& planned : plan_.faults) {
      NemesisOptions options{rng.stream(planned.nemesis->kind())};
      options.shapes = planned.shapes;
      options.settings = planned.settings;
      options.lead_in = origin + plan_.lead_in;
      options.interval = plan_.interval;
      options.duration = plan_.duration;
      options.end = origin + plan_.spec.time_limit;
      faults_.push_back(planned.nemesis->start(*cluster_, options));
    }
    if (cluster_) script_ = std::make_unique<ScriptNemesis>(*cluster_, rng.stream("script"));
  }

  void enter(std::string_view phase) {
    const bool load_ends = loading_ && phase != "load";
    loading_ = phase == "load";
    if (load_ends && fail_fast_) stop_following();
    observer_->note_phase(phase);
    console_.detail(format_point(loop_.now()) + ": " + std::string(phase));
  }

  void stop_following() {
    recorder_.follow({});
    fail_fast_->end();
    if (const size_t keys = fail_fast_->left_out(); keys > 0)
      console_.detail("fail-fast: keys left out, as idle or too much: " + std::to_string(keys));
  }

  void wind_up() {
    if (wound_up_) return;
    wound_up_ = true;
    if (plan_.in_process || ending_) return close_history(0);
    const bool has_leaders = plan_.target->claims().election_timeout_min > Nanos{};
    if (!has_leaders && observer_->leader() < 0) return close_history(kChainLength);
    // Traffic has stopped: the members come to one state, or the checkers will say that they did
    // not.
    observer_->watch([this, limit = loop_.now() + kConvergenceMax] {
      if (!observer_->converged() && loop_.now() < limit && !ending_) return false;
      close_history(ending_ ? 0 : kChainLength);
      return true;
    });
  }

  void close_history(int64_t chain_length) {
    observer_->record_chains(chain_length, [this] {
      note_end();
      observer_->stop();
      host_->stop();
      const bool stays = plan_.spec.leave_running && cluster_ && !ending_;
      stays ? loop_.stop() : tear_down();
    });
  }

  void tear_down() {
    if (torn_down_) return;
    torn_down_ = true;
    if (observer_) {
      note_end();
      observer_->stop();
    }
    if (host_) host_->stop();
    if (!cluster_) return loop_.stop();
    cluster_->close(recorded_.interrupted, [this] { loop_.stop(); });
  }

  // The history's last line: whoever judges it later must know whether it is whole.
  void note_end() {
    if (ended_ || closed_) return;
    ended_ = true;
    observer_->note_phase("end",
                          recorded_.failure ? "the harness failed: " + recorded_.failure->message
                          : recorded_.interrupted   ? "the run was interrupted"
                          : recorded_.past_deadline ? "the run was cut off at its deadline of " +
                                                          format_duration(plan_.spec.deadline)
                                                    : "");
  }

  // --- What disturbs it

  void signalled() {
    const Nanos now = loop_.now();
    if (held_) {
      released_ = true;
      return work_done_ ? tear_down() : void();
    }
    if (recorded_.interrupted) {
      if (now - first_signal_ >= kSignalsAreOne) recorded_.impatient = true;
      return;
    }
    first_signal_ = now;
    recorded_.interrupted = true;
    console_.note("interrupted: healing, saving");
    end_early();
  }

  void past_deadline() {
    if (ending_ || wound_up_) return;
    recorded_.past_deadline = true;
    console_.note("past the deadline of the run: healing, saving");
    end_early();
  }

  void fail(Error error) {
    if (!recorded_.failure) {
      recorded_.failure = std::move(error);
      console_.detail("failed: " + recorded_.failure->message);
    }
    end_early();
  }

  void end_early() {
    if (ending_) return;
    ending_ = true;
    if (fail_fast_) fail_fast_->end();
    if (!runner_) return tear_down();
    runner_->stop();  // wind_up() follows
    loop_.at(loop_.now() + kWindUpMax, [this] { tear_down(); });
  }

  // --- How the runner reaches the world, and the world us

  Runner::Ports ports() {
    return {
        .open_client =
            [this](Worker w, auto done) {
              plan_.target->open_client(loop_, node_of(w), std::move(done));
            },
        .node_of = [this](Worker w) { return Symbol(node_of(w).name); },
        .nemesis = [this](Worker w, const Op& op,
                          auto done) { nemesis(w - plan_.concurrency, op, std::move(done)); },
    };
  }

  const NodeInfo& node_of(Worker worker) const {
    return plan_.layout.nodes[node_of_worker(worker, plan_.group_size,
                                             static_cast<int>(plan_.layout.nodes.size()))];
  }

  void nemesis(int lane, const Op& op, std::function<void(Op)> done) {
    if (lane >= plan_.load->lanes()) {
      console_.detail(format_point(loop_.now()) + ": " + std::string(op.f.text()) + " " +
                      op.value.to_json());
      return faults_[lane - plan_.load->lanes()]->invoke(op, std::move(done));
    }
    if (op.f == Symbol("wait")) return wait_for(op, std::move(done));
    if (script_) return script_->invoke(op, std::move(done));
    loop_.post([op, done = std::move(done)] {
      Op answer = complete(op, OpType::kInfo);
      answer.value = Value::object({{Symbol("error"), Value("the target has no nodes")}});
      done(std::move(answer));
    });
  }

  // A step {"wait": "leader", "for": "5s"} of a script: until it is so, or the time is up.
  void wait_for(const Op& op, std::function<void(Op)> done) {
    const std::string what(op.value.text_or("wait", ""));
    const auto span = parse_duration(std::string(op.value.text_or("for", "5s")));
    const Nanos limit = loop_.now() + (span ? *span : seconds(5));
    observer_->watch([this, what, limit, op, done = std::move(done)] {
      const bool is_so = what == "converged" ? observer_->converged()
                         : what == "leader"  ? observer_->leader() >= 0
                                             : observer_->leader() < 0;  // blocked
      if (!is_so && loop_.now() < limit && !ending_ && !recorded_.proof) return false;
      Op answer = complete(op, OpType::kInfo);
      answer.value = Value::object({{Symbol("wait"), Value(what)}, {Symbol("seen"), Value(is_so)}});
      done(std::move(answer));
      return true;
    });
  }

  NodeClusterOptions::Hooks hooks() {
    return {
        .started =
            [this](int node) {
              if (!closed_) observer_->note_start(node);
            },
        .exited =
            [this](int node, int code, int signal, bool expected) {
              if (!closed_) observer_->note_exit(node, code, signal, expected);
            },
        .logged =
            [this](int node, std::string_view line) {
              logs_->write(node, loop_.now(), line);
              if (!closed_) observer_->note_log(node, line);
            },
        .diagnosed =
            [this](int node, const std::string& text) {
              NodeLogs::keep_diagnosis(folder_, plan_.layout.nodes[node], text);
            },
        .leader = [this] { return observer_->leader(); },
            .term = [this] { return observer_->term(); },
        .clocked =
            [this](int node, Nanos offset) {
              if (!closed_) observer_->note_clock(node, offset);
            },
        .lost = [this](Error error) { fail(std::move(error)); },
    };
  }

  void show_progress() {
    if (wound_up_ || ending_) return;
    const RunnerCounts& counts = runner_->counts();
    const int leader = observer_->leader();
    console_.progress(format_point(loop_.now()) + "  ok " + std::to_string(counts.ok) + "  fail " +
                      std::to_string(counts.fail) + "  info " + std::to_string(counts.info) +
                      (leader < 0 ? "" : "  leader " + plan_.layout.nodes[leader].name));
    loop_.at(loop_.now() + seconds(1), [this] { show_progress(); });
  }

  Plan& plan_;
  const RunFolder& folder_;
  Console& console_;
  RealLoop loop_;
  HistoryWriter writer_;
  Recorder recorder_{loop_, writer_, [this](const Error& error) { fail(error); }};
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<HostMonitor> host_;
  std::unique_ptr<NodeLogs> logs_;
  std::unique_ptr<NodeCluster> cluster_;
  std::vector<std::unique_ptr<NemesisRun>> faults_;
  std::unique_ptr<ScriptNemesis> script_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<FailFast> fail_fast_;  // its thread posts to the loop
  Recorded recorded_;
  Nanos first_signal_;
  bool loading_ = false;
  bool ending_ = false;    // no further operation is begun
  bool wound_up_ = false;  // the last line of the history is about to be written
  bool torn_down_ = false;
  bool ended_ = false;   // the history says so
  bool closed_ = false;  // the history's file
  bool held_ = false;    // left running
  bool released_ = false;
  bool work_done_ = false;
};

LiveRun::LiveRun(Plan& plan, const RunFolder& folder, Console& console)
    : impl_(std::make_unique<Impl>(plan, folder, console)) {}
LiveRun::~LiveRun() = default;
Recorded LiveRun::record() { return impl_->record(); }
void LiveRun::hold(std::function<void()> work) { impl_->hold(std::move(work)); }

}  // namespace assay
