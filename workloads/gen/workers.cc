#include "workloads/gen/generator.h"

namespace assay {

Workers::Workers(int clients, int lanes) : clients_(clients) {
  ASSAY_CHECK(clients >= 0 && lanes >= 0, "%d clients, %d lanes", clients, lanes);
  state_.resize(static_cast<size_t>(clients) + static_cast<size_t>(lanes), State{kNemesis});
  for (Worker w = 0; w < clients; ++w) state_[w].process = Process{w};
}

Worker Workers::idlest(Worker begin, Worker end) const {
  Worker best = kNoWorker;
  uint64_t since = UINT64_MAX;
  for (Worker w = begin; w < end; ++w) {
    const State& state = state_[w];
    if (state.free && state.since < since) {
      best = w;
      since = state.since;
    }
  }
  return best;
}

bool Workers::all_free(Worker begin, Worker end) const {
  for (Worker w = begin; w < end; ++w) {
    if (!state_[w].free) return false;
  }
  return true;
}

void Workers::occupy(Worker w) {
  ASSAY_CHECK(state_[w].free, "worker %d has an operation already", w);
  state_[w].free = false;
}

void Workers::release(Worker w, bool crashed) {
  State& state = state_[w];
  ASSAY_CHECK(!state.free, "worker %d has no operation", w);
  state.free = true;
  state.since = ++releases_;
  if (crashed && is_client(w)) state.process.id += clients_;
}

}  // namespace assay
