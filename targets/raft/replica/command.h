// Command: what the log holds for the state machine: a request of the store, and which node asked
// for it. The name is how that node finds its client again when the entry is applied, whoever led.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "targets/kv/service/kv.h"
#include "targets/raft/core/types.h"

namespace assay::raft {

// Unique for ever: a node draws a new incarnation at every start, and counts its requests.
struct RequestName {
  NodeId node;
  uint64_t incarnation = 0;
  uint64_t sequence = 0;
  friend auto operator<=>(const RequestName&, const RequestName&) = default;
};

struct Command {
  RequestName name;
  kv::Request request;
  int64_t wall_ms = 0;  // when the node took it, by its clock; only where tokens are times
};

std::string encode_command(const RequestName& name, const kv::Request& request,
                           int64_t wall_ms = 0);
std::optional<Command> decode_command(std::string_view bytes);

}  // namespace assay::raft
