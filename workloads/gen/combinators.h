// Combinators: generators made from generators, to be read from the outside in:
//
//   time_limit(seconds(30), stagger(interval, rng, mix(rng, weighted(2, reads), weighted(1,
//   writes))))
//
// Every one is pure and single-threaded, owns what it is given, and counts its times from the
// moment it is first asked. Nothing is allocated per operation. Composites that choose among
// children take the operation that is due first.
//
// Source: jepsen.generator.
#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include "checkers/history/rng.h"
#include "workloads/gen/generator.h"

namespace assay::gen {

// --- Leaves

// For ever, operations that `make` draws: Op make(const Context&, Worker), which need not set
// process and time. It is called when the operation is first proposed, and the operation is kept
// until it is taken, though the worker may change: what depends on the worker belongs under
// each_worker().
template <typename Make>
Gen each(Make make);
// The same operation for ever.
Gen always(Op op);

// --- Bounds

Gen limit(int64_t operations, Gen gen);
Gen once(Gen gen);
// Nothing that is due at the end of the span or later. It takes the whole span, unless gen is done
// before.
Gen time_limit(Nanos span, Gen gen);
// Until one of its operations completes as ok; then done, though others may be under way.
Gen until_ok(Gen gen);

// --- Rate and time

// Spaces operations out, by draws from [0, 2 interval): one per interval on average, whoever the
// worker. Client operations carry in `scheduled` when they were due. An operation for which no
// worker was free goes ahead as soon as one is, and the next is spaced from there: there is no
// burst to make up for the time lost. Where only the caller asked late, up to 1 ms is made up, so
// that slow timers do not lower the rate.
Gen stagger(Nanos interval, Rng rng, Gen gen);
// No operation for a while, then done.
Gen sleep(Nanos span);
Gen sleep_until(Nanos point);

// --- One after another

// The next begins when the one before is done; its operations may still be under way.
Gen sequence(std::vector<Gen> gens);
// A barrier before each: it begins when all workers of the share are free.
Gen phases(std::vector<Gen> gens);
// A new one from `make` each time that the one before is done. A new one that is done at once,
// without an operation or a wait, ends it.
Gen repeat(int64_t times, std::function<Gen()> make);
Gen cycle(std::function<Gen()> make);

// --- Side by side

struct Weighted {
  int weight;
  Gen gen;
};
Weighted weighted(int weight, Gen gen);
// Each operation from a child drawn by weight. The drawn one may keep all others waiting: what
// waits for something belongs under any(). Done when all children are.
Gen mix(Rng rng, std::vector<Weighted> children);
// Whichever is due first; among those that are due at the same time, by turns. Done when all are.
Gen any(std::vector<Gen> gens);

struct Reserved {
  int workers;
  Gen gen;
};
Reserved reserved(int workers, Gen gen);
// The first workers of the share for the first child, and so on; the others for `rest`.
Gen reserve(std::vector<Reserved> children, Gen rest);
// Workers [begin, end) only. Numbers are absolute.
Gen on_workers(Worker begin, Worker end, Gen gen);
// A generator of its own for each worker of the share.
Gen each_worker(std::function<Gen(Worker)> make);
// A generator of its own for each process: a new one after a crash.
Gen each_process(std::function<Gen(Process)> make);

// --- Around another

// Alters each operation. `alter` may be called several times for one operation, and must give the
// same each time.
Gen map(std::function<void(Op&)> alter, Gen gen);
// Passes everything on to a generator that is owned elsewhere and lives longer.
Gen borrow(Generator& gen);

// --- Lists without braces: sequence(a, b, c), mix(rng, weighted(1, a), weighted(2, b)), …

template <typename T, std::same_as<T>... Items>
std::vector<T> listed(Items... items) {
  std::vector<T> list;
  list.reserve(sizeof...(items));
  (list.push_back(std::move(items)), ...);
  return list;
}
template <std::same_as<Gen>... Gens>
Gen sequence(Gens... gens) {
  return sequence(listed<Gen>(std::move(gens)...));
}
template <std::same_as<Gen>... Gens>
Gen phases(Gens... gens) {
  return phases(listed<Gen>(std::move(gens)...));
}
template <std::same_as<Gen>... Gens>
Gen any(Gens... gens) {
  return any(listed<Gen>(std::move(gens)...));
}
template <std::same_as<Weighted>... Children>
Gen mix(Rng rng, Children... children) {
  return mix(rng, listed<Weighted>(std::move(children)...));
}
inline Gen reserve(Reserved first, Gen rest) {
  return reserve(listed<Reserved>(std::move(first)), std::move(rest));
}

// --- Implementation of each()

template <typename Make>
class Each final : public Generator {
 public:
  explicit Each(Make make) : make_(std::move(make)) {}

  Next next(const Context& context) override {
    const Worker worker = context.idlest();
    if (worker == kNoWorker) return Next::pending();
    if (!drawn_) {
      op_ = make_(context, worker);
      drawn_ = true;
    }
    Next next;
    next.kind = Next::Kind::kOp;
    next.op = op_;
    next.op.process = context.workers->process(worker);
    next.op.time = context.now;
    next.worker = worker;
    return next;
  }
  void taken(const Context&, const Next&) override { drawn_ = false; }

 private:
  Make make_;
  Op op_;
  bool drawn_ = false;
};

template <typename Make>
Gen each(Make make) {
  return std::make_unique<Each<Make>>(std::move(make));
}

}  // namespace assay::gen
