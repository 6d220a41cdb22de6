// Wal: the write-ahead log. Records are gathered in memory and written in batches, one sync each
// (group commit); what arrives while a batch is on its way makes the next one.
//
// A failed write or sync ends the process (Env::fatal): what it left on the disk is unknown.
#pragma once

#include <chrono>
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
  std::vector<Entry> entries;  // from index 1, without a gap
  bool cut_torn_tail = false;
  bool removed_torn_segment = false;
  // Where writing goes on.
  std::optional<SegmentName> segment;  // nothing: no segment yet
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
  // start, because what it acknowledged may be gone.
  static std::string recover(Disk& disk, NodeId node, WalRecovery& recovery);

  Wal(WalOptions options, Env& env, const WalRecovery& recovery, std::function<void()> on_durable);

  void append(const HardState& state);
  void append(const std::vector<Entry>& entries);

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

  WalOptions options_;
  Env& env_;
  std::function<void()> on_durable_;

  std::optional<SegmentName> segment_;
  uint64_t segment_bytes_ = 0;
  uint32_t crc_ = 0;
  HardState state_;

  std::string pending_;  // records without crcs
  Position appended_ = 0;
  Position durable_ = 0;
  bool in_flight_ = false;
  std::chrono::nanoseconds pending_since_{0};  // for the canary
};

}  // namespace assay::raft
