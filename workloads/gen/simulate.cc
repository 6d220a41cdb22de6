#include "workloads/gen/simulate.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace assay {
namespace {

class Simulation {
 public:
  Simulation(Generator& generator, const SimulateOptions& options)
      : generator_(generator), options_(options), workers_(options.clients, options.lanes) {
    if (!options_.latency) {
      options_.latency = [](const Op&, Worker) { return Latency{Nanos{}, milliseconds(1)}; };
    }
    if (!options_.effect) options_.effect = drawn_outcome(Rng(0), 0, 0);
  }

  SimulatedRun run() {
    do {
      drain();
      if (!stopped_) invoke_what_is_due();
    } while (advance());
    run_.end = now_;
    return std::move(run_);
  }

 private:
  struct Event {
    Nanos time;
    uint64_t sequence;
    Worker worker;
    bool answer;  // else: effect
    bool operator>(const Event& other) const {
      return std::pair(time, sequence) > std::pair(other.time, other.sequence);
    }
  };
  struct Running {
    Op op;  // the invocation, later the completion
    Nanos to_answer;
  };

  Context context() const { return {now_, &workers_, 0, workers_.size()}; }
  void schedule(Nanos time, Worker worker, bool answer) {
    events_.push({time, ++sequence_, worker, answer});
  }

  void drain() {
    while (!events_.empty() && events_.top().time <= now_) {
      const Event event = events_.top();
      events_.pop();
      Running& running = running_[event.worker];
      if (!event.answer) {
        running.op = options_.effect(running.op, event.worker);
        schedule(now_ + running.to_answer, event.worker, true);
        continue;
      }
      running.op.time = now_;
      run_.events.push_back({running.op, event.worker});
      workers_.release(event.worker, running.op.type == OpType::kInfo);
      generator_.update(context(), event.worker, running.op);
    }
  }

  void invoke_what_is_due() {
    for (;;) {
      if (now_ >= options_.until || invoked_ == options_.operations_max) break;
      Next next = generator_.next(context());
      ask_again_ = next.ask_again();
      if (next.kind == Next::Kind::kDone) {
        run_.done = true;
        break;
      }
      if (next.kind == Next::Kind::kPending || next.op.time > now_) return;
      take(std::move(next));
    }
    stopped_ = true;
    ask_again_ = kNever;
  }

  void take(Next next) {
    next.op.time = now_;
    workers_.occupy(next.worker);
    generator_.taken(context(), next);
    const Latency latency = options_.latency(next.op, next.worker);
    run_.events.push_back({next.op, next.worker});
    running_[next.worker] = {std::move(next.op), latency.to_answer};
    schedule(now_ + latency.to_effect, next.worker, false);
    ++invoked_;
  }

  // To the next moment at which something happens; false when there is none.
  bool advance() {
    Nanos to = stopped_ ? kNever : std::min(ask_again_, options_.until);
    const bool waits_for_the_past = !stopped_ && to <= now_;
    if (!events_.empty()) {
      to = waits_for_the_past ? events_.top().time : std::min(to, events_.top().time);
    } else if (waits_for_the_past || to == kNever) {
      run_.stuck = !stopped_;
      return false;
    }
    now_ = std::max(now_, to);
    return true;
  }

  Generator& generator_;
  SimulateOptions options_;
  Workers workers_;
  Nanos now_{};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t sequence_ = 0;
  std::vector<Running> running_ = std::vector<Running>(static_cast<size_t>(workers_.size()));
  SimulatedRun run_;
  size_t invoked_ = 0;
  Nanos ask_again_ = kNever;
  bool stopped_ = false;  // no further invocation
};

}  // namespace

std::function<Latency(const Op&, Worker)> drawn_latency(Rng rng, Nanos mean) {
  return [rng, mean](const Op&, Worker) mutable {
    const auto draw = [&] { return Nanos{static_cast<int64_t>(rng.below(mean.count))}; };
    const Nanos to_effect = draw();
    return Latency{to_effect, draw()};
  };
}

std::function<Op(const Op&, Worker)> drawn_outcome(Rng rng, int fail, int info) {
  return [rng, fail, info](const Op& op, Worker) mutable {
    if (!op.process.is_client()) return complete(op, OpType::kInfo);
    const auto drawn = static_cast<int>(rng.below(1000));
    if (drawn < info) return complete(op, OpType::kInfo, {Symbol("timeout"), "", {}});
    if (drawn < info + fail) return complete(op, OpType::kFail, {Symbol("mismatch"), "", {}});
    return complete(op, OpType::kOk);
  };
}

SimulatedRun simulate(Generator& generator, const SimulateOptions& options) {
  return Simulation(generator, options).run();
}

}  // namespace assay
