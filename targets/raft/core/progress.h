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
    kSnapshot,   // it lacks entries that are gone here: the host sends a snapshot, nothing else
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
  int snapshot_elapsed = 0;        // ticks since the snapshot on its way was last heard of
  std::deque<LogIndex> in_flight;  // last entry of each unanswered append, ascending

  // `first`: of the leader's log; what lies before it cannot be sent.
  void become_probe(LogIndex first) {
    state = State::kProbe;
    next = match + 1 < first ? first : match + 1;
    probe_sent = false;
    in_flight.clear();
  }
  void become_replicate() {
    state = State::kReplicate;
    next = match + 1;
    probe_sent = false;
  }
  void become_snapshot() {
    state = State::kSnapshot;
    snapshot_elapsed = 0;
    probe_sent = false;
    in_flight.clear();
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
