// A fault that strikes nodes one by one: pause, kill and a store's own are the same but for the two
// powers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  Power strike;        // on each victim
  Power restore;       // on every node, victim or not: both powers are idempotent
  bool tells = false;  // `restore` sees whether it was in force until then
  Strikes strikes = Strikes::kAny;
};

// Every shape that such a fault can have; beside them, a list of nodes ("n1+n3").
std::vector<std::string_view> process_victims();

// deck: the shapes that are drawn where none is asked for.
std::unique_ptr<NemesisRun> run_process_fault(Cluster& cluster, const NemesisOptions& options,
                                              const std::vector<std::string_view>& deck,
                                              ProcessFault fault);

}  // namespace assay
