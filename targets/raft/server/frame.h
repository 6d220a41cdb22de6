// Frames of a connection between members, and the hello that each one begins with. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "targets/raft/core/types.h"

namespace assay::raft {

inline constexpr size_t kFrameHeadBytes = 8;
inline constexpr uint8_t kPeerProtocol = 1;

void append_frame(std::string& out, std::string_view payload);

struct Frame {
  enum class State { kWhole, kIncomplete, kBad };
  State state = State::kIncomplete;
  std::string_view payload;  // of kWhole
  size_t bytes = 0;  // of kWhole: to consume; of kIncomplete: needed in all, as far as known
};
// The first frame in `bytes`. A length above the maximum is bad.
Frame first_frame(std::string_view bytes, size_t payload_bytes_max);

struct Hello {
  uint8_t protocol = kPeerProtocol;
  uint64_t cluster = 0;
  NodeId from;
  NodeId to;
  friend bool operator==(const Hello&, const Hello&) = default;
};
std::string encode_hello(const Hello& hello);
// Nothing: no hello. One of another protocol version is given with that version alone.
std::optional<Hello> decode_hello(std::string_view payload);

}  // namespace assay::raft
