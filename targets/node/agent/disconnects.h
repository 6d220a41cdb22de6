// Disconnects: TCP connections with peers that are destroyed at this node, once or again and again.
//
// By ss -K: the node's end is gone at once, and the peer is told by a reset. Nothing is installed,
// so there is nothing to remove but the repetition. Blocking: some 5 ms each time and address.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/time.h"
#include "targets/node/agent/poll_loop.h"

namespace assay::agent {

class Disconnects {
 public:
  // skip: self-test: destroy nothing, and say nothing.
  Disconnects(PollLoop& loop, bool skip) : loop_(loop), skip_(skip) {}

  // Destroys a socket of its own. An error says why connections cannot be destroyed here.
  Result<void> probe();

  // From now on the connections with exactly these numeric addresses are destroyed: now, and then
  // every so often (0: never again).
  Result<void> set(const std::vector<std::string>& peers, Nanos every);
  // Connections destroyed since, by address.
  const std::map<std::string, uint64_t>& destroyed() const { return destroyed_; }
  std::map<std::string, uint64_t> end();

 private:
  Result<void> strike();
  void strike_again(uint64_t turn, Nanos every);

  PollLoop& loop_;
  bool skip_;
  std::string tool_;
  std::map<std::string, uint64_t> destroyed_;  // of each peer
  uint64_t turn_ = 0;                          // repetitions of an earlier one end
};

}  // namespace assay::agent
