// The suite of a certificate: which runs a profile is made of, and what is known beforehand of the
// naive designs (contracts: design x clause).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cells.h"

namespace assay {

struct CertifyRequest {
  std::string target;
  std::map<std::string, std::string> settings;  // "target.option" -> value, of --set
  std::string profile = "quick";
  std::string contract = "strong";
  std::optional<int> nodes;
  std::string net;    // as --net has it; empty: the default
  std::string hosts;  // the file of the machines to run on; empty: this one
  uint64_t seed = 0;
  int shard = 1, shards = 1;  // this one of so many
  std::string bin_dir;
  Nanos time_limit;  // of nightly: rounds of new seeds are begun until then; 0: one round
};

struct SuiteCell {
  Cell cell;
  std::string canary_of;  // the clause for which a canary must be convicted; empty: of the target
  std::string token_kind;  // of a target that has several; with each other one it is played as well
};

struct Suite {
  std::vector<SuiteCell> cells;
  std::vector<std::string> exclusions;          // "pause: …": what the target or this place cannot do
  std::vector<std::string> excluded_faults;     // the kinds of these
  std::vector<std::string> not_claimed;         // clauses
  std::vector<std::string> token_kinds;         // that are compared, that of the request first
};

// The cells of one round (rounds count from 0 and differ in their seeds), of the request's shard.
// What the target does not serve or claim is left out. Errors are the user's input.
Result<Suite> make_suite(const CertifyRequest& request, int round);

// The canary whose kind of token is not sound: without it convicted, kinds are not compared.
inline constexpr std::string_view kUnsoundTokens = "naive-content-hash";

// What must come out of a naive design for a clause: "invalid", "valid", "blocked"; empty: nothing is
// known, or it may be either.
std::string expected_of(std::string_view target, std::string_view clause);
// N1 to N9 by their targets' names, in order.
const std::vector<std::string>& naive_designs();

}  // namespace assay
