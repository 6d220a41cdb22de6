// junit.xml, as CI systems read it: a test case per checker. Invalid and blocked are failures;
// unknown, vacuous, an interrupted run and a failure of the harness are errors; nothing is ever
// skipped. Where a verdict was expected (--expect), one more test case says whether it came, and
// the checkers' words are then no failures of their own.
#pragma once

#include <string>

#include "results/report/report.h"

namespace assay {

std::string junit_report(const Report& report);

}  // namespace assay
