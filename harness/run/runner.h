// Runner: drives one generator over the workers of a run until it is done. The only loop of the
// house: completion -> generator -> invocation.
//
// It owns the operations' deadlines: at the deadline an operation is recorded as info, its client
// is closed and abandoned, and a late completion is counted and dropped. On the Loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/run/recorder.h"
#include "targets/target.h"
#include "workloads/gen/generator.h"

namespace assay {

struct RunnerOptions {
  int clients = 1;
  int lanes = 0;  // nemesis lanes; they have no deadline
  Nanos op_timeout = seconds(1);  // a watch has so much more than it is asked to last
};

struct RunnerCounts {
  int64_t invoked = 0;  // client operations
  int64_t ok = 0;
  int64_t fail = 0;
  int64_t info = 0;
  int64_t late = 0;  // completions after the deadline: dropped
};

class Runner {
 public:
  // How a worker's operations reach the world.
  struct Ports {
    std::function<void(Worker, Callback<std::unique_ptr<Client>>)> open_client;
    std::function<Symbol(Worker)> node_of;  // the node that a client worker is pinned to
    std::function<void(Worker lane, const Op&, std::function<void(Op)> done)> nemesis;
    std::function<void(const Op& completion)> on_completion = [](const Op&) {};
  };

  Runner(Loop& loop, Recorder& recorder, const RunnerOptions& options, Ports ports);
  ~Runner();

  // Runs the generator to its end; `finished` is called once, when every operation has completed.
  // May be called again afterwards: workers keep their process numbers and clients.
  void run(Gen generator, std::function<void()> finished);
  // Asks the generator no more, abandons client operations under way (they stay open in the
  // history), waits for nemesis operations; then `finished` as usual.
  void stop();
  // Asks the generator soon: what it waited for may have changed.
  void ask_again() { pump_soon(); }

  const RunnerCounts& counts() const { return counts_; }

 private:
  struct Slot;
  void pump();
  void pump_soon();
  void pump_at(Nanos time);
  void dispatch(Worker worker, Op op);
  void dispatch_client(Worker worker);
  void completed(Worker worker, uint64_t serial, Op op);
  void finish_op(Worker worker, Op op);
  void drop_client(Slot& slot);
  void watch_deadlines();
  void maybe_finished();
  Context context() const;

  Loop& loop_;
  Recorder& recorder_;
  RunnerOptions options_;
  Ports ports_;
  Workers workers_;
  std::vector<Slot> slots_;
  Gen generator_;
  std::function<void()> finished_;
  RunnerCounts counts_;
  uint64_t serial_ = 0;
  bool stopping_ = false;
  bool exhausted_ = false;
  bool pump_posted_ = false;
  Nanos wake_ = kNever;
  Nanos deadline_watch_ = kNever;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay
