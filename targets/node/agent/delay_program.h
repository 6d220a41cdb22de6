// The queue program: holds the packets of a queue for as long as the links that they came over are
// slow, and says what it did. A child of the agent, which ends with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "targets/link_delay.h"
#include "targets/node/agent/packet_queue.h"

namespace assay::agent {

// What became of the packets of one link.
struct HeldPackets {
  uint64_t packets = 0;     // held, and let go when their time had come
  uint64_t duplicates = 0;  // of which a second copy was delivered
  uint64_t overtaken = 0;   // let go after one that had come later
};

// The mark of the second copies, by which the rule lets them pass.
inline constexpr uint32_t kDuplicateMark = 0x61737361;

// Until SIGTERM; then lets go at once what it still holds, in order. Packets from other addresses
// pass. Writes lines to `report`:
//   held ADDRESS US                            the first packet of a link, and how long it was held
//   total ADDRESS PACKETS DUPLICATES OVERTAKEN  at its end
// Returns its exit code.
int hold_packets(const PacketQueue& queue, const std::map<std::string, LinkDelay>& links,
                 int report);

}  // namespace assay::agent
