#include "targets/node/agent/own_net.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "targets/node/agent/child.h"

namespace assay::agent {

Result<void> leave_network() {
  if (unshare(CLONE_NEWNET) == 0) return {};
  return environment_error(std::string("cannot make a network namespace: ") + strerror(errno));
}

Result<void> configure_network(const std::string& link, const std::string& name,
                               const std::string& address) {
  const std::string ip = find_tool("ip");
  if (ip.empty()) return environment_error("ip not found (package iproute2)");
  const std::string batch =
      "link set lo up\n"
      "link set " +
      link + " name " + name + "\n" + "addr add " + address + " dev " + name + "\n" + "link set " +
      name + " up\n";
  const auto done = run_tool({ip, "-batch", "-"}, batch);
  if (!done) return done.error();
  return {};
}

}  // namespace assay::agent
