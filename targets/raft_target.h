// Target "raft": the bundled store, as assay-raft processes on the nodes of a run; and the same
// store under other names, with a policy that is wrong on purpose (targets/naive_policies.h).
#pragma once

#include "targets/kv/http/kv_client.h"
#include "targets/target.h"

namespace assay {

// The bundled store under a name of its own.
struct RaftPolicy {
  std::string name;
  std::string summary;
  std::vector<std::string> flags;  // of assay-raft, on every node
  KvClientOptions client;
  bool orderable = true;  // what it claims of its tokens, where they are not chosen by a setting
  int64_t clock_offset_ms_max =
      -1;                // 0 or more: it has the option clock-offset-ms, with that default
  std::string workload;  // the only one that it is run with; empty: any
};

TargetInfo raft_target();
TargetInfo raft_target_as(RaftPolicy policy);

// What a server of ours is told of its place: --name, --data, --client, --peer, --cluster.
std::vector<std::string> member_arguments(const Layout& layout, const NodeInfo& node);
// Target::log_finding for the servers of ours.
std::string_view finding_in_server_log(std::string_view line);

}  // namespace assay
