#include "targets/third_party/redis_members.h"

#include <map>
#include <string>

namespace assay {
namespace {

using Fields = std::map<std::string_view, std::string_view>;

Fields fields_of(std::string_view info) {
  Fields fields;
  while (!info.empty()) {
    const size_t end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) fields[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return fields;
}

std::string_view field(const Fields& fields, std::string_view name) {
  const auto at = fields.find(name);
  return at == fields.end() ? "" : at->second;
}

// While the link is down it follows nobody.
std::string primary_of(const Layout& layout, const Fields& fields) {
  if (field(fields, "master_link_status") != "up") return "";
  for (const NodeInfo& node : layout.nodes) {
    if (node.address == field(fields, "master_host") &&
        std::to_string(node.client_port) == field(fields, "master_port"))
      return node.name;
  }
  return "";
}

}  // namespace

const std::vector<std::string> kRedisStatusCommand = {"INFO", "persistence", "replication"};

Result<Value> redis_status_of(const Layout& layout, const NodeInfo& node, std::string_view info) {
  const Fields fields = fields_of(info);
  if (field(fields, "loading") == "1") return environment_error("loading");
  const std::string_view role = field(fields, "role");
  const bool leads = role == "master";
  if (!leads && role != "slave") return environment_error("no answer to INFO");
  return Value::object({{Symbol("role"), leads ? "leader" : "follower"},
                        {Symbol("leader"), leads ? node.name : primary_of(layout, fields)}});
}

SentinelView sentinel_view_of(const std::vector<std::string>& said) {
  SentinelView view;
  std::string instance;
  bool connected = false;
  for (size_t i = 0; i + 1 < said.size(); i += 2) {
    const std::string& name = said[i];
    const std::string& value = said[i + 1];
    if (name == "ip") instance = value;
    if (name == "port") instance += ":" + value;
    if (name == "flags") connected = value.find("disconnected") == value.npos;
    // How long one has been under way; 0: it was answered.
    if (name != "last-ping-sent") continue;
    if (connected && value == "0") {
      ++view.reached;
    } else {
      view.unreached = instance;
    }
  }
  return view;
}

}  // namespace assay
