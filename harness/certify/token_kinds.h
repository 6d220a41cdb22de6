// What a clause says that compares kinds of token (V6): the same workload under the same faults and
// seed, played once with each sound kind, must have the same verdicts.
#pragma once

#include "checkers/clauses.h"
#include "harness/certify/suite.h"
#include "results/certificate.h"

namespace assay {

// Into `out`: its word, its reason, its evidence, and which of its threats bit in every run of a pair.
//   invalid   one of the clauses compared is broken with one kind and not with another: which, where
//   valid     each of them holds with every kind, in a pair of runs at least; every run of every pair
//             was played; and the canary with tokens that are not sound was convicted
// Else it is blocked, unknown or vacuous. The records of clauses are those of `cells`; what the suite
// has besides was not played.
void compare_token_kinds(const Clause& clause, const Suite& suite,
                         const std::vector<CertificateCell>& cells, CertificateClause& out);

// Whether a canary was found out.
bool is_convicted(const CertificateCell& canary);

}  // namespace assay
