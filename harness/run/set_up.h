// Brings nodes into being for a plan: agents, addresses, links; the daemons are not started yet.
#pragma once

#include <memory>

#include "harness/plan.h"
#include "results/store.h"
#include "targets/node_cluster.h"

namespace assay {

class RealLoop;

// Fills in the plan's layout (addresses, ports, folders).
void set_up_cluster(RealLoop& loop, Plan& plan, const RunFolder& folder,
                    NodeClusterOptions::Hooks hooks, Callback<std::unique_ptr<NodeCluster>> done);

}  // namespace assay
