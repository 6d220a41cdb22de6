// The kinds of fault of a node, each with the function that makes it.
#include "targets/node/agent/node_fault.h"

// One line per kind.
#define ASSAY_NODE_FAULTS(X) \
  X(make_kill_tree)          \
  X(make_power_loss)         \
  X(make_disk_error)         \
  X(make_disk_full)          \
  X(make_freeze)             \
  X(make_starve)             \
  X(make_memory_limit)       \
  X(make_clock)

namespace assay::agent {

#define ASSAY_ENTRY(make) std::unique_ptr<NodeFault> make(const FaultContext&);
ASSAY_NODE_FAULTS(ASSAY_ENTRY)
#undef ASSAY_ENTRY

std::vector<std::unique_ptr<NodeFault>> make_node_faults(const FaultContext& context) {
  std::vector<std::unique_ptr<NodeFault>> faults;
#define ASSAY_ENTRY(make) faults.push_back(make(context));
  ASSAY_NODE_FAULTS(ASSAY_ENTRY)
#undef ASSAY_ENTRY
  return faults;
}

}  // namespace assay::agent
