// The one name that each fault's file gives to the registry.
#pragma once

#include "nemesis/nemesis.h"

// One line per fault, in the order in which they are shown.
#define ASSAY_NEMESES(X) \
  X(partition_nemesis)   \
  X(pause_nemesis)       \
  X(kill_nemesis)        \
  X(delay_nemesis)       \
  X(loss_nemesis)        \
  X(rate_nemesis)        \
  X(reset_nemesis)       \
  X(disconnect_nemesis)  \
  X(power_loss_nemesis)  \
  X(disk_error_nemesis)  \
  X(disk_full_nemesis)  \
  X(freeze_nemesis)      \
  X(crash_loop_nemesis)  \
  X(starve_nemesis)      \
  X(memory_limit_nemesis)      \
  X(clock_nemesis)

namespace assay {

#define ASSAY_ENTRY(name) const Nemesis& name();
ASSAY_NEMESES(ASSAY_ENTRY)
#undef ASSAY_ENTRY

}  // namespace assay
