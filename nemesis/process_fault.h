// A fault that strikes whole processes: pause and kill are the same but for the two powers.
#pragma once

#include "nemesis/nemesis.h"
#include "nemesis/victims.h"

namespace assay {

struct ProcessFault {
  std::string_view kind;
  Power strike;   // on each victim
  Power restore;  // on every node, victim or not: both powers are idempotent
};

std::unique_ptr<NemesisRun> run_process_fault(Cluster& cluster, const NemesisOptions& options,
                                              std::vector<std::string> all_shapes,
                                              ProcessFault fault);

}  // namespace assay
