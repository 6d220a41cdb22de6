// Verdict -> files and words: the last arrow of a run.
#pragma once

#include <optional>

#include "harness/checking.h"
#include "harness/console.h"
#include "harness/exit_code.h"
#include "harness/plan.h"
#include "harness/run/live_run.h"
#include "results/run_info.h"

namespace assay {

struct Judged {
  std::optional<Checked> checked;  // none: the history could not be read
  Verdict verdict;
  std::string failure;  // of the harness; empty: none
};

// A verdict that says nothing about the store, for this reason.
Verdict undecided(std::string reason);

// Writes verdict.json, then the renderings and the index, prints the result, and gives the exit
// code. What cannot be written is said, and makes the run 255.
ExitCode conclude(const Plan& plan, const RunFolder& folder, const Recorded& recorded,
                  Judged judged, RunInfo info, Console& console);

}  // namespace assay
