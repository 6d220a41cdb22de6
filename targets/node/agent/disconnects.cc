#include "targets/node/agent/disconnects.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "targets/node/agent/child.h"
#include "targets/node/agent/firewall.h"

namespace assay::agent {

Result<void> Disconnects::probe() {
  tool_ = find_tool("ss");
  if (tool_.empty()) return environment_error("ss not found (package iproute2)");
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in place{.sin_family = AF_INET};
  socklen_t length = sizeof place;
  Result<ToolOutput> killed = environment_error("cannot open a socket");
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 &&
      listen(fd, 1) == 0 && getsockname(fd, reinterpret_cast<sockaddr*>(&place), &length) == 0) {
    killed = run_tool({tool_, "-H", "-n", "-t", "-l", "-K", "sport", "=",
                       ":" + std::to_string(ntohs(place.sin_port))});
  }
  int listens = 1;
  length = sizeof listens;
  if (fd >= 0) {
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
    close(fd);
  }
  if (!killed) return killed.error();
  if (listens != 0)
    return environment_error("ss -K destroys nothing (CONFIG_INET_DIAG_DESTROY, or not root)");
  return {};
}

// ss shows those that it has destroyed.
Result<void> Disconnects::strike() {
  for (auto& [peer, count] : destroyed_) {
    if (skip_) continue;
    const auto done = run_tool({tool_, "-H", "-n", "-t", "-K", "dst",
                                peer.find(':') == std::string::npos ? peer : "[" + peer + "]"});
    if (!done) return done.error();
    count += static_cast<uint64_t>(std::count(done->out.begin(), done->out.end(), '\n'));
  }
  return {};
}

void Disconnects::strike_again(uint64_t turn, Nanos every) {
  loop_.after(every, [this, turn, every] {
    if (turn != turn_) return;
    (void)strike();  // the next time, then
    strike_again(turn, every);
  });
}

Result<void> Disconnects::set(const std::vector<std::string>& peers, Nanos every) {
  std::map<std::string, uint64_t> wanted;
  for (const std::string& text : peers) {
    const auto address = normal_address(text);
    if (!address) return address.error();
    wanted[*address] = 0;
  }
  ++turn_;
  destroyed_ = std::move(wanted);
  if (destroyed_.empty()) return {};
  if (const auto done = strike(); !done) return done;
  if (every > Nanos{}) strike_again(turn_, every);
  return {};
}

std::map<std::string, uint64_t> Disconnects::end() {
  ++turn_;
  return std::exchange(destroyed_, {});
}

}  // namespace assay::agent
