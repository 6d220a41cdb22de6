// What members send each other, and its bytes: the protocol's messages, what followers forward to
// the leader, and the chunks of a snapshot. Framing, checksums and versions of a connection are the
// host's.
//
// One message has one form; anything else is refused. Bytes come from a network: nothing in them
// is believed before it is checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "targets/raft/core/message.h"
#include "targets/raft/replica/command.h"

namespace assay::raft {

// A write that a follower sends to the leader of `term`, once. There is no answer when it is
// appended: the follower sees the entry when it applies it.
struct ForwardWrite {
  Term term;
  std::string command;  // encoded; named by the sender
};

// The write was not appended and never will be.
struct ForwardRefused {
  NodeId from;
  uint64_t incarnation = 0;  // of the follower that forwarded
  uint64_t sequence = 0;
};

// Asks the leader for a read index, once.
struct ForwardRead {
  NodeId from;
  uint64_t incarnation = 0;
  ReadId id;  // of the follower
};

struct ForwardReadReply {
  NodeId from;
  uint64_t incarnation = 0;
  ReadId id;
  bool refused = false;
  LogIndex index;  // when not refused
};

// A piece of a snapshot that a leader sends (snapshot_stream.h).
struct SnapshotChunk {
  NodeId from;
  Term term;                 // of the leader
  uint64_t incarnation = 0;  // of the leader's process
  uint64_t stream = 0;       // counts the leader's streams
  LogIndex last_index;       // the last entry that the snapshot holds
  Term last_term;
  uint64_t offset = 0;
  bool end = false;  // nothing follows
  std::string bytes;
};

// All bytes before `taken` are on disk; or the stream is unknown here, and must begin anew.
struct SnapshotAck {
  NodeId from;
  uint64_t incarnation = 0;  // as in the chunk
  uint64_t stream = 0;
  bool unknown = false;
  uint64_t taken = 0;
};

using PeerMessage = std::variant<Message, ForwardWrite, ForwardRefused, ForwardRead,
                                 ForwardReadReply, SnapshotChunk, SnapshotAck>;

std::string encode(const PeerMessage& message);
// A message of the protocol gets `to` from the caller, who knows who it is.
std::optional<PeerMessage> decode(std::string_view bytes, NodeId to);

}  // namespace assay::raft
