// The one JSON object that --json prints (`assay schema result`).
#pragma once

#include <string>

#include "results/report/report.h"

namespace assay {

std::string json_report(const Report& report);  // indented, ends with a newline

}  // namespace assay
