// summary.md, and what GitHub Actions is told of a run.
#pragma once

#include <string>

#include "results/report/report.h"

namespace assay {

// For the run folder and for the file that GITHUB_STEP_SUMMARY names (append it there).
std::string markdown_report(const Report& report);

// The line for standard output that makes GitHub Actions show an error ("::error title=…::…"), with
// its newline; empty where the run is valid or as expected. Unknown, vacuous and failures of the
// harness are errors too.
std::string github_error_line(const Report& report);

}  // namespace assay
