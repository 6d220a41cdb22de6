// Proof: the legal order behind each valid part of a history, for those who do not want to take our
// word for it. checkers/verify_proof.py verifies its file form (results/proof_file.h) against the
// history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkers/checker.h"

namespace assay {

// A key, or several that operations connect.
struct PartProof {
  std::vector<Symbol> names;
  Safety safety = Safety::kUnknown;
  // Of a valid one: ids in the history. What never happened, or says nothing, is not in it.
  std::vector<uint32_t> order;
};

struct Proof {
  std::string model;
  std::vector<PartProof> parts;  // those with most operations first
  std::optional<Symbol> only_key;  // of a history of which nothing but this key was judged
};

// Judges the history by its model, as the checker linearizable does, and keeps the orders; each has
// been replayed. An input error where that checker does not accept the history. A verdict besides:
// Checker::check_and_prove.
Result<Proof> prove(const History& history, const Budget& budget);

}  // namespace assay
