// Generator: says what the workers of a run do next. Pure: no I/O, no clock, no thread; time comes
// in through the context, randomness through an Rng given at construction. The real runner, the
// simulator and the tests in virtual time drive the same generators by the same three calls:
//
//   next(context)     a proposal. Asking again without taking gives the same operation (its time,
//                     worker and pending state may follow the context): composites ask several
//                     children and take one.
//   taken(...)        the proposal that the last next() gave goes ahead; only the generator that
//                     gave it is told. Its worker is occupied already.
//   update(...)       an operation of this generator's workers has completed; its worker is free
//                     again, under its new process if it crashed. Workers are shared, so it may be
//                     an operation of another generator: who cares keeps track in taken().
//
// The caller delivers every completion that has arrived before it asks for the next operation.
//
// Source: the contract of jepsen.generator (op, update), with a two-step take in place of
// persistent values.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/op.h"

namespace assay {

// A worker is one logical thread of a run: clients are 0, 1, …; nemesis lanes follow them. It runs
// one operation at a time, under a process number that changes after an info.
using Worker = int;
inline constexpr Worker kNoWorker = -1;

// Who is free, as the runner keeps it. Workers [0, clients) are clients, the rest nemesis lanes.
class Workers {
 public:
  Workers(int clients, int lanes);
  int size() const { return static_cast<int>(state_.size()); }
  int clients() const { return clients_; }
  bool is_client(Worker w) const { return w < clients_; }
  Process process(Worker w) const { return state_[w].process; }
  bool is_free(Worker w) const { return state_[w].free; }
  // Of [begin, end), the one that has been free the longest (the first of those that never
  // worked); kNoWorker when all are busy.
  Worker idlest(Worker begin, Worker end) const;
  bool all_free(Worker begin, Worker end) const;

  void occupy(Worker w);
  // `crashed`: the operation ended as info; a client goes on as old process + clients. A lane stays
  // the nemesis whatever its operations end as.
  void release(Worker w, bool crashed);

 private:
  struct State {
    Process process;
    bool free = true;
    uint64_t since = 0;
  };
  int clients_;
  uint64_t releases_ = 0;
  std::vector<State> state_;
};

// What a generator may look at: the time, and its share of the workers.
struct Context {
  Nanos now;
  const Workers* workers = nullptr;
  Worker begin = 0;  // the share is [begin, end)
  Worker end = 0;

  Context within(Worker from, Worker to) const {
    return {now, workers, from < begin ? begin : from, to > end ? end : to};
  }
  Worker idlest() const { return workers->idlest(begin, end); }
  bool all_free() const { return workers->all_free(begin, end); }
};

struct Next {
  enum class Kind : uint8_t { kOp, kPending, kDone };
  Kind kind = Kind::kDone;
  // kOp. op.process is that of the worker; op.time is when it is due, which may be later than now
  // (ask again then) or, when workers were short, earlier (it goes ahead at once).
  Op op;
  Worker worker = kNoWorker;
  // Something may be due from this time on: of kPending, with nothing now, and of kOp, when its
  // operation is due later.
  Nanos wake = kNever;

  // When to ask again, unless a completion arrives before.
  Nanos ask_again() const { return kind == Kind::kOp && op.time < wake ? op.time : wake; }

  static Next done() { return {}; }
  static Next pending(Nanos wake = kNever) {
    Next next;
    next.kind = Kind::kPending;
    next.wake = wake;
    return next;
  }
  static Next ready(Op op, Worker worker) {
    Next next;
    next.kind = Kind::kOp;
    next.op = std::move(op);
    next.worker = worker;
    return next;
  }
};

class Generator {
 public:
  virtual ~Generator() = default;
  virtual Next next(const Context& context) = 0;
  virtual void taken(const Context& context, const Next& next) = 0;
  virtual void update(const Context& context, Worker worker, const Op& completion) {
    (void)context, (void)worker, (void)completion;
  }
};
using Gen = std::unique_ptr<Generator>;

}  // namespace assay
