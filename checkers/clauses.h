// Clauses: the two contracts that Assay certifies stores by, clause by clause: which checks speak for
// a clause, and what a run's verdict says of it.
//
// H1-H5: the Shared History Contract (INV-008, consensus); V1-V6: the Versioned Truth Contract
// (INV-009, versioned truth); watch: the second role of the version marker (INV-009).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/checker.h"

namespace assay {

// A check that speaks for a clause: a checker, in some workloads only where its meaning depends on
// what was done ("durable" of a counter is about updates, of a set about acknowledged elements).
struct ClauseCheck {
  std::string_view checker;
  std::vector<std::string_view> workloads;  // empty: all
};

struct Clause {
  std::string_view id;       // "H1"
  std::string_view title;    // the contract's words
  std::string_view passage;  // what the contract says of it
  std::vector<ClauseCheck> checks;
  // Faults, by kind, that must have bitten before a store may be called sound in this clause.
  std::vector<std::string_view> threats;
  // What contracts.md names besides and no run can do yet.
  std::vector<std::string_view> not_exercised;
  // Of a clause without checks: those clauses whose verdicts must be the same with every sound kind of
  // token. No single run speaks for it.
  std::vector<std::string_view> same_verdicts;
};

// In the order of the contracts: H1 … H5, V1 … V6, watch.
const std::vector<Clause>& all_clauses();
const Clause* find_clause(std::string_view id);  // nullptr when there is none
// "one-history, durable": its checks, or what stands for them.
std::string judged_by(const Clause& clause);

// What one run says of one clause.
struct ClauseVerdict {
  const Clause* clause = nullptr;
  // kVacuous: no check of this clause had anything to judge.
  Safety safety = Safety::kVacuous;
  bool blocked = false;                // safe, but nothing went on where it was due
  std::string check;                   // the check that decides: "update-chain"
  std::string reason;                  // in its words
  std::vector<std::string> exercised;  // the checks that had something to judge
};

// Of a run's verdict tree, for every clause in order. `workload` may be empty (a history of others).
std::vector<ClauseVerdict> judge_clauses(const Verdict& run, std::string_view workload);

}  // namespace assay
