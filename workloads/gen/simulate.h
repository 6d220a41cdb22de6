// Simulate: runs a generator in virtual time against simulated workers, for tests: the whole
// contract of a runner (drain completions, take, occupy, release, update) on one page, without a
// target. Deterministic: the same options and generator give the same events.
#pragma once

#include <functional>
#include <vector>

#include "checkers/history/rng.h"
#include "workloads/gen/generator.h"

namespace assay {

// An operation takes effect and is answered some time after its invocation.
struct Latency {
  Nanos to_effect;
  Nanos to_answer;  // from the effect on
};

struct SimulateOptions {
  int clients = 10;
  int lanes = 0;
  Nanos until = kNever;  // no invocation from then on; what is under way completes
  size_t operations_max = 1'000'000;
  // By default 1 ms, and everything ends as ok.
  std::function<Latency(const Op&, Worker)> latency;
  // Called at the moment of effect; gives the completion.
  std::function<Op(const Op&, Worker)> effect;
};

// Each in [0, 2 mean).
std::function<Latency(const Op&, Worker)> drawn_latency(Rng rng, Nanos mean);
// Of 1,000 operations so many fail and so many end as info; nemesis operations are always info.
std::function<Op(const Op&, Worker)> drawn_outcome(Rng rng, int fail, int info);

struct SimulatedEvent {
  Op op;  // an invocation or a completion, with its time
  Worker worker = kNoWorker;
};

struct SimulatedRun {
  std::vector<SimulatedEvent> events;  // in order of time; completions before invocations
  Nanos end;                           // of the last event, or when the generator was done
  bool done = false;                   // the generator said so
  bool stuck = false;                  // nothing under way, and it waits for ever or for the past
};

SimulatedRun simulate(Generator& generator, const SimulateOptions& options);

}  // namespace assay
