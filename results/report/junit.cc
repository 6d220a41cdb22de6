#include "results/report/junit.h"

#include <string_view>

#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay {
namespace {

using report::escape;
using report::Outcome;

constexpr size_t kPartsMax = 50;
constexpr size_t kTextMax = 2000;

struct Case {
  std::string name;
  std::string_view element;  // "failure", "error"; empty: passed
  std::string type;          // "invalid"
  std::string message;
  std::string text;
};

std::string_view element_of(Word word) {
  switch (word) {
    case Word::kValid:
      return "";
    case Word::kInvalid:
    case Word::kBlocked:
      return "failure";
    default:
      return "error";
  }
}

// What is wrong in the tree, an indented line each.
void describe(const Verdict& verdict, size_t depth, size_t& left, std::string& out) {
  if (left == 0) return;
  --left;
  out.append(2 * depth, ' ').append(report::shortened(verdict.name, 100)).append(": ");
  out += to_string(verdict.word());
  if (!verdict.reason.empty()) out += ", " + report::shortened(verdict.reason, kTextMax);
  out += '\n';
  if (verdict.witness) {
    for (const std::string& line : verdict.witness->lines) {
      out.append(2 * depth + 2, ' ').append(report::shortened(line, kTextMax)).append("\n");
    }
  }
  for (const Verdict& child : verdict.children) {
    if (child.word() != Word::kValid || child.witness) describe(child, depth + 1, left, out);
  }
}

Case case_of(const Verdict& verdict, bool judged) {
  Case out;
  out.name = verdict.name.empty() ? "run" : verdict.name;
  if (judged) out.element = element_of(verdict.word());
  out.type = to_string(verdict.word());
  out.message = verdict.reason;
  size_t left = kPartsMax;
  describe(verdict, 0, left, out.text);
  return out;
}

std::vector<Case> cases_of(const Report& report) {
  const RunInfo& info = report.info;
  const bool judged = info.expected.empty();
  std::vector<Case> cases;
  bool explained = false;  // does a child have the run's word
  for (const Verdict& checker : report.verdict.children) {
    cases.push_back(case_of(checker, judged));
    explained = explained || checker.word() == report.verdict.word();
  }
  if (!explained) {
    Case run = case_of(report.verdict, judged);
    run.name = "run";
    cases.push_back(run);
  }
  if (!info.failure.empty()) {
    cases.push_back({"harness", "error", "failed", info.failure,
                     info.failure + "\nThis says nothing about the store.\n"});
  } else if (info.interrupted) {
    cases.push_back({"harness", "error", "interrupted", "interrupted by a signal", ""});
  }
  if (!judged) {
    Case expectation{"expected " + info.expected, "", "expectation", "", ""};
    if (!info.as_expected) {
      expectation.element = "failure";
      expectation.message = "expected " + info.expected + ", found " +
                            std::string(to_string(report.verdict.word())) + ": " +
                            report.verdict.reason;
      expectation.text = expectation.message;
    }
    cases.push_back(expectation);
  }
  return cases;
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string out = " ";
  return out.append(name).append("=\"").append(escape(value)).append("\"");
}

std::string case_xml(const Case& c, const std::string& classname) {
  std::string out =
      "    <testcase" + attribute("classname", classname) + attribute("name", c.name) + ">\n";
  if (c.element.empty()) {
    out += "      <system-out>" + escape(c.text.empty() ? c.type : c.text) + "</system-out>\n";
  } else {
    const std::string name(c.element);
    out += "      <" + name + attribute("type", c.type) +
           attribute("message", report::shortened(c.message, kTextMax)) + ">" + escape(c.text) +
           "</" + name + ">\n";
  }
  return out + "    </testcase>\n";
}

std::string properties_xml(const Report& report) {
  std::string out = "    <properties>\n";
  const auto put = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    out += "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
  };
  for (const auto& [name, text] : report.scope) put(name, text);
  put("verdict", std::string(to_string(report.headline.outcome)));
  put("folder", report.info.folder);
  put("rerun", report.info.rerun);
  return out + "    </properties>\n";
}

}  // namespace

std::string junit_report(const Report& report) {
  const std::vector<Case> cases = cases_of(report);
  size_t failures = 0;
  size_t errors = 0;
  for (const Case& c : cases) {
    failures += c.element == "failure";
    errors += c.element == "error";
  }
  const auto& header = report.history.header();
  std::string name = "assay";
  for (const std::string& part : {header.target, header.workload, report.info.faults}) {
    if (!part.empty()) name += "." + part;
  }
  const std::string run_time = report::fixed(to_seconds(report.digest.end), 3);
  const std::string counts = attribute("tests", std::to_string(cases.size())) +
                             attribute("failures", std::to_string(failures)) +
                             attribute("errors", std::to_string(errors)) +
                             attribute("skipped", "0") + attribute("time", run_time);
  const std::string suite =
      name + (report.info.seed ? " seed " + std::to_string(*report.info.seed) : "");
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += "<testsuites" + attribute("name", "assay") + counts + ">\n";
  out += "  <testsuite" + attribute("name", suite) + counts;
  if (!report.info.started.empty()) out += attribute("timestamp", report.info.started);
  out += ">\n" + properties_xml(report);
  for (const Case& c : cases) out += case_xml(c, name);
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace assay
