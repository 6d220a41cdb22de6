// Headline: what a report says first: the word, the sentence, the witness; and Evidence: what was
// gathered from everywhere in the tree for the places beside it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "checkers/checker.h"
#include "results/report/digest.h"
#include "results/run_info.h"

namespace assay::report {

// What the reader sees first; beyond the verdict's words there are two of the harness.
enum class Outcome { kValid, kInvalid, kUnknown, kBlocked, kVacuous, kFailed, kInterrupted };
Outcome outcome_of(const Verdict& verdict, const RunInfo& info);
std::string_view to_string(Outcome outcome);  // "valid", …, "failed", "interrupted"

// A node of the tree and its path from the root's children on.
struct Found {
  const Verdict* verdict = nullptr;
  std::string path;
  std::vector<const Verdict*> line;  // from the root to it, both included
};
// The witness that the report shows: of the node that decides the word, else the first there is.
Found find_witness(const Verdict& verdict);

struct Headline {
  Outcome outcome = Outcome::kValid;
  std::string word;                // "INVALID"
  std::string sentence;            // "Stale read of k7. p3 read 4 from n2, 212 ms after …"
  std::vector<std::string> lines;  // of the witness beyond the first
  std::string note;                // of an invalid one: the harness failed or was interrupted, too
};
Headline headline_of(const Verdict& verdict, const RunInfo& info);

struct Evidence {
  std::vector<std::string> could_have_been_caught;
  std::vector<std::string> not_claimed;
  std::vector<std::string> not_tested;
  std::vector<std::string> missing;
  std::vector<std::string> remedies;
  std::vector<std::string> conventions;
  std::vector<std::string> rests_on;
  std::vector<std::string> weaker;  // promises, kept or broken
};
// Facts of those names (checkers/facts.h), each once; where a checker gave none, what the digest
// and the word alone allow to say.
Evidence evidence_of(const Verdict& verdict, const Digest& digest, const RunInfo& info);

// What the run was, as name and text: target, workload, nodes, faults, seed, operations, …
std::vector<std::pair<std::string, std::string>> scope_of(const History& history,
                                                          const Digest& digest,
                                                          const RunInfo& info);

// The time about which the logs of the nodes tell something: around the witness's operations, with
// a margin; else the end of the run. For read_node_log.
std::pair<Nanos, Nanos> log_window(const History& history, const Verdict& verdict);

}  // namespace assay::report
