// LiveRun: one run against the real world: brings the target up, runs the story, observes, and
// takes everything down again, whatever happens. What it leaves is the history in the run folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "harness/console.h"
#include "harness/plan.h"
#include "harness/run/follower.h"
#include "harness/run/runner.h"
#include "results/store.h"

namespace assay {

struct Recorded {
  RunnerCounts counts;
  bool interrupted = false;  // SIGINT or SIGTERM
  bool impatient = false;    // a second one: the user wants no report
  bool past_deadline = false;
  std::optional<ProvenAnomaly> proof;    // --fail-fast ended the load
  std::optional<Error> failure;  // of the harness, the set-up, the environment
  Nanos duration;
};

class LiveRun {
 public:
  // All must outlive the run.
  LiveRun(Plan& plan, const RunFolder& folder, Console& console);
  ~LiveRun();

  // The whole run, up to the end of its history. Blocks. Afterwards everything is stopped and
  // removed, unless the spec asks to leave it running.
  Recorded record();

  // Of a run that is left running: keeps it alive while `work` runs in a thread of its own, then
  // until SIGINT or SIGTERM, then takes it down.
  void hold(std::function<void()> work);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
