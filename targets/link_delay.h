// LinkDelay: what happens to packets on a link that is slow. Packets, not messages: what TCP gets
// twice or out of order it puts right, late.
#pragma once

#include <cstdint>

#include "checkers/history/time.h"

namespace assay {

struct LinkDelay {
  Nanos delay{};              // every packet is held at least so long
  Nanos jitter{};             // and up to so much longer, drawn per packet
  bool reorder = false;       // one may overtake another; otherwise they stay in order
  int duplicate_percent = 0;  // of packets that come twice, each copy with a draw of its own
  uint64_t seed = 0;          // of the draws
  friend bool operator==(const LinkDelay&, const LinkDelay&) = default;
};

}  // namespace assay
