// The pieces that report.html is put together from. Everything that comes from outside goes through
// text_html or code_html, which escape and shorten.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/history.h"
#include "results/report/report.h"

namespace assay::report {

inline constexpr size_t kTextMax = 1'000;  // characters of a reason, a fact, a line

// `content` is HTML.
std::string element(std::string_view name, std::string_view cls, std::string_view content);

std::string text_html(std::string_view raw, size_t max = kTextMax);
// Text in which what stands in `backquotes` becomes code.
std::string code_html(std::string_view raw);

// Of texts; beyond a dozen it says how many more there are.
std::string list_html(const std::vector<std::string>& lines);

// A box with a title; empty when there is nothing to put into it.
std::string card(std::string_view title, std::string_view content, std::string_view cls = "");
std::string list_card(std::string_view title, const std::vector<std::string>& lines);

// `caption` is HTML; empty when the drawing is.
std::string figure(std::string_view caption, const std::string& drawing, std::string_view cls = "");

// A cell of a table; `content` is HTML.
std::string cell(std::string_view content);
std::string number_cell(std::string_view content);

}  // namespace assay::report
