// The checkers, one line each: its function NAME_checker() is defined in the file of that name.
// Order is that in which they run and are shown.
#pragma once

#include "checkers/checker.h"

#define ASSAY_CHECKERS(X) \
  X(linearizable)         \
  X(version_order)        \
  X(one_history)          \
  X(update_chain)         \
  X(conflicts)            \
  X(revisions)            \
  X(field_ownership)      \
  X(durable)              \
  X(dirty_reads)          \
  X(reconcile)            \
  X(object_count)         \
  X(lock)                 \
  X(bank)                 \
  X(unique_names)         \
  X(snapshot_reads)       \
  X(minority_silence)     \
  X(convergence)          \
  X(stats)                \
  X(non_vacuity)          \
  X(availability)         \
  X(member_agreement)     \
  X(node_exits)           \
  X(exposure)             \
  X(watch)

namespace assay {

#define ASSAY_DECLARE_CHECKER(NAME) const Checker& NAME##_checker();
ASSAY_CHECKERS(ASSAY_DECLARE_CHECKER)
#undef ASSAY_DECLARE_CHECKER

}  // namespace assay
