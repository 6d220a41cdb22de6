// The checker `linearizable`: is there, for each key, one order of its operations that respects
// real time and that a register, or a register with compare-and-set, could have gone through?
#pragma once

#include <string>

#include "checkers/checker.h"
#include "checkers/linearizable/sensitivity.h"
#include "checkers/linearizable/witness.h"

namespace assay::linearizable {

// What a key is. The header names it, or it is guessed: any cas makes it a cas-register.
enum class Model : uint8_t { kRegister, kCasRegister };
std::string_view to_string(Model model);
Result<Model> model_of(const History& history);

inline Safety safety_of(Outcome outcome) {
  return outcome == Outcome::kValid     ? Safety::kValid
         : outcome == Outcome::kInvalid ? Safety::kInvalid
                                        : Safety::kUnknown;
}

#ifdef NDEBUG
inline constexpr bool kProveByDefault = false;
#else
inline constexpr bool kProveByDefault = true;
#endif

struct LinearizableOptions {
  // Turn each valid verdict into an order of operations and replay it; abort when it is not legal.
  bool prove = kProveByDefault;
  SearchOptions search;
  ShrinkLimits shrink;
  SensitivityOptions sensitivity;
  Judge judge = search_any;  // of the copies of the sensitivity test
  Proof* proof = nullptr;    // where the order of each valid key goes, replayed

  static SearchResult search_any(const Problem& problem, const SearchOptions& options);
};

// What the history must be like is what the checker accepts.
Verdict check_linearizable(const History& history, const Budget& budget,
                           const LinearizableOptions& options = {});

// The orders alone.
void prove_registers(const History& history, const Budget& budget, Proof& proof);

}  // namespace assay::linearizable
