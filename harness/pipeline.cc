#include "harness/pipeline.h"

#include <ctime>

#include "harness/checking.h"
#include "harness/conclude.h"
#include "harness/describe.h"
#include "harness/run/live_run.h"
#include "harness/signal_flag.h"
#include "results/store.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

// History -> Verdict. A run that ended early is judged as far as it went; a harness that failed
// makes no statement about the store.
Judged judge(const RunFolder& folder, const Recorded& recorded,
             const std::atomic<bool>* interrupted) {
  CheckLimits limits;
  limits.interrupted = interrupted;
  if (recorded.interrupted) limits.time = seconds(2);
  auto checked = check_file(folder.history_path(), {}, limits);
  Judged judged;
  if (recorded.failure) judged.failure = recorded.failure->message;
  if (!checked) {  // our own file: whatever is wrong with it is our fault
    if (judged.failure.empty()) judged.failure = checked.error().message;
    judged.verdict = undecided(judged.failure);
    return judged;
  }
  judged.checked = std::move(*checked);
  judged.verdict = std::move(judged.checked->verdict);
  // Invalid prefixes stay invalid. One of the two is wrong, and nobody knows which.
  if (recorded.proof && !recorded.interrupted && !recorded.failure &&
      judged.verdict.safety != Safety::kInvalid) {
    judged.failure = "an anomaly on the key \"" + std::string(recorded.proof->key.text()) +
                     "\" was proven during the run (" + recorded.proof->checker + ", index " +
                     std::to_string(recorded.proof->index) + "), and the check does not find it";
    judged.verdict = undecided(judged.failure);
    return judged;
  }
  if (!recorded.failure) return judged;
  // Operations that no order explains stay so, whatever failed after them; all else may be our
  // doing.
  Verdict rest = undecided(judged.failure);
  for (const char* checker : {"linearizable", "version-order"}) {
    const Verdict* convicting = judged.verdict.find(checker);
    if (convicting && convicting->safety == Safety::kInvalid) rest.add(*convicting);
  }
  judged.verdict = std::move(rest);
  return judged;
}

ExitCode failed(const Error& error, Console& console) {
  console.error(error.message);
  return exit_code(error);
}

}  // namespace

ExitCode run_pipeline(Plan& plan, const std::string& command_line, Console& console) {
  const std::time_t now = std::time(nullptr);
  auto folder = RunFolder::create(
      plan.spec.out,
      {std::string(plan.target->name()), plan.spec.workload, plan.faults_name(), plan.seed}, now);
  if (!folder) return failed(folder.error(), console);
  console.log_to(folder->log_path());

  RunInfo info = describe(plan, *folder, command_line, now);
  if (auto written = folder->write_spec(spec_file(info)); !written)
    return failed(written.error(), console);
  console.note("seed " + std::to_string(plan.seed) + ", run folder " + folder->path());

  if (plan.starts_nodes && plan.in_private_net()) {
    if (auto entered = enter_private_world(folder->name()); !entered)
      return failed(entered.error(), console);
  }

  LiveRun live(plan, *folder, console);
  Recorded recorded = live.record();

  ExitCode code = kExitHarness;
  const auto finish = [&](const std::atomic<bool>* interrupted) {
    Judged judged = judge(*folder, recorded, interrupted);
    if (interrupted && *interrupted) recorded.interrupted = true;
    code = conclude(plan, *folder, recorded, std::move(judged), info, console);
  };
  const bool stays =
      plan.spec.leave_running && plan.starts_nodes && !recorded.failure && !recorded.interrupted;
  if (stays) {  // its loop hears the signals
    live.hold([&] { finish(nullptr); });
  } else {
    const SignalFlag signalled;
    finish(signalled.flag());
  }
  return code;
}

}  // namespace assay
