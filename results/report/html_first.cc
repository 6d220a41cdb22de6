#include <algorithm>

#include "results/report/drawings.h"
#include "results/report/html_elements.h"
#include "results/report/html_sections.h"
#include "results/report/markup.h"

namespace assay::report {
namespace {

constexpr size_t kSentenceMax = 420;  // the first screen has room for so much
constexpr size_t kStoryMax = 12;
constexpr size_t kLogBytesMax = 40'000;  // of one node
constexpr size_t kLogsBytesMax = 200'000;
constexpr double kWidth = 864;  // of the drawing on the left

// A shape of its own for every verdict: colour is never all there is.
std::string_view icon(Outcome outcome) {
  switch (outcome) {
    case Outcome::kValid:
      return "<circle cx=\"11\" cy=\"11\" r=\"9\"/><path d=\"M6.5 11.5L9.8 14.6L15.5 7.8\"/>";
    case Outcome::kInvalid:
      return "<path d=\"M7 2H15L20 7V15L15 20H7L2 15V7z\"/><path d=\"M7.5 7.5L14.5 14.5M14.5 "
             "7.5L7.5 14.5\"/>";
    case Outcome::kUnknown:
      return "<path d=\"M11 1.5L20.5 11L11 20.5L1.5 11z\"/><path d=\"M8.7 9Q8.8 6.8 11 6.8Q13.2 "
             "6.9 13.2 8.7Q13 10.4 11 11.4V12.4M11 15.2V15.3\"/>";
    case Outcome::kBlocked:
      return "<rect x=\"2\" y=\"2\" width=\"18\" height=\"18\" rx=\"3\"/><path d=\"M8.5 7V15M13.5 "
             "7V15\"/>";
    case Outcome::kVacuous:
      return "<circle cx=\"11\" cy=\"11\" r=\"9\" stroke-dasharray=\"3.2 3.6\"/>";
    case Outcome::kFailed:
      return "<path d=\"M11 2L20.5 19.5H1.5z\"/><path d=\"M11 8V13M11 16V16.1\"/>";
    case Outcome::kInterrupted:
      return "<circle cx=\"11\" cy=\"11\" r=\"9\"/><path d=\"M6.5 11H15.5\"/>";
  }
  return "";
}

std::string story_html(const Report& report) {
  // The first line of the witness stands in the headline, and what it rests on has a card.
  std::string items;
  size_t shown = 0;
  const auto& cards = report.evidence.rests_on;
  for (const std::string& line : report.headline.lines) {
    if (std::find(cards.begin(), cards.end(), line) != cards.end()) continue;
    if (++shown <= kStoryMax) items += element("li", "", text_html(line));
  }
  return items.empty() ? "" : element("ol", "story", items) + "\n";
}

std::string log_html(const NodeLog& log) {
  std::string out = element("h4", "", text_html(log.node, 60));
  std::string items;
  size_t left_out = log.left_out;
  for (const StampedLine& line : log.lines) {
    if (items.size() > kLogBytesMax) {
      ++left_out;
      continue;
    }
    items += element("li", "",
                     element("time", "mono", fixed(to_seconds(line.time), 3)) +
                         element("span", "mono", text_html(line.text, 300)));
  }
  if (left_out > 0) {
    items += element(
        "li", "",
        "<time></time>" +
            element("span", "",
                    counted(static_cast<int64_t>(left_out), "line", "lines") + " left out"));
  }
  return out + element("ol", "", items);
}

std::string logs_card(const Report& report) {
  std::string content;
  for (const NodeLog& log : report.info.logs) {
    if (log.lines.empty()) continue;
    std::string one = log_html(log);
    if (content.size() + one.size() > kLogsBytesMax) break;
    content += one;
  }
  if (report.info.logs.empty()) return "";
  if (content.empty()) {
    const auto [from, to] = log_window(report.history, report.verdict);
    content =
        "No node logged anything from " + format_point(from) + " to " + format_point(to) + ".";
  }
  return card(report.witness_operations.empty() ? "Logs of the nodes at the end"
                                                : "Logs of the nodes around the witness",
              element("div", "logs", content));
}

std::string rerun_card(const Report& report) {
  if (report.info.rerun.empty()) return "";
  return card("Run it again", element("code", "", text_html(report.info.rerun)), "rerun");
}

std::string witness_caption(const Report& report) {
  constexpr size_t kDrawn = 40;
  const size_t size = report.witness_operations.size();
  std::string out =
      "The witness: " + counted(static_cast<int64_t>(size), "operation", "operations");
  if (!report.witness.path.empty()) out += " of " + text_html(report.witness.path, 80);
  if (size > kDrawn) out += "; the first " + std::to_string(kDrawn) + " are drawn";
  return out;
}

std::string left_html(const Report& report, const Timeline& timeline) {
  const bool invalid = report.headline.outcome == Outcome::kInvalid;
  if (invalid && !report.witness_operations.empty()) {
    return figure(witness_caption(report), witness_drawing(report, kWidth)) + story_html(report);
  }
  const bool nothing = report.history.size() == 0 && report.digest.samples.empty();
  const std::string strip = nothing ? ""
                                    : figure("The whole run, by the driver&#39;s clock",
                                             run_strip(report, timeline, kWidth));
  if (!strip.empty()) return strip + story_html(report);
  return element("div", "nothing",
                 report.history.size() == 0
                     ? "The history holds no operation: there is nothing to draw."
                     : "The history carries no times: there is nothing to draw.") +
         story_html(report);
}

std::string right_html(const Report& report) {
  const auto& evidence = report.evidence;
  std::string out;
  switch (report.headline.outcome) {
    case Outcome::kValid:
      out = list_card("What could have been caught", evidence.could_have_been_caught) +
            list_card("What is not claimed", evidence.not_claimed) +
            list_card("What was not tested", evidence.not_tested) + rerun_card(report);
      break;
    case Outcome::kInvalid:
      out = rerun_card(report) + list_card("Rests on", evidence.rests_on) +
            list_card("Weaker promises", evidence.weaker) + logs_card(report) +
            list_card("Conventions", evidence.conventions);
      break;
    case Outcome::kFailed:
      out = card("What it means",
                 "The harness, the set-up or the environment failed. This says "
                 "nothing about the store.") +
            logs_card(report) + rerun_card(report);
      break;
    default:
      out = list_card("What was missing", evidence.missing) +
            list_card("What changes it", evidence.remedies) + rerun_card(report) +
            logs_card(report);
  }
  return out;
}

}  // namespace

std::string headline_html(const Report& report) {
  const auto& headline = report.headline;
  std::string out = "<header class=\"" + std::string(to_string(headline.outcome)) + "\"><h1>";
  out += element("span", "badge",
                 "<svg width=\"22\" height=\"22\" viewBox=\"0 0 22 22\" aria-hidden=\"true\">" +
                     std::string(icon(headline.outcome)) + "</svg>" + headline.word);
  out += element("span", "sentence", text_html(headline.sentence, kSentenceMax)) + "</h1>\n";
  if (!headline.note.empty()) out += element("p", "expectation", text_html(headline.note));
  if (!report.info.expected.empty()) {
    out += element("p", "expectation",
                   "Expected " + text_html(report.info.expected) +
                       (report.info.as_expected ? ": as expected." : ": not as expected."));
  }
  out += "<dl class=\"scope\">";
  for (const auto& [name, value] : report.scope) {
    out += element("div", "", element("dt", "", name) + element("dd", "", text_html(value, 160)));
  }
  return out + "</dl></header>\n";
}

std::string first_screen_html(const Report& report, const Timeline& timeline) {
  return "<div class=\"first\">\n" + element("div", "", left_html(report, timeline)) +
         element("aside", "", right_html(report)) + "</div>\n";
}

}  // namespace assay::report
