// A node's processes are frozen by their control group: as pause, but no signal of others wakes
// them, and what they have forked into sessions of its own is frozen as well.
#include "nemesis/node_fault.h"
#include "nemesis/registry.h"

namespace assay {

const Nemesis& freeze_nemesis() {
  static const NodeFaultNemesis nemesis({
      .kind = "freeze",
      .summary = "the store's processes are frozen by their control group, then thawed",
      .needs = "control groups (root)",
      .deck = {"one", "minority", "majority", "leader"},
      .stops_daemon = true,
  });
  return nemesis;
}

}  // namespace assay
