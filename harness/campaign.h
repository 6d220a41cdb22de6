// Campaign: many runs, each in a process of its own (`assay run …` of this program), so that no run
// can disturb another or bring the others down. A line per run, and a summary.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/time.h"
#include "checkers/history/value.h"
#include "harness/console.h"
#include "harness/exit_code.h"

namespace assay {

struct Campaign {
  struct Run {
    std::string label;                   // "seed 7"
    std::vector<std::string> arguments;  // of this program
  };
  std::vector<Run> runs;
  int jobs = 1;                        // at once
  std::optional<std::string> stop_on;  // a verdict's word: no further run is started
  // One that has ended: its place in `runs`, what it printed (`assay run --json`; null where that is
  // no JSON), and the last line of its standard error, without "assay: " before it.
  struct Ended {
    size_t run = 0;
    ExitCode code = kExitHarness;
    Value result;
    std::string complaint;
    Nanos took;  // start to end
  };
  // Told of each as it ends; then there are no lines and there is no summary.
  std::function<void(const Ended&)> on_result;
};

struct CampaignResult {
  ExitCode worst = kExitValid;
  int finished = 0;
  bool interrupted = false;  // by SIGINT or SIGTERM
  std::map<std::string, int> words;  // verdict -> runs
};

// Ends early, and as interrupted, on SIGINT or SIGTERM, which the runs get as well.
CampaignResult run_campaign(const Campaign& campaign, Console& console);

}  // namespace assay
