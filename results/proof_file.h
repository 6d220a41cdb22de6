// The file form of a Proof: JSON Lines, format "assay-proof", version 1 (`assay schema proof`).
// First the model and the conventions, then a line for each key (or for several that operations
// connect) with its order, as the indexes of invocations in the history file. Where there is no
// order the line says what the key is instead. Where only one key of the history was judged, the
// first line names it. checkers/verify_proof.py verifies it.
#pragma once

#include <string>

#include "checkers/linearizable/proof.h"

namespace assay {

std::string proof_to_jsonl(const Proof& proof, const History& history);

// "no proof of k3 and k7: not valid"; empty where there is one for every key.
std::string unproven_sentence(const Proof& proof);

}  // namespace assay
