#include "workloads/registry.h"

namespace assay {

const std::vector<const Workload*>& all_workloads() {
#define ASSAY_LISTED(workload) &workload(),
  static const std::vector<const Workload*> workloads = {ASSAY_WORKLOADS(ASSAY_LISTED)};
#undef ASSAY_LISTED
  return workloads;
}

const Workload* find_workload(std::string_view name) {
  for (const Workload* workload : all_workloads()) {
    if (workload->name() == name) return workload;
  }
  return nullptr;
}

}  // namespace assay
