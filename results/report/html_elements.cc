#include "results/report/html_elements.h"

#include <algorithm>

#include "results/report/markup.h"

namespace assay::report {

namespace {
constexpr size_t kLinesMax = 12;
}  // namespace

std::string element(std::string_view name, std::string_view cls, std::string_view content) {
  std::string out = "<";
  out.append(name);
  if (!cls.empty()) out.append(" class=\"").append(cls).append("\"");
  return out.append(">").append(content).append("</").append(name).append(">");
}

std::string text_html(std::string_view raw, size_t max) { return escape(shortened(raw, max)); }

std::string code_html(std::string_view raw) {
  const std::string source = shortened(raw, kTextMax);
  std::string out;
  size_t at = 0;
  for (size_t open; (open = source.find('`', at)) != std::string::npos;) {
    const size_t close = source.find('`', open + 1);
    if (close == std::string::npos) break;
    out += escape(source.substr(at, open - at)) +
           element("code", "", escape(source.substr(open + 1, close - open - 1)));
    at = close + 1;
  }
  return out + escape(source.substr(at));
}

std::string list_html(const std::vector<std::string>& lines) {
  std::string out;
  for (size_t i = 0; i < std::min(lines.size(), kLinesMax); ++i) {
    out += element("li", "", code_html(lines[i]));
  }
  if (lines.size() > kLinesMax) {
    out += element("li", "", "and " + std::to_string(lines.size() - kLinesMax) + " more");
  }
  return element("ul", "", out);
}

std::string card(std::string_view title, std::string_view content, std::string_view cls) {
  if (content.empty()) return "";
  std::string classes = "card";
  if (!cls.empty()) classes.append(" ").append(cls);
  return element("section", classes, element("h3", "", title) + std::string(content)) + "\n";
}

std::string list_card(std::string_view title, const std::vector<std::string>& lines) {
  return lines.empty() ? "" : card(title, list_html(lines));
}

std::string figure(std::string_view caption, const std::string& drawing, std::string_view cls) {
  if (drawing.empty()) return "";
  return element("figure", cls, element("figcaption", "", caption) + drawing) + "\n";
}

std::string cell(std::string_view content) { return element("td", "", content); }
std::string number_cell(std::string_view content) { return element("td", "n", content); }

}  // namespace assay::report
