// What the nodes of the designs with an order of changes send each other (ordered.h), and its
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "targets/kv/service/kv.h"
#include "targets/raft/core/types.h"

namespace assay::naive {

using raft::NodeId;

struct LogEntry {
  uint64_t epoch = 0;  // in which it was accepted
  std::string change;  // encoded (copy.h)
};

// A sign of life; how long the sender's history is, and its hash. Also the answer to NewEntry.
struct Beat {
  uint64_t epoch = 0;
  bool leads = false;
  uint64_t length = 0;
  uint64_t chain = 0;
};

// The leader's newest change.
struct NewEntry {
  uint64_t epoch = 0;
  uint64_t index = 0;  // its own place, from 1
  uint64_t chain_before = 0;
  LogEntry entry;
};

// "Send me what I lack": the hashes of the sender's history at some lengths, descending.
struct Want {
  std::vector<std::pair<uint64_t, uint64_t>> have;  // length, chain
};

// The sender's history from `first` on; the receiver has all before it.
struct Entries {
  uint64_t epoch = 0;
  uint64_t first = 0;
  uint64_t length = 0;  // of the sender's whole history
  std::vector<LogEntry> entries;
};

// A request that a client made of another node, and its answer. Each is sent once.
struct Forward {
  uint64_t id = 0;
  kv::Request request;
};
struct Reply {
  uint64_t id = 0;
  kv::Result result;
};

struct Message {
  NodeId from;
  std::variant<Beat, NewEntry, Want, Entries, Forward, Reply> body;
};

std::string encode(const Message& message);
std::optional<Message> decode(std::string_view bytes);

}  // namespace assay::naive
