// The exit codes, the same for every command (`assay explain exit-codes`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/checker.h"

namespace assay {

enum ExitCode : int {
  kExitValid = 0,
  kExitInvalid = 1,
  kExitUnknown = 2,
  kExitBlocked = 3,
  kExitVacuous = 4,
  kExitUnexpected = 5,
  kExitInterrupted = 130,
  kExitBadInput = 254,
  kExitHarness = 255,
};

ExitCode exit_code(Word word);
ExitCode exit_code(const Error& error);

// What `--expect` makes of a verdict: 0 when every expectation holds, 5 when one does not; an
// undecided run (unknown, vacuous) stays undecided. `expect` maps a path in the verdict tree ("" is
// the run) to a word. `mismatch` gets a sentence when the answer is 5.
ExitCode expected_exit_code(const Verdict& verdict,
                            const std::vector<std::pair<std::string, std::string>>& expect,
                            std::string* mismatch);

// Of several runs the worst, in the order 1, 5, 255, 130, 3, 2, 4, 0 (254 ends them at once).
ExitCode worse(ExitCode a, ExitCode b);

// "valid", …, "failed", "interrupted": for tables.
std::string_view word_of(ExitCode code);

}  // namespace assay
