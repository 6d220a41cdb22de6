// Plays experiments, tells how each came out against what is expected, and draws the figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/console.h"
#include "harness/experiment.h"

namespace assay {

struct PlayOptions {
  uint64_t seed = 0;
  int jobs = 1;
  std::string out = "results/experiments";  // a folder of this play is made below
  std::string bin_dir;
};

// A line per run as it ends, then a table: experiment, run, expected, seen, clause, time, witness. A
// run that was not decided (vacuous, unknown, failed set-up) says nothing: it is played up to twice more,
// each time longer.
// Exit 0: everything that can be run came out as expected; 5: something did not; 255, 130.
ExitCode play_experiments(const std::vector<const Experiment*>& experiments,
                          const PlayOptions& options, Console& console);

}  // namespace assay
