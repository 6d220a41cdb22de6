// PacketQueue: a queue of the kernel (NFQUEUE) that hands packets of this network namespace to us
// and holds each until it is let go.
//
// Fails open: while nobody listens, and when the queue is full, packets pass (but those that were
// held when it was closed are lost). Speaks nfnetlink itself, since the agent is linked statically
// and Debian has no static libmnl. IPv4. Blocking calls that the kernel answers at once.
//
// Source: linux/netfilter/nfnetlink_queue.h; net/netfilter/nfnetlink_queue.c.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "checkers/history/error.h"

namespace assay::agent {

struct QueuedPacket {
  uint32_t id = 0;
  std::string source;      // its address, "10.77.0.11"; empty: not IPv4
  std::string_view bytes;  // from the IP header on; valid inside the callback
};

class PacketQueue {
 public:
  // A number that is free in this network namespace.
  static Result<PacketQueue> open();
  // A queue that was opened by another process, by its descriptor.
  explicit PacketQueue(int fd, uint16_t number = 0) : fd_(fd), number_(number) {}

  int fd() const { return fd_; }
  uint16_t number() const { return number_; }
  void close();

  // Reads what has come, without waiting; after many packets the rest is for the next time.
  void read(const std::function<void(const QueuedPacket&)>& packet) const;
  void accept(uint32_t id) const;

 private:
  int fd_;
  uint16_t number_;
};

}  // namespace assay::agent
