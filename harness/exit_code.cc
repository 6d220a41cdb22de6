#include "harness/exit_code.h"

#include <algorithm>
#include <iterator>

namespace assay {

ExitCode exit_code(Word word) {
  switch (word) {
    case Word::kValid:
      return kExitValid;
    case Word::kInvalid:
      return kExitInvalid;
    case Word::kUnknown:
      return kExitUnknown;
    case Word::kBlocked:
      return kExitBlocked;
    case Word::kVacuous:
      return kExitVacuous;
  }
  return kExitHarness;
}

ExitCode exit_code(const Error& error) {
  return error.fault == Fault::kInput ? kExitBadInput : kExitHarness;
}

ExitCode expected_exit_code(const Verdict& verdict,
                            const std::vector<std::pair<std::string, std::string>>& expect,
                            std::string* mismatch) {
  const ExitCode plain = exit_code(verdict.word());
  if (expect.empty() || plain == kExitUnknown || plain == kExitVacuous) return plain;
  for (const auto& [path, word] : expect) {
    const Verdict* part = path.empty() ? &verdict : verdict.find(path);
    const std::string_view seen = part ? to_string(part->word()) : "absent";
    if (seen == word) continue;
    *mismatch =
        "expected " + word + (path.empty() ? "" : " of " + path) + ", seen " + std::string(seen);
    return kExitUnexpected;
  }
  return kExitValid;
}

static constexpr ExitCode kWorstFirst[] = {kExitBadInput, kExitInvalid,     kExitUnexpected,
                                           kExitHarness,  kExitInterrupted, kExitBlocked,
                                           kExitUnknown,  kExitVacuous,     kExitValid};

ExitCode worse(ExitCode a, ExitCode b) {
  return *std::find_if(std::begin(kWorstFirst), std::end(kWorstFirst),
                       [&](ExitCode code) { return code == a || code == b; });
}

std::string_view word_of(ExitCode code) {
  switch (code) {
    case kExitUnexpected:
      return "unexpected";
    case kExitInterrupted:
      return "interrupted";
    case kExitBadInput:
      return "bad-input";
    case kExitHarness:
      return "failed";
    case kExitInvalid:
      return "invalid";
    case kExitUnknown:
      return "unknown";
    case kExitBlocked:
      return "blocked";
    case kExitVacuous:
      return "vacuous";
    case kExitValid:
      return "valid";
  }
  return "failed";
}

}  // namespace assay
