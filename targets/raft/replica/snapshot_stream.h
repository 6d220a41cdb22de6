// How a snapshot travels: in chunks over Net, which may lose, repeat, delay and reorder them. The
// sender keeps what was not acknowledged, a window of chunks, and repeats it when nothing comes
// back; the receiver takes each chunk at its offset, once, writes it to disk, and acknowledges it
// then. Single-threaded; no time of its own but ticks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "targets/raft/replica/snapshot_files.h"
#include "targets/raft/replica/wire.h"

namespace assay::raft {

struct StreamLimits {
  size_t chunk_bytes = 256 << 10;  // about; a message holds one chunk
  size_t window = 4;               // chunks on their way
  int resend_ticks = 20;           // without an acknowledgement
};

class SnapshotSender {
 public:
  using Send = std::function<void(const SnapshotChunk& chunk)>;

  // `stream` names sender, term, and stream; the rest of it is filled in here.
  SnapshotSender(StreamLimits limits, SnapshotChunk stream, SnapshotWriter writer, Send send);

  Term term() const { return prototype_.term; }
  uint64_t stream() const { return prototype_.stream; }
  LogIndex index() const { return prototype_.last_index; }
  // Everything up to `taken` bytes is on the receiver's disk. True when that is news.
  bool on_ack(uint64_t taken);
  // True when the unacknowledged chunks were sent again.
  bool on_tick();
  void send_again();

 private:
  void fill();

  StreamLimits limits_;
  SnapshotChunk prototype_;
  SnapshotWriter writer_;
  Send send_;
  uint64_t sent_ = 0;
  bool begun_ = false;  // something was acknowledged
  std::deque<SnapshotChunk> unacknowledged_;
  int quiet_ticks_ = 0;
};

class SnapshotReceiver {
 public:
  using Acknowledge = std::function<void(NodeId to, const SnapshotAck& ack)>;
  // The snapshot is whole, checked, and durable under its name; it has so many bytes.
  using OnWhole = std::function<void(const SnapshotHead& head, kv::Store store, size_t bytes)>;

  SnapshotReceiver(Env& env, NodeId self, Mutations mutations, Acknowledge acknowledge,
                   OnWhole on_whole);
  ~SnapshotReceiver();

  enum class Taken : uint8_t { kTaken, kRepeated, kAhead, kUnknownStream, kIgnored, kBad };
  Taken on_chunk(SnapshotChunk chunk);

  // The snapshot on its way, until it gets its name: its last entry's index; 0: none.
  LogIndex index() const;
  // It is not wanted any more.
  void abandon();

 private:
  struct Incoming;

  Taken on_other_stream(const SnapshotChunk& chunk);
  void take(SnapshotChunk chunk);
  void finish();
  void acknowledge(bool unknown, const SnapshotChunk& chunk);

  Env& env_;
  NodeId self_;
  Mutations mutations_;
  Acknowledge acknowledge_;
  OnWhole on_whole_;
  uint64_t files_ = 0;
  std::unique_ptr<Incoming> incoming_;  // null: none
};

}  // namespace assay::raft
