#include "results/report/markdown.h"

#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay {
namespace {

using report::Outcome;

constexpr size_t kTextMax = 600;
constexpr size_t kOperationsMax = 20;
constexpr size_t kPartsMax = 20;

std::string plain(std::string_view text) {
  return report::markdown_text(report::shortened(text, kTextMax));
}

// The same, but what stands in backquotes stays code.
std::string plain_with_code(const std::string& text) {
  std::string out;
  size_t at = 0;
  for (size_t open; (open = text.find('`', at)) != std::string::npos;) {
    const size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    out += plain(text.substr(at, open - at)) + text.substr(open, close + 1 - open);
    at = close + 1;
  }
  return out + plain(text.substr(at));
}

void put_list(std::string& out, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out.append("\n**").append(title).append("**\n\n");
  for (const std::string& line : lines) out += "- " + plain_with_code(line) + "\n";
}

void put_witness(std::string& out, const Report& report) {
  if (report.witness_operations.empty()) return;
  out += "\n### Witness: " + plain(report.witness.path) + "\n\n";
  out += "| index | process | node | key | operation | outcome | invoked | returned |\n";
  out += "|---|---|---|---|---|---|---|---|\n";
  size_t shown = 0;
  for (const Operation& operation : report.witness_operations) {
    if (++shown > kOperationsMax) break;
    const bool timed = report.digest.timed;
    const bool returned = operation.return_position() != kOpen;
    out += "| " + std::to_string(operation.invoke_index()) + " | p" +
           std::to_string(operation.process().id) + " | " + plain(operation.node().text()) + " | " +
           plain(operation.key().text()) + " | " + plain(report::operation_text(operation, 60)) +
           " | " + plain(report::outcome_text(operation)) + " | " +
           (timed ? report::point_text(operation.invoke_time(), 4) : "") + " | " +
           (timed && returned ? report::point_text(operation.return_time(), 4) : "") + " |\n";
  }
  if (report.witness_operations.size() > kOperationsMax) {
    out += "\nand " + std::to_string(report.witness_operations.size() - kOperationsMax) + " more\n";
  }
}

void put_checkers(std::string& out, const Verdict& verdict) {
  if (verdict.children.empty()) return;
  out += "\n### Checkers\n\n| checker | verdict | reason |\n|---|---|---|\n";
  size_t left = kPartsMax;
  const auto row = [&](const std::string& name, const Verdict& v) {
    out += "| " + plain(name) + " | " + std::string(to_string(v.word())) + " | " + plain(v.reason) +
           " |\n";
  };
  for (const Verdict& checker : verdict.children) {
    row(checker.name, checker);
    for (const Verdict& part : checker.children) {
      if (part.word() == Word::kValid || left == 0) continue;
      --left;
      row(checker.name + "/" + part.name, part);
    }
  }
}

std::string escaped_for_github(std::string_view text, bool property) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

bool is_good(const Report& report) {
  const Outcome outcome = report.headline.outcome;
  if (outcome == Outcome::kFailed || outcome == Outcome::kInterrupted) return false;
  return report.info.expected.empty() ? outcome == Outcome::kValid : report.info.as_expected;
}

}  // namespace

std::string markdown_report(const Report& report) {
  const auto& headline = report.headline;
  std::string out = "## " + headline.word + ": " + plain(headline.sentence) + "\n";
  for (const std::string& line : headline.lines) out += "\n" + plain(line) + "\n";
  if (!headline.note.empty()) out += "\n" + plain(headline.note) + "\n";
  if (!report.info.expected.empty()) {
    out += "\nExpected " + plain(report.info.expected) +
           (report.info.as_expected ? ": as expected.\n" : ": **not as expected**.\n");
  }
  out += "\n| | |\n|---|---|\n";
  for (const auto& [name, text] : report.scope) out += "| " + name + " | " + plain(text) + " |\n";
  put_witness(out, report);
  put_checkers(out, report.verdict);
  const auto& evidence = report.evidence;
  put_list(out, "Rests on", evidence.rests_on);
  if (headline.outcome == Outcome::kValid) {
    put_list(out, "What could have been caught", evidence.could_have_been_caught);
  } else if (headline.outcome != Outcome::kInvalid) {
    put_list(out, "What was missing", evidence.missing);
    put_list(out, "What changes it", evidence.remedies);
  }
  if (headline.outcome == Outcome::kValid) {
    put_list(out, "What is not claimed", evidence.not_claimed);
    put_list(out, "What was not tested", evidence.not_tested);
  }
  put_list(out, "Conventions", evidence.conventions);
  if (!report.info.rerun.empty()) out += "\nRun it again:\n\n```\n" + report.info.rerun + "\n```\n";
  if (!report.info.folder.empty()) out += "\nRun folder: `" + report.info.folder + "`\n";
  return out;
}

std::string github_error_line(const Report& report) {
  if (is_good(report)) return "";
  const auto& header = report.history.header();
  std::string title = "assay " + report.headline.word;
  if (!header.target.empty()) title += ": " + header.target + " " + header.workload;
  std::string message = report::shortened(report.headline.sentence, kTextMax);
  if (!report.info.expected.empty()) message = "expected " + report.info.expected + ". " + message;
  if (!report.info.rerun.empty()) message += " Run it again: " + report.info.rerun;
  return "::error title=" + escaped_for_github(title, true) +
         "::" + escaped_for_github(message, false) + "\n";
}

}  // namespace assay
