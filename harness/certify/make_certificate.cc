#include <algorithm>
#include <cmath>
#include <cstdio>

#include "checkers/clauses.h"
#include "checkers/words.h"
#include "harness/certify/certify.h"
#include "harness/certify/token_kinds.h"
#include "harness/plan.h"

namespace assay {
namespace {

// invalid > blocked > unknown > valid: what the worst run says of a clause.
int weight(const std::string& word) {
  if (word == "invalid") return 4;
  if (word == "blocked") return 3;
  if (word == "unknown") return 2;
  return word == "valid" ? 1 : 0;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class Maker {
 public:
  Maker(const CertifyRequest& request, const Suite& suite, std::vector<CertificateCell> cells)
      : request_(request), suite_(suite) {
    certificate_.target = request.target;
    certificate_.settings = request.settings;
    certificate_.profile = request.profile;
    certificate_.contract = request.contract;
    certificate_.seed = request.seed;
    if (request.shards > 1)
      certificate_.shard = std::to_string(request.shard) + "/" + std::to_string(request.shards);
    certificate_.exclusions = suite.exclusions;
    certificate_.cells = std::move(cells);
  }

  Certificate make() {
    for (const Clause& clause : all_clauses()) certificate_.clauses.push_back(judge(clause));
    judge_canaries();
    conclude();
    return std::move(certificate_);
  }

 private:
  CertificateClause judge(const Clause& clause) {
    CertificateClause out;
    out.id = clause.id;
    out.title = clause.title;
    out.passage = clause.passage;
    out.word = "vacuous";
    out.expected = expected_of(request_.target, clause.id);
    for (std::string_view what : clause.not_exercised) out.not_exercised.emplace_back(what);
    const bool compares = !clause.same_verdicts.empty();
    if (contains(suite_.not_claimed, out.id) || (compares && suite_.token_kinds.size() < 2)) {
      out.word = "not claimed";
      out.reason = compares ? "one kind of token was used: nothing to compare" : "the target does not claim it";
      return out;
    }
    if (request_.contract == "weak" && !of_weak(clause)) {
      out.word = "not claimed";
      out.reason = "the weak contract does not ask for it";
      return out;
    }
    for (std::string_view fault : clause.threats) out.threats.push_back({std::string(fault), 0, ""});
    if (compares) {
      compare_token_kinds(clause, suite_, certificate_.cells, out);
    } else {
      for (const CertificateCell& cell : certificate_.cells) take(cell, out);
    }
    ask_for_threats(out);
    return out;
  }

  static bool of_weak(const Clause& clause) {
    return std::any_of(clause.checks.begin(), clause.checks.end(), [](const ClauseCheck& check) {
      return of_weak_contract(check.checker);
    });
  }

  // A run with another kind of token than the request's may break a clause, and is no evidence for it.
  bool is_other_kind(const CertificateCell& cell) const {
    return !cell.token_kind.empty() && !suite_.token_kinds.empty() && cell.token_kind != suite_.token_kinds.front();
  }

  void take(const CertificateCell& cell, CertificateClause& out) const {
    const auto said = cell.clauses.find(out.id);
    if (!cell.canary_of.empty() || said == cell.clauses.end()) return;
    const auto& [word, check, reason] = said->second;
    if (is_other_kind(cell) && word != "invalid") return;
    ++out.cells;
    out.operations += cell.ok;
    if (!contains(out.checks, check)) out.checks.push_back(check);
    for (const auto& [fault, bit] : cell.bit) {
      out.faults_bit += bit;
      for (CertificateThreat& threat : out.threats)
        if (threat.fault == fault) threat.bit += bit;
    }
    for (const auto& [fault, healed] : cell.healed) out.recoveries += healed;
    if (weight(word) <= weight(out.word)) return;
    out.word = word;
    out.check = check;
    out.cell = cell.id;
    if (word != "valid") out.reason = reason;
  }

  // Without a fault that was to threaten it, a clause that holds says little.
  void ask_for_threats(CertificateClause& out) {
    std::vector<std::string> missing;
    for (CertificateThreat& threat : out.threats) {
      if (contains(suite_.excluded_faults, threat.fault)) threat.excluded = "not possible here";
      if (threat.bit == 0 && threat.excluded.empty()) missing.push_back(threat.fault);
    }
    if (out.word == "vacuous" && out.reason.empty()) out.reason = "no run had anything to judge it by";
    if (out.word != "valid" || missing.empty()) return;
    out.word = "vacuous";
    out.reason = "never seen to bite in a run that speaks for it: " + listed(missing);
  }

  void judge_canaries() {
    for (const CertificateCell& cell : certificate_.cells) {
      if (cell.canary_of.empty()) continue;
      if (is_convicted(cell)) {
        ++canaries_;
      } else {
        certificate_.not_exercised.push_back("the canary " + cell.target + " was not convicted for " +
                                             cell.canary_of + " (" + cell.word +
                                             "): the like could have been missed in the target");
        missed_.push_back(cell.target);
        doubt(cell);
      }
    }
  }
  // That a clause holds says little where a store that breaks it was not found out.
  void doubt(const CertificateCell& canary) {
    for (CertificateClause& clause : certificate_.clauses) {
      if (clause.id != canary.canary_of || clause.word != "valid") continue;
      clause.word = "vacuous";
      clause.reason = "the canary " + canary.target + " was not convicted";
    }
  }

  void conclude() {
    std::vector<std::string> invalid, blocked, unknown, vacuous;
    size_t valid = 0;
    for (const CertificateClause& clause : certificate_.clauses) {
      if (clause.word == "invalid") invalid.push_back(clause.id);
      if (clause.word == "blocked") blocked.push_back(clause.id);
      if (clause.word == "unknown") unknown.push_back(clause.id);
      if (clause.word == "vacuous") vacuous.push_back(clause.id);
      valid += clause.word == "valid";
      for (const std::string& what : clause.not_exercised)
        certificate_.not_exercised.push_back(clause.id + ": " + what);
    }
    std::vector<std::string> failed, convicted;
    for (const CertificateCell& cell : certificate_.cells) {
      if (cell.canary_of.empty() && cell.word == "invalid") convicted.push_back(cell.id);
      if (cell.word == "failed" || cell.word == "interrupted" || cell.word == "not played")
        failed.push_back(cell.id);
    }
    std::string& word = certificate_.word;
    std::string& sentence = certificate_.sentence;
    if (!invalid.empty()) {
      word = "invalid";
      sentence = "it breaks " + listed(invalid);
    } else if (!convicted.empty()) {
      word = "invalid";
      sentence = "no clause speaks of it, and runs were invalid: " + listed(convicted);
    } else if (!blocked.empty()) {
      word = "blocked";
      sentence = "nothing wrong was answered, but nothing went on where it was due: " + listed(blocked);
    } else if (!unknown.empty()) {
      word = "unknown";
      sentence = "not decided: " + listed(unknown);
    } else if (!vacuous.empty() || !missed_.empty() || !failed.empty()) {
      word = "vacuous";
      sentence = !missed_.empty()   ? "canaries were missed: " + listed(missed_)
                 : !vacuous.empty() ? "not exercised: " + listed(vacuous)
                                    : "runs that failed: " + listed(failed);
    } else {
      word = "valid";
      sentence = "all " + std::to_string(valid) + " clauses that it claims hold in " +
                 counted(certificate_.runs(), "run", "runs") +
                 (canaries_ > 0 ? "; " + std::to_string(canaries_) +
                                      " canaries were convicted under the same specs"
                                : "");
    }
    certificate_.honest = honest_number();
  }

  // With n runs and none invalid, a fault that shows in a share p of runs goes unseen with (1-p)^n.
  std::string honest_number() const {
    size_t bad = 0, runs = certificate_.runs();
    for (const CertificateCell& cell : certificate_.cells)
      bad += cell.canary_of.empty() && cell.word == "invalid";
    if (runs == 0) return "no run was decided: nothing can be said";
    const std::string of = std::to_string(bad) + " of " + std::to_string(runs) + " runs were invalid";
    if (bad > 0) return of;
    const double share = 1 - std::pow(0.05, 1.0 / static_cast<double>(runs));
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.1f", share * 100);
    return of + ": a fault that shows in " + percent +
           " % of such runs or more would have been seen with 95 % confidence";
  }

  const CertifyRequest& request_;
  const Suite& suite_;
  Certificate certificate_;
  int canaries_ = 0;
  std::vector<std::string> missed_;
};

}  // namespace

Certificate make_certificate(const CertifyRequest& request, const Suite& suite,
                             std::vector<CertificateCell> cells) {
  return Maker(request, suite, std::move(cells)).make();
}

std::string design_table(const std::vector<Certificate>& certificates, int& wrong) {
  std::string head = "| design |", rule = "|---|", rows;
  for (const Clause& clause : all_clauses()) {
    head += " " + std::string(clause.id) + " |";
    rule += "---|";
  }
  for (const Certificate& certificate : certificates) {
    rows += "| " + certificate.target + " |";
    for (const CertificateClause& clause : certificate.clauses) {
      const bool differs = !clause.expected.empty() && clause.expected != clause.word;
      wrong += differs;
      rows += " " + (clause.expected.empty() ? "-" : clause.expected) + " / " + clause.word +
              (differs ? " **!**" : "") + (clause.check.empty() || clause.word == "valid" ? "" : " (" + clause.check + ")") + " |";
    }
    rows += "\n";
  }
  return "expected / seen (check)\n" + head + "\n" + rule + "\n" + rows;
}

}  // namespace assay
