// One node of a plan comes into being: its agent, here or on its host, and its folder.
#pragma once

#include "harness/plan.h"
#include "results/store.h"
#include "targets/node/remote_node.h"

namespace assay {

class RealLoop;

// The node of that index, with its folder made; `data` in it is the daemon's. No daemon is started.
// bin_dir is empty where it is that of the layout.
void open_node(RealLoop& loop, const Plan& plan, const RunFolder& folder, int index,
               Node::Done<RemoteNode> done);

// Brings what lies in the node's folder on its host to its folder in the run's, and removes it
// there; a node of this machine has it there already. Best effort: what cannot be fetched is said in
// fetch.log, in the node's folder. Hurried: without the daemon's data.
void fetch_folder(const NodeInfo& info, Node& node, const std::string& into, bool hurried,
                  std::function<void()> done);

}  // namespace assay
