#include "checkers/clauses.h"

#include <algorithm>

#include "checkers/words.h"

namespace assay {
namespace {

// Workloads of which every element is acknowledged once and for all.
const std::vector<std::string_view> kAcknowledged = {"set", "register", "cas-versioned"};
const std::vector<std::string_view> kUpdates = {"counter", "append", "ref-update"};

std::vector<Clause> make_clauses() {
  return {
      {"H1", "History must become singular",
       "Many machines may observe and remember events, but eventually there must exist one "
       "authoritative sequence of committed events. Not several competing histories.",
       {{"one-history", {}}, {"member-agreement", {}}},
       {"partition", "pause"},
       {"single messages dropped"}},
      {"H2", "Every participant eventually builds on the same history",
       "Temporary disagreement is unavoidable. Permanent disagreement is not.",
       {{"convergence", {}}, {"member-agreement", {}}},
       {"partition", "kill"},
       {"members replaced"}},
      {"H3", "History must never permanently fork",
       "Independent branches may appear during failures. The system must converge upon one shared "
       "history before future decisions are built.",
       {{"durable", kAcknowledged}, {"one-history", {}}, {"dirty-reads", {}},
        {"member-agreement", {}}},
       {"partition", "kill"},
       {}},
      {"H4", "Future decisions use shared history",
       "A machine may observe, speculate, or temporarily lack information, but distributed actions "
       "must be grounded in the globally accepted history rather than private memory.",
       {{"linearizable", {}}, {"version-order", {}}, {"revisions/header-revision", {}},
        {"snapshot-reads", {}}, {"dirty-reads", {}}, {"minority-silence/reads", {}},
        {"lock", {"lock-with-timeout"}}},
       {"partition", "pause", "kill"},
       {}},
      {"H5", "Agreement is more fundamental than replication",
       "Copying history protects it from loss. Agreement protects it from contradiction. Replication "
       "without agreement merely creates multiple copies of uncertainty.",
       {{"durable", kAcknowledged}, {"minority-silence/changes", {}}, {"one-history", {}},
        {"member-agreement", {}}},
       {"partition", "kill"},
       {"loss of what was not synced to disk"}},
      {"V1", "Construct one accepted history",
       "Independent replicas are insufficient. Agreement must precede acceptance.",
       {{"one-history", {}}, {"durable", kAcknowledged}, {"member-agreement", {}}},
       {"partition", "pause", "kill"},
       {}},
      {"V2", "Distinguish every accepted history",
       "A shared history that evolves over time must give every accepted state a unique identity.",
       {{"revisions/tokens", {}}},
       {"kill"},
       {"clocks that jump"}},
      {"V3", "Detect stale understanding",
       "The responsibility for detecting stale understanding belongs to the system, never the "
       "writer's assumptions.",
       {{"conflicts", {}}, {"update-chain", {}}, {"bank", {}}},
       {"partition", "pause"},
       {"requests that are sent again above TCP, which drops the packets that a network repeats"}},
      {"V4", "Protect newer history",
       "Never silently replace newer accepted history with updates derived from older observations. "
       "Correctness precedes convenience.",
       {{"update-chain", {}}, {"field-ownership", {}}, {"durable", kUpdates}, {"bank", {}},
        {"unique-names", {}}, {"object-count", {}}, {"lock", {"lock-with-timeout", "lock-with-fencing"}}},
       {"partition", "pause"},
       {}},
      {"V5", "Require reconciliation after rejection",
       "A rejected update returns to reconciliation: the writer observes latest reality before "
       "deciding again.",
       // Who is not refused never reconciles: a stale writer that is let through where the value came back.
       {{"reconcile", {}}, {"durable", kUpdates}, {"update-chain", {"aba"}},
        {"lock", {"lock-without-timeout"}}},
       {"partition", "kill"},
       {}},
      {"V6", "Separate architecture from implementation",
       "Generation numbers, revision identifiers, version vectors: the implementation is "
       "replaceable. The responsibility is not.",
       {},
       {"partition", "pause", "kill"},
       {},
       {"V2", "V3", "V4", "V5"}},
      {"watch", "A position marker to resume a broken stream",
       "A watcher uses it as a position marker to resume a broken stream. Same field, two contracts, "
       "both made possible by one property: every accepted change carries a unique, monotonically "
       "advancing identity.",
       {{"watch", {}}},
       {"partition", "kill"},
       {}},
  };
}

bool speaks(const ClauseCheck& check, std::string_view workload) {
  const auto& in = check.workloads;
  return in.empty() || workload.empty() || std::find(in.begin(), in.end(), workload) != in.end();
}

void take(ClauseVerdict& clause, const Verdict& checked) {
  if (checked.safety == Safety::kVacuous) return;
  clause.exercised.push_back(checked.name);
  if (checked.progress == Progress::kBlocked) {
    clause.blocked = true;
    if (clause.safety <= Safety::kVacuous) {
      clause.check = checked.name;
      clause.reason = checked.reason;
    }
  }
  const bool first = clause.safety == Safety::kVacuous;
  if (!first && checked.safety <= clause.safety) return;
  clause.safety = checked.safety;
  clause.check = checked.name;
  const Verdict* worst = checked.worst();
  clause.reason = worst && worst->witness && !worst->witness->lines.empty()
                      ? worst->witness->lines.front()
                      : checked.reason;
}

}  // namespace

const std::vector<Clause>& all_clauses() {
  static const std::vector<Clause> clauses = make_clauses();
  return clauses;
}

const Clause* find_clause(std::string_view id) {
  for (const Clause& clause : all_clauses()) {
    if (clause.id == id) return &clause;
  }
  return nullptr;
}

std::string judged_by(const Clause& clause) {
  std::vector<std::string> names;
  for (const ClauseCheck& check : clause.checks) names.emplace_back(check.checker);
  if (!clause.same_verdicts.empty()) names.assign(clause.same_verdicts.begin(), clause.same_verdicts.end());
  if (names.empty()) return "no check yet";
  return clause.same_verdicts.empty()
             ? listed(names)
             : "the verdicts of " + listed(names) + ", which must be the same with each kind of token";
}

std::vector<ClauseVerdict> judge_clauses(const Verdict& run, std::string_view workload) {
  std::vector<ClauseVerdict> verdicts;
  for (const Clause& clause : all_clauses()) {
    ClauseVerdict verdict{.clause = &clause};
    for (const ClauseCheck& check : clause.checks) {
      const Verdict* checked = speaks(check, workload) ? run.find(check.checker) : nullptr;
      if (checked) take(verdict, *checked);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace assay
