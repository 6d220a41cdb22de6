// Wal: the write-ahead log. Records are gathered in memory and written in batches, one sync each
// (group commit); what arrives while a batch is on its way makes the next one.
//
// A log without its front relies on a snapshot: a record marks it, durable before a segment is
// removed, and says which segments must be there. Whole segments go, from the front.
//
// A failed write or sync ends the process (Env::fatal): what it left on the disk is unknown.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "targets/raft/core/core.h"
#include "targets/raft/replica/env.h"
#include "targets/raft/replica/wal_format.h"

namespace assay::raft {

struct WalOptions {
  NodeId node;
  size_t segment_bytes = 16 << 20;  // a new segment is begun when the current one is larger
  uint64_t salt_seed = 0;           // anything that clients cannot guess; new at every start
  // Canary: what is in the process's buffer counts as durable; it is written and synced this much
  // later. Zero: off.
  std::chrono::nanoseconds count_buffer_as_durable_for{0};
  Mutations mutations;  // tests only
};

// What the files said when the process started.
struct WalRecovery {
  HardState hard_state;
  LogPosition before_first;    // the entry before the first of `entries`
  std::vector<Entry> entries;  // without a gap; with before_first they reach the snapshot at least
  LogPosition snapshot;        // with which the log was read
  bool begins_anew = false;    // what the files hold does not lead to the snapshot, and is dropped
  SnapshotMark mark;
  bool cut_torn_tail = false;
  bool removed_torn_segment = false;
  // Where writing goes on.
  struct Segment {
    SegmentName name;
    LogIndex last;  // highest index of an entry in it; 0: none
  };
  std::vector<Segment> segments;       // all that are needed, in order
  std::optional<SegmentName> segment;  // the last; nothing: no segment yet
  uint64_t segment_bytes = 0;
  uint32_t crc = 0;
};

class Wal {
 public:
  // Counts records; a record is durable when durable() has reached the value that appended() had
  // after it was appended.
  using Position = uint64_t;

  // Reads all segments and cuts a torn tail off, durably. Blocks. Returns an error in words, and
  // changes nothing, when the log is corrupt, incomplete or another node's: the node must not
  // start, because what it acknowledged may be gone. `snapshot`: the newest one that the node has;
  // the log must lead on from it. Entries before it are kept where they lead to it.
  static std::string recover(Disk& disk, NodeId node, WalRecovery& recovery,
                             LogPosition snapshot = {});

  Wal(WalOptions options, Env& env, const WalRecovery& recovery, std::function<void()> on_durable);

  void append(const HardState& state);
  void append(const std::vector<Entry>& entries);
  // A snapshot is durable that the log does not lead to: it begins anew behind it.
  void reset(const LogPosition& snapshot);
  // A snapshot is durable. Segments with nothing after `drop_through` are removed, which must be in
  // the snapshot, and with them the files named.
  void note_snapshot(const LogPosition& snapshot, LogIndex drop_through,
                     std::vector<std::string> older);

  // Hands a batch to the disk, if there is something to write and none is on its way. on_durable
  // runs later, from the disk's callback.
  void flush();

  Position appended() const { return appended_; }
  Position durable() const;

 private:
  void note_pending();
  bool may_flush();
  bool needs_new_segment() const;
  void begin_segment(std::string& out, std::vector<DiskOp>& ops);
  void submit();
  void remove_obsolete();

  WalOptions options_;
  Env& env_;
  std::function<void()> on_durable_;

  std::optional<SegmentName> segment_;
  uint64_t segment_bytes_ = 0;
  uint32_t crc_ = 0;
  HardState state_;
  SnapshotMark mark_;
  std::deque<WalRecovery::Segment> closed_;  // in order, before the current one
  LogIndex segment_last_;                    // of the current segment
  LogIndex pending_last_;
  std::vector<std::string> obsolete_;  // files to remove once the record at obsolete_at_ is durable
  Position obsolete_at_ = 0;

  std::string pending_;  // records without crcs
  Position appended_ = 0;
  Position durable_ = 0;
  bool in_flight_ = false;
  std::chrono::nanoseconds pending_since_{0};  // for the canary
};

}  // namespace assay::raft
