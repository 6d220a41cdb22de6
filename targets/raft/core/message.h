// What the log holds and what members say to each other. Plain data; copy it freely: payloads are
// shared, never changed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/raft/core/types.h"

namespace assay::raft {

using Payload = std::shared_ptr<const std::string>;  // null: empty

enum class EntryKind : uint8_t {
  kNoop = 0,     // opens a leader's term
  kCommand = 1,  // for the state machine; the core never looks inside
};
inline constexpr uint8_t kEntryKindLast = 1;

struct Entry {
  Term term;
  LogIndex index;
  EntryKind kind = EntryKind::kNoop;
  Payload payload;

  std::string_view bytes() const {
    return payload ? std::string_view(*payload) : std::string_view();
  }
};

// What must survive a crash besides the log; written as one record.
struct HardState {
  Term term;
  NodeId vote;  // whom this member voted for in `term`

  friend bool operator==(const HardState&, const HardState&) = default;
};

enum class MessageType : uint8_t {
  kPreVote = 0,  // would you vote for me? changes no term
  kPreVoteReply,
  kVote,
  kVoteReply,
  kAppend,  // entries after (index, log_term)
  kAppendReply,
  kHeartbeat,  // the leader lives; asks for an answer
  kHeartbeatReply,
  kCommit,  // as a heartbeat, but asks for no answer: the commit index moved
};
inline constexpr uint8_t kMessageTypeLast = 8;
std::string_view to_string(MessageType type);

// One flat struct for all types, as etcd-io/raft does; fields that a type does not name are zero.
struct Message {
  MessageType type = MessageType::kHeartbeat;
  NodeId from;
  NodeId to;
  // The sender's term; of a pre-vote and of a granting reply to it, the term that would follow.
  Term term;
  // Votes: the candidate's last entry. Append: the entry before the first one sent. Append reply:
  // the last entry known to match, or the refused previous entry.
  LogIndex index;
  Term log_term;        // votes and append: the term of the entry at `index`
  LogIndex commit;      // append, heartbeat, commit: what the receiver may commit
  bool reject = false;  // replies
  // Refused append: the receiver's last entry whose term is at most `log_term` of the request.
  LogIndex hint_index;
  Term hint_term;
  Round round;                 // heartbeat and its reply
  std::vector<Entry> entries;  // append
};

}  // namespace assay::raft
