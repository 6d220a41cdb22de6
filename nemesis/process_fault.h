// A fault that strikes nodes one by one: pause, kill and a store's own are the same but for the two
// powers.
#pragma once

#include <cstdint>
#include <string>

#include "nemesis/nemesis.h"
#include "nemesis/victims.h"

namespace assay {

enum class Strikes : uint8_t {
  kAny,           // whatever was chosen
  kRunningFirst,  // what another fault has stopped only where no node runs
  kRunningOnly,
};

struct ProcessFault {
  std::string kind;
  Power strike;          // on each victim
  Power restore;         // on every node, victim or not: both powers are idempotent
  bool tells = false;    // `restore` sees whether it was in force until then
  Strikes strikes = Strikes::kAny;
};

std::unique_ptr<NemesisRun> run_process_fault(Cluster& cluster, const NemesisOptions& options,
                                              std::vector<std::string> all_shapes,
                                              ProcessFault fault);

}  // namespace assay
