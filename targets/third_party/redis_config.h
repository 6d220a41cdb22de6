// What stands in a node's redis.conf and sentinel.conf before its first start, and how both
// programs are started as one daemon. Pure.
//
// The first node is the primary at the beginning. Afterwards both programs rewrite their files: a
// failover survives restarts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "targets/target.h"

namespace assay {

inline constexpr const char* kRedisGroup = "assay";  // what Sentinels call the servers they watch

struct SentinelTimes {
  int64_t down_after_ms = 0;
  int64_t failover_timeout_ms = 0;
};

std::string redis_conf(const Layout& layout, const NodeInfo& node);
// Names all servers and all Sentinels, so that nothing has to be discovered. At the beginning no
// node is given up so soon: sentinel_down_after_command, sent to each Sentinel, says when.
std::string sentinel_conf(const Layout& layout, const NodeInfo& node, const SentinelTimes& times);
std::vector<std::string> sentinel_down_after_command(const SentinelTimes& times);

// Runs in the node's folder. The process that was started becomes redis-server; the Sentinel is in
// its process group. When one of the two ends by itself, the whole group is killed.
std::vector<std::string> redis_argv(const std::string& server, const std::string& sentinel);

}  // namespace assay
