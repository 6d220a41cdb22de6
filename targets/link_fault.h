// LinkFault: what is done to the packets, or the connections, of a link besides cutting it and
// making it slow. At the receiver, by the sender's address: links are directed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace assay {

// loss        percent   of 100 packets so many are lost, by chance
// rate        kbytes    so many (of 1,024 bytes) a second pass; packets above it are lost
// reset       -         each TCP packet is answered by a reset, and lost
// disconnect  every_ms  the TCP connections with the peer are destroyed, again and again; 0: once
struct LinkFault {
  std::string kind;
  std::map<std::string, int64_t> settings;
  friend bool operator==(const LinkFault&, const LinkFault&) = default;
};

inline constexpr const char* kLinkFaults[] = {"loss", "rate", "reset", "disconnect"};

}  // namespace assay
