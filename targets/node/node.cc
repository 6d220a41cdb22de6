#include "targets/node/node.h"

namespace assay {

std::string complaint(const std::string& program, const CommandOutput& ran) {
  if (!ran.timed_out && ran.end.signal == 0 && ran.end.code == 0) return "";
  std::string words = ran.err.empty() ? ran.out : ran.err;
  words.erase(words.find_last_not_of(" \n") + 1);
  words.erase(0, words.rfind('\n') + 1);
  std::string how = ran.timed_out    ? "did not end in time"
                    : ran.end.signal ? "was killed by signal " + std::to_string(ran.end.signal)
                                     : "exited with " + std::to_string(ran.end.code);
  return program + " " + how + (words.empty() ? "" : ": " + words.substr(0, 300));
}

}  // namespace assay
