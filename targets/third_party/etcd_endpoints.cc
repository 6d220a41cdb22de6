#include "targets/third_party/etcd_endpoints.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <sstream>

#include "targets/kv/http/kv_client.h"
#include "targets/third_party/etcd_members.h"

namespace assay {
namespace {

constexpr const char* kExample = "10.0.0.1:2379,10.0.0.2:2379";

// Under it lie the keys of this run alone: what an earlier run left there would be read as an
// anomaly. So it must not be the seed's.
std::string fresh_prefix() {
  std::random_device random;
  const uint64_t number = static_cast<uint64_t>(random()) << 32 | random();
  char text[17];
  return "assay/" + std::string(text, std::to_chars(text, std::end(text), number, 16).ptr) + "/";
}

class EtcdEndpointsTarget : public Target {
 public:
  EtcdEndpointsTarget(std::vector<NodeInfo> nodes, bool serializable_reads, std::string token_kind)
      : nodes_(std::move(nodes)),
        token_kind_(std::move(token_kind)),
        options_{.serializable_reads = serializable_reads,
                 .key_prefix = fresh_prefix(),
                 .tokens = *find_sound_kv_tokens(token_kind_)},
        members_({.applied = false, .strangers = nodes_.size()}) {}

  std::string_view name() const override { return "etcd-endpoints"; }
  // Whoever runs it may have it compact itself.
  Claims claims() const override {
    const bool revisions = options_.tokens == KvTokens::kRevision;
    return {.orderable = revisions, .token_kind = token_kind_, .watch = revisions, .compacts = true};
  }
  std::vector<Symbol> ops() const override { return kv_client_ops(options_.tokens); }
  bool has_daemons() const override { return false; }
  std::vector<NodeInfo> running_nodes() const override { return nodes_; }
  Result<DaemonSpec> daemon(const Layout&, const NodeInfo&) const override {
    return environment_error("the target etcd-endpoints starts no nodes");
  }
  std::vector<std::string> binaries(const Layout&) const override { return {}; }
  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    open_kv_client(loop, node, options_, std::move(done));
  }
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    members_.status(loop, node, std::move(done));
  }
  // Whether others compact or write is not known here.
  void chain(Loop& loop, const NodeInfo&, int64_t, Callback<Value> done) override {
    loop.post([done = std::move(done)] { done(Value()); });
  }
  std::string_view log_finding(std::string_view) const override { return ""; }

 private:
  const std::vector<NodeInfo> nodes_;
  const std::string token_kind_;
  const KvClientOptions options_;
  EtcdMembers members_;
};

bool is_numeric_address(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
}

// "10.0.0.1:2379" or "[fd00::1]:2379".
std::optional<NodeInfo> parse_endpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  NodeInfo node;
  node.address = text.substr(0, colon);
  const bool bracketed = node.address.starts_with('[') && node.address.ends_with(']');
  if (bracketed) node.address = node.address.substr(1, node.address.size() - 2);
  if (bracketed != (node.address.find(':') != std::string::npos)) return std::nullopt;
  if (!is_numeric_address(node.address)) return std::nullopt;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, node.client_port);
  if (error != std::errc() || stop != end) return std::nullopt;
  if (node.client_port < 1 || node.client_port > 65535) return std::nullopt;
  return node;
}

Error expected(const std::string& option, const std::string& what, const std::string& found) {
  return input_error("etcd-endpoints." + option + ": expected " + what + ", found \"" + found +
                     "\"");
}

Result<std::vector<NodeInfo>> parse_endpoints(const std::string& list) {
  std::vector<NodeInfo> nodes;
  std::stringstream stream(list);
  for (std::string text; std::getline(stream, text, ',');) {
    auto node = parse_endpoint(text);
    if (!node)
      return expected("endpoints", "numeric addresses such as " + std::string(kExample), text);
    for (const NodeInfo& other : nodes) {
      if (other.address == node->address && other.client_port == node->client_port)
        return expected("endpoints", "each address once", text);
    }
    node->index = static_cast<int>(nodes.size());
    node->name = "n" + std::to_string(nodes.size() + 1);
    nodes.push_back(std::move(*node));
  }
  if (nodes.empty() || nodes.size() > 64)
    return expected("endpoints", "1 to 64 addresses such as " + std::string(kExample), list);
  return nodes;
}

Result<std::unique_ptr<Target>> make(const TargetInfo::Settings& given, uint64_t) {
  std::string list, token = sound_kv_tokens().front();
  std::string serializable = "false";
  for (const auto& [option, text] : given)
    (option == "endpoints" ? list : option == "token" ? token : serializable) = text;
  if (serializable != "true" && serializable != "false")
    return expected("serializable-reads", "true or false", serializable);
  if (!find_sound_kv_tokens(token)) return expected("token", "revision or key-version", token);
  auto nodes = parse_endpoints(list);
  if (!nodes) return nodes.error();
  return std::unique_ptr<Target>(
      std::make_unique<EtcdEndpointsTarget>(std::move(*nodes), serializable == "true", token));
}

}  // namespace

TargetInfo etcd_endpoints_target() {
  return {
      .name = "etcd-endpoints",
      .summary = "a cluster that runs already and speaks etcd's API",
      .options =
          {
              {"endpoints", "", std::string("where its members serve clients: ") + kExample},
              kv_token_option(),
              {"serializable-reads", "false", "any member answers reads from what it has", true},
          },
      .token_kinds = sound_kv_tokens(),
      .make = make};
}

}  // namespace assay
