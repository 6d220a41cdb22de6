// What a Redis server says of itself (INFO), and a Sentinel of all others. Pure.
//
// A sample has a role and the primary that the node follows; no term, since the servers know of no
// elections: two that take themselves for the primary at one moment are what Redis promises. No
// applied index either: after a failover one replication offset may stand for two histories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "targets/target.h"

namespace assay {

// What a server is asked.
extern const std::vector<std::string> kRedisStatusCommand;

// Its answer as a status. An error while it loads its data, and for
// what is no such text.
Result<Value> redis_status_of(const Layout& layout, const NodeInfo& node, std::string_view info);

// Of what a Sentinel says of the instances that it watches (SENTINEL MASTER, REPLICAS, SENTINELS;
// names and values in turn): one of those that have not answered its last PING, and how many do.
struct SentinelView {
  int reached = 0;
  std::string unreached;  // "10.0.0.2:2379"; empty: none
};
SentinelView sentinel_view_of(const std::vector<std::string>& said);

}  // namespace assay
