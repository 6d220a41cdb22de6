// The pages of a certificate: HTML, JUnit, Markdown, and a table for a terminal.
#include <algorithm>

#include "results/certificate.h"
#include "results/report/html_elements.h"
#include "results/report/html_style.h"
#include "results/report/markup.h"

namespace assay {
namespace {

using report::element;
using report::escape;
using report::text_html;

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string joined(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : ", ") + item;
  return all;
}

std::string threats_text(const CertificateClause& clause) {
  std::vector<std::string> told;
  for (const CertificateThreat& threat : clause.threats)
    told.push_back(threat.fault + " " + (threat.excluded.empty() ? std::to_string(threat.bit) : "excluded"));
  return joined(told);
}

std::string evidence_text(const CertificateClause& clause) {
  return report::counted(clause.cells, "run", "runs") + ", " + report::grouped(clause.operations) +
         " operations, " + report::counted(clause.faults_bit, "fault", "faults") + " that bit, " +
         report::counted(clause.recoveries, "recovery", "recoveries");
}

// The classes of a clause's word are those of a verdict's badge.
std::string badge(const std::string& word) {
  return "<span class=\"badge " + (word == "not claimed" ? std::string("vacuous") : escape(word)) +
         "\">" + escape(upper(word)) + "</span>";
}

std::string fault_header(const std::vector<std::string>& faults) {
  std::string row = "<tr><th>clause</th>";
  for (const std::string& fault : faults) row += "<th>" + escape(fault) + "</th>";
  return row + "</tr>\n";
}

std::vector<std::string> faults_of(const Certificate& certificate) {
  std::vector<std::string> faults;
  for (const CertificateClause& clause : certificate.clauses)
    for (const CertificateThreat& threat : clause.threats)
      if (std::find(faults.begin(), faults.end(), threat.fault) == faults.end())
        faults.push_back(threat.fault);
  return faults;
}

std::string matrix_html(const Certificate& certificate) {
  const auto faults = faults_of(certificate);
  std::string rows = fault_header(faults);
  for (const CertificateClause& clause : certificate.clauses) {
    if (clause.threats.empty()) continue;
    rows += "<tr><td>" + escape(clause.id) + "</td>";
    for (const std::string& fault : faults) {
      std::string content;
      for (const CertificateThreat& threat : clause.threats)
        if (threat.fault == fault)
          content = threat.excluded.empty() ? "bit " + std::to_string(threat.bit) + " times"
                                            : "excluded: " + threat.excluded;
      rows += report::cell(escape(content));
    }
    rows += "</tr>\n";
  }
  return element("table", "", rows);
}

std::string clauses_html(const Certificate& certificate) {
  std::string rows = "<tr><th>clause</th><th></th><th>what the contract says</th><th>evidence</th></tr>\n";
  for (const CertificateClause& clause : certificate.clauses) {
    std::string what = "<strong>" + escape(clause.id + " " + clause.title) + "</strong><br/><span class=\"quote\">" +
                       escape(clause.passage) + "</span>";
    if (!clause.reason.empty())
      what += "<br/>" + text_html((clause.check.empty() ? "" : clause.check + ": ") + clause.reason);
    if (!clause.expected.empty()) what += "<br/>expected of this design: " + escape(clause.expected);
    rows += "<tr><td>" + badge(clause.word) + "</td><td></td>" + report::cell(what) +
            report::cell(escape(evidence_text(clause)) + "<br/>checks: " + escape(joined(clause.checks))) +
            "</tr>\n";
  }
  return element("table", "", rows);
}

std::string cells_html(const Certificate& certificate) {
  std::string rows =
      "<tr><th>run</th><th>verdict</th><th>target</th><th>workload</th><th>faults</th><th>ok</th><th>fail</th>"
      "<th>info</th><th>why</th></tr>\n";
  for (const CertificateCell& cell : certificate.cells) {
    const std::string name = cell.run_folder.empty()
                                 ? escape(cell.id)
                                 : "<a href=\"" + escape(cell.run_folder) + "/report.html\">" + escape(cell.id) + "</a>";
    std::string why = cell.canary_of.empty() ? "" : "canary of " + cell.canary_of + ". ";
    why += cell.word == "valid" ? "" : (cell.witness.empty() ? cell.reason : cell.witness);
    rows += "<tr>" + report::cell(name) + report::cell(escape(cell.word)) +
            report::cell(escape(cell.target)) + report::cell(escape(cell.workload)) +
            report::cell(escape(cell.faults)) + report::number_cell(report::grouped(cell.ok)) +
            report::number_cell(report::grouped(cell.fail)) + report::number_cell(report::grouped(cell.info)) +
            report::cell(text_html(why)) + "</tr>\n";
  }
  return element("table", "", rows);
}

std::string binaries_text(const Certificate& certificate) {
  std::vector<std::string> told;
  for (const auto& [name, hash] : certificate.binaries) told.push_back(name + " " + hash);
  return joined(told);
}

std::string settings_text(const Certificate& certificate) {
  std::vector<std::string> told;
  for (const auto& [name, value] : certificate.settings) told.push_back(name + "=" + value);
  return joined(told);
}

std::string scope_html(const Certificate& certificate) {
  std::string list;
  const auto item = [&](const char* name, const std::string& text) {
    if (!text.empty())
      list += "<div><dt>" + std::string(name) + "</dt><dd>" + text_html(text) + "</dd></div>";
  };
  item("target", certificate.target);
  item("settings", settings_text(certificate));
  item("programs", binaries_text(certificate));
  item("contract", certificate.contract);
  item("profile", certificate.profile + (certificate.shard.empty() ? "" : ", shard " + certificate.shard));
  item("seed", std::to_string(certificate.seed));
  item("made", certificate.started + " by Assay " + certificate.assay_version);
  item("host", certificate.host);
  return element("dl", "scope", list);
}

std::string section(const char* title, const std::string& content) {
  return content.empty() ? "" : "<h2>" + std::string(title) + "</h2>\n" + content + "\n";
}

std::string lines_html(const std::vector<std::string>& lines) {
  std::string items;
  for (const std::string& line : lines) items += "<li>" + text_html(line) + "</li>";
  return items.empty() ? "" : "<ul>" + items + "</ul>";
}

}  // namespace

std::string certificate_html(const Certificate& certificate) {
  std::string body = "<h1>" + badge(certificate.word) + "<span class=\"sentence\">" +
                     text_html(certificate.sentence) + "</span></h1>\n";
  body += scope_html(certificate);
  body += section("Not asked for", lines_html(certificate.exclusions));
  body += section("Clauses", clauses_html(certificate));
  body += section("What was done to it", matrix_html(certificate));
  body += section("What the number of runs can say", element("p", "", text_html(certificate.honest)));
  body += section("Not exercised", lines_html(certificate.not_exercised));
  body += section("Runs", cells_html(certificate));
  body += "<h2>To repeat it</h2>\n<p>Every run: <code>assay rerun</code> with its folder. The stored histories, checked "
          "again: <code>assay verify</code> with this folder.</p>\n";
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" +
         element("title", "", text_html("Certificate: " + certificate.target + " " + certificate.word)) +
         element("style", "", std::string(report::html_style()) +
                                  "\ntable { border-collapse: collapse; font-size: 13px; } td, th { text-align: left; "
                                  "vertical-align: top; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); } "
                                  ".quote { color: var(--soft); } .badge { white-space: nowrap; font-size: 14px; }\n") +
         "</head>\n<body>\n" + body + "</body></html>\n";
}

// The whole is a case as well: runs that failed, and canaries that were missed, are no clause's.
std::string certificate_junit(const Certificate& certificate) {
  int tests = 0, failures = 0, errors = 0;
  std::string cases;
  const auto add = [&](const std::string& title, const std::string& word, const std::string& reason) {
    ++tests;
    cases += "  <testcase classname=\"" + escape(certificate.target) + "\" name=\"" + escape(title) + "\">";
    const bool failure = word == "invalid" || word == "blocked";
    if (word != "valid") {
      (failure ? failures : errors) += 1;
      const char* name = failure ? "failure" : "error";
      cases += "\n    <" + std::string(name) + " type=\"" + escape(word) + "\" message=\"" + escape(reason) + "\"/>\n  ";
    }
    cases += "</testcase>\n";
  };
  for (const CertificateClause& clause : certificate.clauses)
    if (clause.word != "not claimed") add(clause.id + " " + clause.title, clause.word, clause.reason);
  add("certificate", certificate.word, certificate.sentence);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"assay certificate\" tests=\"" +
         std::to_string(tests) + "\" failures=\"" + std::to_string(failures) +
         "\" errors=\"" + std::to_string(errors) + "\">\n" + cases + "</testsuite>\n";
}

std::string certificate_markdown(const Certificate& certificate) {
  const auto safe = [](const std::string& said) { return report::markdown_text(said); };
  std::string text = "## " + upper(certificate.word) + ": " + safe(certificate.target) + "\n\n" +
                     safe(certificate.sentence) + "\n\n";
  if (!certificate.settings.empty()) text += "- settings: " + safe(settings_text(certificate)) + "\n";
  for (const std::string& line : certificate.exclusions) text += "- not asked for: " + safe(line) + "\n";
  text += "\n| clause | verdict | check | evidence | faults that bit | why |\n|---|---|---|---|---|---|\n";
  for (const CertificateClause& clause : certificate.clauses)
    text += "| " + clause.id + " " + clause.title + " | " + clause.word +
            (clause.expected.empty() ? "" : " (expected " + clause.expected + ")") + " | " + clause.check +
            " | " + evidence_text(clause) + " | " + threats_text(clause) + " | " + safe(clause.reason) + " |\n";
  return text + "\n" + certificate.honest + "\n";
}

std::string certificate_text(const Certificate& certificate) {
  std::string text;
  for (const std::string& line : certificate.exclusions) text += "not asked for: " + line + "\n";
  for (const CertificateClause& clause : certificate.clauses) {
    std::string line = clause.id + std::string(clause.id.size() < 7 ? 7 - clause.id.size() : 1, ' ') +
                       upper(clause.word);
    line += std::string(line.size() < 20 ? 20 - line.size() : 1, ' ') + clause.title;
    if (clause.cells > 0) line += ": " + evidence_text(clause);
    text += line + "\n";
    if (!clause.reason.empty())
      text += "                    " + (clause.check.empty() ? "" : clause.check + ": ") +
              report::printable(clause.reason) + "\n";
  }
  return text + certificate.honest + "\n" + upper(certificate.word) + ": " + certificate.sentence + "\n";
}

}  // namespace assay
