// Progress: what a leader knows of one other member, and what it may send next. Plain data; the
// rules that need the log are in core.cc.
#pragma once

#include <deque>

#include "targets/raft/core/types.h"

namespace assay::raft {

struct Progress {
  enum class State : uint8_t {
    kProbe,      // where the logs part is not known: one append at a time
    kReplicate,  // appends are sent ahead of their answers, up to a window
  };

  NodeId id;
  State state = State::kProbe;
  LogIndex match;           // highest entry known to be durable there
  LogIndex next;            // first entry to send
  bool probe_sent = false;  // probing, and the answer is due
  bool nudge = false;       // send an append even without entries, to learn what was lost
  bool active = false;      // heard from since the last check of the quorum
  Round round;              // latest heartbeat round answered
  LogIndex commit_told;     // highest commit index that it was sent
  LogIndex match_at_heartbeat;
  std::deque<LogIndex> in_flight;  // last entry of each unanswered append, ascending

  void become_probe() {
    state = State::kProbe;
    next = match + 1;
    probe_sent = false;
    in_flight.clear();
  }
  void become_replicate() {
    state = State::kReplicate;
    next = match + 1;
    probe_sent = false;
  }
  // The member has everything up to `index`. False when that was known.
  bool acknowledge(LogIndex index) {
    const bool news = index > match;
    if (news) match = index;
    if (next <= match) next = match + 1;
    while (!in_flight.empty() && in_flight.front() <= match) in_flight.pop_front();
    return news;
  }
};

}  // namespace assay::raft
