// The list of workloads. Private to workloads/.
#pragma once

#include "workloads/workload.h"

// To add a workload, write workloads/foo.cc with `const Workload& foo_workload()`, and a line here.
#define ASSAY_WORKLOADS(X)        \
  X(register_workload)            \
  X(cas_versioned_workload)       \
  X(field_ownership_workload)     \
  X(counter_workload)             \
  X(append_workload)              \
  X(set_workload)                 \
  X(aba_workload)                 \
  X(ref_update_workload)          \
  X(bank_workload)                \
  X(unique_names_workload)        \
  X(controller_workload)          \
  X(lock_without_timeout_workload)\
  X(lock_with_timeout_workload)   \
  X(lock_with_fencing_workload)   \
  X(leader_election_workload)     \
  X(watch_workload)               \
  X(script_workload)

namespace assay {

#define ASSAY_DECLARE(workload) const Workload& workload();
ASSAY_WORKLOADS(ASSAY_DECLARE)
#undef ASSAY_DECLARE

}  // namespace assay
