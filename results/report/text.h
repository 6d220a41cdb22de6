// What is printed on the terminal after a run or a check.
#pragma once

#include <string>

#include "results/report/report.h"

namespace assay {

struct TextOptions {
  bool color = false;  // ANSI colours; only where the caller knows a terminal
  size_t width = 100;  // columns
};

// Verdict and sentence first, then the witness, counts, checkers, what could have been caught, what
// was not tested, conventions, times, and how to run it again.
std::string text_report(const Report& report, const TextOptions& options);

// One line, for runs of many seeds: "VALID    seed 3   20,412 ok …   reason".
std::string text_line(const Report& report, const TextOptions& options);

}  // namespace assay
