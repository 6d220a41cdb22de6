// report.html: one self-contained page: no script, no network, at most 3 MB however long the run.
#pragma once

#include <cstddef>
#include <string>

#include "results/report/report.h"

namespace assay {

inline constexpr size_t kHtmlBytesMax = 3'000'000;

// First screen: the verdict in a word and a sentence, the scope, the witness drawn (or the whole
// run), and beside it how to run it again with the logs around the witness (or what could have been
// caught, or what was missing). Below: the tree, plots, operations, settings.
std::string html_report(const Report& report);

}  // namespace assay
