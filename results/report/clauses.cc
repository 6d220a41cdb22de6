// What one run says of the clauses of the two contracts (checkers/clauses.h).
#include <map>

#include "checkers/clauses.h"
#include "results/report/html_elements.h"
#include "results/report/html_sections.h"
#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

std::string word_of(const ClauseVerdict& verdict) {
  if (verdict.safety == Safety::kInvalid) return "invalid";
  return verdict.blocked ? "blocked" : std::string(to_string(verdict.safety));
}

// Only those that the run had something to say about; none of a history of unknown origin. A run that
// did not exercise what it claims may convict, and calls nothing valid.
std::vector<ClauseVerdict> spoken_of(const Report& report) {
  std::vector<ClauseVerdict> spoken;
  const std::string& workload = report.history.header().workload;
  if (workload.empty()) return spoken;
  for (ClauseVerdict& verdict : judge_clauses(report.verdict, workload))
    if (!verdict.exercised.empty() &&
        (word_of(verdict) != "valid" || report.verdict.safety != Safety::kVacuous))
      spoken.push_back(std::move(verdict));
  return spoken;
}

}  // namespace

std::string clauses_line(const Report& report) {
  std::vector<std::string> order;
  std::map<std::string, std::string> by_word;
  for (const ClauseVerdict& verdict : spoken_of(report)) {
    const std::string word = word_of(verdict);
    std::string& ids = by_word[word];
    if (ids.empty()) order.push_back(word);
    ids += (ids.empty() ? "" : ", ") + std::string(verdict.clause->id);
    if (word != "valid") ids += " (" + verdict.check + ")";
  }
  std::string line;
  for (const std::string& word : order) line += (line.empty() ? "" : "; ") + word + ": " + by_word[word];
  return line;
}

std::string clauses_html(const Report& report) {
  std::string rows;
  for (const ClauseVerdict& verdict : spoken_of(report)) {
    const std::string word = word_of(verdict);
    std::string what = "<strong>" + escape(std::string(verdict.clause->id) + " " +
                                           std::string(verdict.clause->title)) + "</strong><br/>" +
                       text_html(verdict.clause->passage);
    std::string why = text_html(verdict.check);
    if (word != "valid") why += "<br/>" + text_html(verdict.reason);
    rows += "<tr>" + cell("<strong class=\"" + escape(word) + "\" style=\"color: var(--tone)\">" + escape(word) +
                          "</strong>") +
            cell(what) + cell(why) + "</tr>\n";
  }
  if (rows.empty()) return "";
  return "<h2>Clauses of the two contracts</h2>\n" + element("table", "", rows);
}

}  // namespace assay::report
