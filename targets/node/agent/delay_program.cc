#include "targets/node/agent/delay_program.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "checkers/history/rng.h"

namespace assay::agent {
namespace {

Nanos now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {t.tv_sec * 1'000'000'000 + t.tv_nsec};
}

// Delivers copies of packets to this host, as if they had come over the link.
class Copies {
 public:
  explicit Copies(bool wanted) {
    if (!wanted) return;
    fd_ = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    setsockopt(fd_, SOL_SOCKET, SO_MARK, &kDuplicateMark, sizeof kDuplicateMark);
  }
  bool deliver(const std::string& packet) const {
    constexpr size_t kTargetAt = 16;
    sockaddr_in to{.sin_family = AF_INET};
    memcpy(&to.sin_addr, packet.data() + kTargetAt, sizeof to.sin_addr);
    return sendto(fd_, packet.data(), packet.size(), MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) == static_cast<ssize_t>(packet.size());
  }

 private:
  int fd_ = -1;
};

class DelayProgram {
 public:
  DelayProgram(const PacketQueue& queue, const std::map<std::string, LinkDelay>& links, int report)
      : queue_(queue),
        report_(report),
        copies_(std::any_of(links.begin(), links.end(),
                            [](const auto& link) { return link.second.duplicate_percent > 0; })) {
    for (const auto& [from, how] : links) links_.emplace(from, Link{from, how, Rng(how.seed)});
  }

  int run() {
    prctl(PR_SET_NAME, "assay-delay");
    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGTERM);
    sigprocmask(SIG_BLOCK, &handled, nullptr);
    const int signals = signalfd(-1, &handled, SFD_CLOEXEC);
    if (signals < 0) return 1;
    pollfd fds[] = {{queue_.fd(), POLLIN, 0}, {signals, POLLIN, 0}};
    while (fds[1].revents == 0) {
      const Nanos left =
          held_.empty() ? seconds(60) : std::max(Nanos{}, held_.begin()->first - now());
      const timespec timeout{left.count / 1'000'000'000, left.count % 1'000'000'000};
      ppoll(fds, 2, &timeout, nullptr);
      queue_.read([this](const QueuedPacket& packet) { hold(packet); });
      let_go(now());
    }
    let_go(kNever);
    for (const auto& [from, link] : links_) {
      dprintf(report_, "total %s %lu %lu %lu\n", from.c_str(), link.done.packets,
              link.done.duplicates, link.done.overtaken);
    }
    return 0;
  }

 private:
  struct Link {
    std::string from;
    LinkDelay how;
    Rng rng;
    Nanos last_due{};
    uint64_t arrivals = 0, latest = 0;  // of packets; the latest arrival that was let go
    HeldPackets done;
  };
  struct Held {
    Link* link;
    uint32_t id;
    uint64_t arrival;
    Nanos since;
    std::string copy;  // to be delivered instead of the packet itself
  };

  Nanos due(Link& link, Nanos since) {
    const Nanos due = since + link.how.delay + Nanos{link.rng.between(0, link.how.jitter.count)};
    if (link.how.reorder) return due;
    return link.last_due = std::max(due, link.last_due);
  }

  void hold(const QueuedPacket& packet) {
    const auto it = links_.find(packet.source);
    if (it == links_.end()) return queue_.accept(packet.id);
    Link& link = it->second;
    const Nanos since = now();
    const uint64_t arrival = ++link.arrivals;
    held_.emplace(due(link, since), Held{&link, packet.id, arrival, since, {}});
    if (link.rng.chance(static_cast<uint64_t>(link.how.duplicate_percent), 100))
      held_.emplace(due(link, since),
                    Held{&link, packet.id, arrival, since, std::string(packet.bytes)});
  }

  void let_go(Nanos limit) {
    while (!held_.empty() && held_.begin()->first <= limit) {
      const Held held = std::move(held_.begin()->second);
      const bool in_time = held_.begin()->first <= now();
      held_.erase(held_.begin());
      HeldPackets& done = held.link->done;
      if (!held.copy.empty()) {
        done.duplicates += copies_.deliver(held.copy);
        continue;
      }
      queue_.accept(held.id);
      if (!in_time) continue;
      done.overtaken += held.arrival < held.link->latest;
      held.link->latest = std::max(held.link->latest, held.arrival);
      if (++done.packets == 1)
        dprintf(report_, "held %s %ld\n", held.link->from.c_str(),
                (now() - held.since).count / 1'000);
    }
  }

  const PacketQueue queue_;
  const int report_;
  const Copies copies_;
  std::map<std::string, Link> links_;
  std::multimap<Nanos, Held> held_;  // by the time when they are due; in order where equal
};

}  // namespace

int hold_packets(const PacketQueue& queue, const std::map<std::string, LinkDelay>& links,
                 int report) {
  return DelayProgram(queue, links, report).run();
}

}  // namespace assay::agent
