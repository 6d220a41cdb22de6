#include "harness/run/set_up.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>

#include "harness/run/open_node.h"
#include "harness/run/real_loop.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Where nodes have addresses of their own all of them use this one and the next.
constexpr int kClientPort = 2379;
// Where ports on 127.0.0.1 are looked for: below what the kernel gives to outgoing connections.
constexpr int kFirstPort = 20000;
constexpr int kLastPort = 32000;

bool is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

// A port is ours for the life of this process among all runs of this network, between the look at
// it and the start of the daemon that listens on it: else two runs that start together could talk
// to each other's stores. The name of an abstract socket has one holder, whoever the users are.
bool reserve(int port) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = "assay-port-" + std::to_string(port);
  text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;  // fd stays
  ::close(fd);
  return false;
}

// The first of `count` consecutive ports that are free.
Result<int> free_ports(int count, std::optional<int> wanted) {
  const auto in_use = [count](int base) {
    for (int port = base; port < base + count; ++port) {
      if (!is_free(port) || !reserve(port)) return port;
    }
    return 0;
  };
  if (wanted) {
    const int port = in_use(*wanted);
    if (port)
      return environment_error("--base-port: the port 127.0.0.1:" + std::to_string(port) +
                               " is in use");
    return *wanted;
  }
  for (int base = kFirstPort + ::getpid() % 100 * 100; base + count < kLastPort;) {
    const int port = in_use(base);
    if (!port) return base;
    base = port + 1;
  }
  return environment_error("no " + std::to_string(count) + " consecutive free ports on 127.0.0.1");
}

// Addresses and ports; of nodes here their folders as well.
Result<void> lay_out(Plan& plan, const RunFolder& folder) {
  const bool host = plan.spec.net == NetMode::kHost;
  const bool remote = !plan.hosts.empty();
  int base = remote ? plan.spec.base_port.value_or(kClientPort) : kClientPort;
  if (host) {
    auto found = free_ports(2 * static_cast<int>(plan.layout.nodes.size()), plan.spec.base_port);
    if (!found) return found.error();
    base = *found;
  }
  for (NodeInfo& node : plan.layout.nodes) {
    if (!remote) node.address = host ? "127.0.0.1" : node_address(node.index);
    node.client_port = host ? base + 2 * node.index : base;
    node.peer_port = node.client_port + 1;
    auto made = folder.make_node_folder(node.name);
    if (!made) return made.error();
    if (remote) continue;
    std::error_code error;
    node.folder = fs::absolute(*made, error);
    fs::create_directory(fs::path(node.folder) / "data", error);
    if (error) return environment_error("cannot make " + node.folder + "/data: " + error.message());
  }
  return {};
}

bool delays_a_link(const Value& script) {
  if (!script.is_array()) return false;
  const auto& steps = script.as_array();
  return std::any_of(steps.begin(), steps.end(),
                     [](const Value& step) { return step.text_or("nemesis", "") == "delay"; });
}

// Empty when the nodes can do what the plan's faults need.
std::string missing_power(const Plan& plan, const std::vector<std::unique_ptr<Node>>& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodePowers& have = nodes[i]->powers();
    const auto where = " is not possible on " + plan.layout.nodes[i].name + ": ";
    Powers powers{
        .kill = true, .pause = true, .cut = true, .run = true, .delay = have.delay, .faults = true};
    powers.links = {std::begin(kLinkFaults), std::end(kLinkFaults)};
    for (const PlannedFault& fault : plan.faults) {
      const std::string kind(fault.nemesis->kind()), of_node(fault.nemesis->node_fault());
      const std::string& asked = powers.links.contains(kind) ? kind : of_node;
      if (const std::string why = asked.empty() ? "" : have.no_fault(asked); !why.empty())
        return "the nemesis \"" + kind + "\"" + where + why;
      const bool slow = fault.nemesis->available(powers);
      powers.cut = have.cut;
      if (!fault.nemesis->available(powers))
        return "the nemesis \"" + kind + "\"" + where +
               (slow ? have.no_cut : have.no_delay) + " (without it: --nemesis pause,kill)";
      powers.cut = true;
    }
    if (!have.delay && delays_a_link(plan.spec.script))
      return "the script's \"delay\"" + where + have.no_delay;
  }
  return "";
}

std::unique_ptr<NodeCluster> make_cluster(RealLoop& loop, Plan& plan, const RunFolder& folder,
                                          std::vector<std::unique_ptr<Node>> nodes,
                                          const NodeClusterOptions::Hooks& hooks) {
  plan.target->begin(plan.layout, plan.spec.op_timeout, plan.concurrency);
  NodeClusterOptions options;
  options.hooks = hooks;
  if (!plan.hosts.empty())
    options.hooks.leaving = [&plan, &folder](int node, Node& hand, bool hurried, auto done) {
      const NodeInfo& info = plan.layout.nodes[node];
      fetch_folder(info, hand, folder.node_path(info.name), hurried, std::move(done));
    };
  for (const PlannedFault& fault : plan.faults) {
    auto prepared = fault.nemesis->prepared(fault.settings, plan.target->claims());
    std::move(prepared.begin(), prepared.end(), std::back_inserter(options.prepared));
  }
  options.links = plan.has_links();
  options.ready_within = plan.target->ready_within();
  return std::make_unique<NodeCluster>(loop, *plan.target, plan.layout, std::move(nodes),
                                       std::move(options));
}

struct Opening {
  std::vector<std::unique_ptr<Node>> nodes;
  size_t left;
  std::optional<Error> error;
};

}  // namespace

void set_up_cluster(RealLoop& loop, Plan& plan, const RunFolder& folder,
                    NodeClusterOptions::Hooks hooks, Callback<std::unique_ptr<NodeCluster>> done) {
  if (auto laid = lay_out(plan, folder); !laid) {
    return loop.post([error = laid.error(), done = std::move(done)] { done(error); });
  }
  const auto opening = std::make_shared<Opening>();
  opening->nodes.resize(plan.layout.nodes.size());
  opening->left = plan.layout.nodes.size();
  for (const NodeInfo& node : plan.layout.nodes) {
    open_node(
        loop, plan, folder, node.index,
        [&loop, &plan, &folder, opening, index = node.index, hooks,
         done](Result<RemoteNode> opened) {
          NodeInfo& info = plan.layout.nodes[index];
          if (opened) {
            info.bin_dir = opened->bin_dir;
            info.folder = opened->folder;
            opening->nodes[index] = std::move(opened->node);
          } else if (!opening->error) {
            opening->error = environment_error("node " + info.name + ": " + opened.error().message);
          }
          if (--opening->left > 0) return;
          if (opening->error) return done(*opening->error);
          if (const std::string missing = missing_power(plan, opening->nodes); !missing.empty())
            return done(environment_error(missing));
          done(make_cluster(loop, plan, folder, std::move(opening->nodes), hooks));
        });
  }
}

}  // namespace assay
