// The sections of report.html, in the order of the page. Each has a bound of its own, so that all
// together stay below kHtmlBytesMax.
#pragma once

#include <string>

#include "results/report/report.h"
#include "results/report/timeline.h"

namespace assay::report {

std::string headline_html(const Report& report);  // verdict, sentence, scope
// Left the drawing, right what to do next and what to know.
std::string first_screen_html(const Report& report, const Timeline& timeline);
// Open is what leads to the witness, or to the first parts that are not valid.
std::string tree_html(const Report& report);
// What the run says of the clauses of the contracts: a table, each with its passage; empty where it says
// nothing. And in one line, for texts.
std::string clauses_html(const Report& report);
std::string clauses_line(const Report& report);
std::string operations_html(const Report& report);  // around the witness; empty without one
std::string counts_html(const Report& report, const Timeline& timeline);
std::string settings_html(const Report& report);

}  // namespace assay::report
