#include "harness/run/runner.h"

#include "checkers/history/watch_value.h"

namespace assay {
namespace {

// What an operation takes in the best case: a watch lasts as long as it is asked to.
Nanos span_of(const Op& op) {
  if (op.f != f::watch) return {};
  const auto wish = watch_wish(op.value);
  return wish ? wish->span : Nanos{};
}

}  // namespace

struct Runner::Slot {
  bool busy = false;
  Op op;                // the invocation under way
  uint64_t serial = 0;  // of it; a completion with another serial is late
  Nanos deadline = kNever;
  std::unique_ptr<Client> client;
};

Runner::Runner(Loop& loop, Recorder& recorder, const RunnerOptions& options, Ports ports)
    : loop_(loop),
      recorder_(recorder),
      options_(options),
      ports_(std::move(ports)),
      workers_(options.clients, options.lanes),
      slots_(options.clients + options.lanes) {}

Runner::~Runner() { *alive_ = false; }

Context Runner::context() const { return {loop_.now(), &workers_, 0, workers_.size()}; }

void Runner::run(Gen generator, std::function<void()> finished) {
  generator_ = std::move(generator);
  finished_ = std::move(finished);
  exhausted_ = false;
  pump_soon();
}

void Runner::stop() {
  stopping_ = true;
  exhausted_ = true;
  for (Worker w = 0; w < workers_.clients(); ++w) {
    if (!slots_[w].busy) continue;
    drop_client(slots_[w]);
    slots_[w].busy = false;
    slots_[w].deadline = kNever;
    workers_.release(w, true);
  }
  pump_soon();
}

void Runner::pump_soon() {
  if (pump_posted_) return;
  pump_posted_ = true;
  // Behind the completions that are queued already: they are drained before new operations.
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    pump_posted_ = false;
    pump();
  });
}

void Runner::pump_at(Nanos time) {
  if (time >= wake_) return;
  wake_ = time;
  loop_.at(time, [this, alive = alive_, time] {
    if (!*alive) return;
    if (wake_ == time) wake_ = kNever;
    pump();
  });
}

void Runner::pump() {
  while (!exhausted_ && generator_) {
    const Context now = context();
    Next next = generator_->next(now);
    if (next.kind == Next::Kind::kDone) {
      exhausted_ = true;
    } else if (next.kind == Next::Kind::kPending) {
      if (next.wake != kNever) pump_at(next.wake);
      return;
    } else if (next.op.time > now.now) {
      pump_at(next.op.time);
      return;
    } else {
      const Worker worker = next.worker;
      ASSAY_CHECK(workers_.is_free(worker), "worker %d", worker);
      workers_.occupy(worker);
      generator_->taken(context(), next);
      dispatch(worker, std::move(next.op));
    }
  }
  maybe_finished();
}

void Runner::maybe_finished() {
  if (!exhausted_ || !finished_ || !workers_.all_free(0, workers_.size())) return;
  auto finished = std::move(finished_);
  finished_ = nullptr;
  generator_.reset();
  finished();
}

void Runner::dispatch(Worker worker, Op op) {
  Slot& slot = slots_[worker];
  slot.busy = true;
  slot.serial = ++serial_;
  op.process = workers_.process(worker);
  op.type = OpType::kInvoke;
  const bool client = worker < workers_.clients();
  if (client) op.node = ports_.node_of(worker);
  recorder_.record(op);
  slot.op = std::move(op);
  if (!client) {
    ports_.nemesis(worker, slot.op, [this, alive = alive_, worker, serial = slot.serial](Op done) {
      if (*alive) completed(worker, serial, std::move(done));
    });
    return;
  }
  ++counts_.invoked;
  slot.deadline = slot.op.time + options_.op_timeout + span_of(slot.op);
  if (slot.deadline < deadline_watch_) {
    deadline_watch_ = slot.deadline;
    loop_.at(deadline_watch_, [this, alive = alive_] {
      if (*alive) watch_deadlines();
    });
  }
  dispatch_client(worker);
}

void Runner::dispatch_client(Worker worker) {
  Slot& slot = slots_[worker];
  auto invoke = [this, worker, serial = slot.serial] {
    slots_[worker].client->invoke(slots_[worker].op,
                                  [this, alive = alive_, worker, serial](Op done) {
                                    if (*alive) completed(worker, serial, std::move(done));
                                  });
  };
  if (slot.client && !slot.client->usable()) drop_client(slot);
  if (slot.client) return invoke();
  ports_.open_client(worker, [this, alive = alive_, worker, serial = slot.serial,
                              invoke](Result<std::unique_ptr<Client>> client) {
    if (!*alive || slots_[worker].serial != serial || !slots_[worker].busy) return;
    if (client) {
      slots_[worker].client = std::move(*client);
      invoke();
    } else {  // nothing was sent
      completed(worker, serial,
                complete(slots_[worker].op, OpType::kFail,
                         {Symbol("refused"), client.error().message, Token()}));
    }
  });
}

void Runner::completed(Worker worker, uint64_t serial, Op op) {
  Slot& slot = slots_[worker];
  if (!slot.busy || slot.serial != serial) {
    ++counts_.late;
    return;
  }
  op.process = slot.op.process;  // whatever a client may have made of them
  op.f = slot.op.f;
  op.key = slot.op.key;
  op.node = slot.op.node;
  finish_op(worker, std::move(op));
  pump_soon();
}

void Runner::finish_op(Worker worker, Op op) {
  Slot& slot = slots_[worker];
  recorder_.record(op);
  slot.busy = false;
  slot.deadline = kNever;
  const bool client = worker < workers_.clients();
  const bool crashed = client && op.type == OpType::kInfo;
  if (client) {
    ++(op.type == OpType::kOk     ? counts_.ok
       : op.type == OpType::kFail ? counts_.fail
                                  : counts_.info);
    if (crashed) drop_client(slot);
  }
  workers_.release(worker, crashed);
  if (generator_) generator_->update(context(), worker, op);
  ports_.on_completion(op);
}

// Later, since it may be the client's own callback that runs now.
void Runner::drop_client(Slot& slot) {
  if (!slot.client) return;
  loop_.post([client = std::shared_ptr<Client>(std::move(slot.client))] {});
}

void Runner::watch_deadlines() {
  const Nanos now = loop_.now();
  deadline_watch_ = kNever;
  Nanos next = kNever;
  for (Worker w = 0; w < workers_.clients(); ++w) {
    Slot& slot = slots_[w];
    if (!slot.busy) continue;
    if (slot.deadline <= now) {
      Op timed_out = complete(slot.op, OpType::kInfo,
                              {Symbol("timeout"), "no answer within the operation's time-out", {}});
      finish_op(w, std::move(timed_out));
      pump_soon();
    } else {
      next = std::min(next, slot.deadline);
    }
  }
  if (next < deadline_watch_) {
    deadline_watch_ = next;
    loop_.at(next, [this, alive = alive_] {
      if (*alive) watch_deadlines();
    });
  }
}

}  // namespace assay
