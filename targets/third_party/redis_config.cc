#include "targets/third_party/redis_config.h"

#include <algorithm>
#include <cstdio>

namespace assay {
namespace {

constexpr int64_t kFirstDownAfterMs = 30'000;

// Both guards are gone with the group when it is killed or asked to end. The pipe's other end is
// held by redis-server alone: it closes when that ends, however it ends.
constexpr const char* kScript = R"(
rm -f lifeline && mkfifo lifeline || exit 1
(
  "$2" sentinel.conf
  echo "assay: redis-sentinel ended with code $?: so does the node"
  kill -s KILL 0
) &
(
  read -r nothing <lifeline
  echo "assay: redis-server ended: so does the node"
  kill -s KILL 0
) &
exec 9>lifeline
rm -f lifeline
exec "$1" redis.conf
)";

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string at(const NodeInfo& node, int port) { return node.address + " " + std::to_string(port); }

// 40 hexadecimal digits. No two runs have one folder.
std::string sentinel_id(const Layout& layout, const NodeInfo& node) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : layout.nodes.front().folder)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char text[41];
  std::snprintf(text, sizeof text, "%016llx%024x", static_cast<unsigned long long>(hash),
                static_cast<unsigned>(node.index) + 1);
  return text;
}

// Of both programs: this node's address is the only one that they use. A title would be written
// over their environment, and with it over the run's mark.
std::string common(const NodeInfo& node, int port) {
  return "bind " + node.address + "\nbind-source-addr " + node.address + "\nport " +
         std::to_string(port) +
         "\nprotected-mode no\ndaemonize no\nset-proc-title no\npidfile \"\"\nlogfile \"\"\n" +
         "dir " + quoted(node.folder + "/data") + "\n";
}

}  // namespace

std::string redis_conf(const Layout& layout, const NodeInfo& node) {
  std::string text = common(node, node.client_port);
  text += R"(save ""
appendonly yes
appendfsync always
shutdown-timeout 1
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-ping-replica-period 1
repl-timeout 5
)";
  text += "replica-announce-ip " + node.address + "\nreplica-announce-port " +
          std::to_string(node.client_port) + "\n";
  const NodeInfo& primary = layout.nodes.front();
  if (node.index != primary.index) text += "replicaof " + at(primary, primary.client_port) + "\n";
  return text;
}

std::string sentinel_conf(const Layout& layout, const NodeInfo& node, const SentinelTimes& times) {
  const std::string group = std::string(kRedisGroup) + " ";
  const NodeInfo& primary = layout.nodes.front();
  const size_t majority = layout.nodes.size() / 2 + 1;
  std::string text = common(node, node.peer_port);
  text += "sentinel announce-ip " + node.address + "\nsentinel announce-port " +
          std::to_string(node.peer_port) + "\n";
  text += "sentinel myid " + sentinel_id(layout, node) + "\n";
  text += "sentinel monitor " + group + at(primary, primary.client_port) + " " +
          std::to_string(majority) + "\n";
  text += "sentinel down-after-milliseconds " + group +
          std::to_string(std::max(times.down_after_ms, kFirstDownAfterMs)) + "\n";
  text += "sentinel failover-timeout " + group + std::to_string(times.failover_timeout_ms) + "\n";
  text += "sentinel parallel-syncs " + group + std::to_string(layout.nodes.size()) + "\n";
  for (const NodeInfo& other : layout.nodes) {
    if (other.index != primary.index)
      text += "sentinel known-replica " + group + at(other, other.client_port) + "\n";
    if (other.index != node.index) {
      text += "sentinel known-sentinel " + group + at(other, other.peer_port) + " " +
              sentinel_id(layout, other) + "\n";
    }
  }
  return text;
}

std::vector<std::string> sentinel_down_after_command(const SentinelTimes& times) {
  return {"SENTINEL", "SET", kRedisGroup, "down-after-milliseconds",
          std::to_string(times.down_after_ms)};
}

std::vector<std::string> redis_argv(const std::string& server, const std::string& sentinel) {
  return {"sh", "-c", kScript, "redis", server, sentinel};
}

}  // namespace assay
