#include "results/report/text.h"

#include <algorithm>
#include <string_view>

#include "results/report/html_sections.h"
#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay {
namespace {

using report::Outcome;

constexpr size_t kLabelWidth = 14;
constexpr size_t kPartsMax = 8;  // children of a checker that are shown: those that are not valid
constexpr size_t kTextMax = 500;

std::string_view ansi(Outcome outcome) {
  switch (outcome) {
    case Outcome::kValid:
      return "\033[1;32m";
    case Outcome::kInvalid:
    case Outcome::kFailed:
      return "\033[1;31m";
    case Outcome::kBlocked:
      return "\033[1;35m";
    default:
      return "\033[1;33m";
  }
}

// Characters, not bytes: the texts have arrows in them.
size_t columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Control characters of a store's answer must not reach the terminal.
std::string printable(std::string_view text) {
  return report::printable(report::shortened(text, kTextMax));
}

class Page {
 public:
  explicit Page(const TextOptions& options) : options_(options) {}

  // The text after what is already on the line, further lines indented.
  void wrapped(std::string_view text, size_t indent) {
    size_t at = column();
    const std::string clean = printable(text);
    std::string_view rest = clean;
    bool first = true;
    while (!rest.empty()) {
      const size_t space = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, space);
      rest.remove_prefix(std::min(rest.size(), space + 1));
      if (!first && at + 1 + columns(word) > options_.width) {
        out_.append("\n").append(indent, ' ');
        at = indent;
      } else if (!first) {
        out_ += ' ';
        ++at;
      }
      out_ += word;
      at += columns(word);
      first = false;
    }
    out_ += '\n';
  }

  void row(std::string_view label, std::string_view text) {
    out_.append("  ").append(label);
    out_.append(kLabelWidth - std::min(kLabelWidth - 1, columns(label)), ' ');
    wrapped(text, kLabelWidth + 2);
  }

  void list(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out_.append("  ").append(title).append("\n");
    for (const std::string& line : lines) {
      out_ += "    - ";
      wrapped(line, 6);
    }
  }

  std::string colored(Outcome outcome, std::string_view text) const {
    if (!options_.color) return std::string(text);
    return std::string(ansi(outcome)) + std::string(text) + "\033[0m";
  }

  void raw(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  size_t column() const {  // of the last line, colours not counted
    const std::string_view line = std::string_view(out_).substr(out_.rfind('\n') + 1);
    size_t hidden = 0;
    for (size_t i = 0; (i = line.find('\033', i)) != std::string_view::npos; ++i) {
      hidden += line.find('m', i) - i + 1;
    }
    return columns(line) - hidden;
  }

  const TextOptions& options_;
  std::string out_;
};

void put_headline(const Report& report, Page& page) {
  const auto& headline = report.headline;
  page.raw(page.colored(headline.outcome, headline.word) + ": ");
  page.wrapped(headline.sentence, headline.word.size() + 2);
  std::vector<std::string> lines = headline.lines;
  if (!headline.note.empty()) lines.push_back(headline.note);
  for (const std::string& line : lines) {
    page.raw("  ");
    page.wrapped(line, 2);
  }
}

void put_witness(const Report& report, Page& page) {
  if (report.witness_operations.empty()) return;
  page.raw("  witness (" + printable(report.witness.path) + ")\n");
  for (const Operation& operation : report.witness_operations) {
    std::string line = "#" + std::to_string(operation.invoke_index());
    line += "  p" + std::to_string(operation.process().id);
    if (!operation.node().empty()) line += " on " + std::string(operation.node().text());
    if (!operation.key().empty()) line += "  " + std::string(operation.key().text());
    line += "  " + report::operation_text(operation, 40);
    line += "  " + report::outcome_text(operation);
    if (report.digest.timed) {
      line += "  " + report::point_text(operation.invoke_time(), 4);
      if (operation.return_position() != kOpen) {
        line += " to " + report::point_text(operation.return_time(), 4);
      }
    }
    page.raw("    ");
    page.wrapped(line, 6);
  }
}

void put_checkers(const Report& report, Page& page) {
  if (report.verdict.children.empty()) return;
  page.raw("  checkers\n");
  for (const Verdict& checker : report.verdict.children) {
    page.raw("    " + printable(checker.name) + ": " + std::string(to_string(checker.word())));
    page.wrapped(checker.reason.empty() ? "" : ", " + checker.reason, 6);
    size_t shown = 0;
    size_t left_out = 0;
    for (const Verdict& part : checker.children) {
      if (part.word() == Word::kValid) continue;
      if (++shown > kPartsMax) {
        ++left_out;
        continue;
      }
      page.raw("      " + printable(part.name) + ": " + std::string(to_string(part.word())));
      page.wrapped(part.reason.empty() ? "" : ", " + part.reason, 8);
    }
    if (left_out > 0) page.raw("      and " + std::to_string(left_out) + " more\n");
  }
}

std::string times_text(const RunInfo& info) {
  std::string out;
  const auto put = [&](std::string_view name, Nanos time) {
    out += (out.empty() ? "" : ", ") + std::string(name) + " " + format_duration(time);
  };
  for (const auto& [name, time] : info.timings) put(name, time);
  if (info.read_time) put("read", *info.read_time);
  if (info.check_time) put("check", *info.check_time);
  return out;
}

}  // namespace

std::string text_report(const Report& report, const TextOptions& options) {
  Page page(options);
  put_headline(report, page);
  put_witness(report, page);
  for (const auto& [name, text] : report.scope) page.row(name, text);
  if (const std::string clauses = report::clauses_line(report); !clauses.empty())
    page.row("clauses", clauses);
  put_checkers(report, page);
  const auto& evidence = report.evidence;
  const bool valid = report.headline.outcome == Outcome::kValid;
  page.list("rests on", evidence.rests_on);
  page.list("weaker promises", evidence.weaker);
  if (valid) page.list("could have been caught", evidence.could_have_been_caught);
  if (!valid && report.headline.outcome != Outcome::kInvalid) {
    page.list("missing", evidence.missing);
    page.list("what changes it", evidence.remedies);
  }
  if (valid) page.list("not claimed", evidence.not_claimed);
  if (valid) page.list("not tested", evidence.not_tested);
  page.list("conventions", evidence.conventions);
  page.list("warnings", report.history.warnings());
  if (const std::string times = times_text(report.info); !times.empty()) page.row("took", times);
  if (!report.info.expected.empty()) {
    page.row("expected",
             report.info.expected + (report.info.as_expected ? ": so it is" : ": it is not so"));
  }
  if (!report.info.folder.empty()) page.row("folder", report.info.folder);
  if (!report.info.rerun.empty()) page.row("again", report.info.rerun);
  return page.take();
}

std::string text_line(const Report& report, const TextOptions& options) {
  Page page(options);
  const auto& headline = report.headline;
  std::string line = page.colored(headline.outcome, headline.word);
  line.append(12 - std::min<size_t>(11, headline.word.size()), ' ');
  if (report.info.seed) line += "seed " + std::to_string(*report.info.seed) + "  ";
  line += report::outcomes_text(report.digest.all) + "  ";
  return line + printable(headline.sentence);
}

}  // namespace assay
