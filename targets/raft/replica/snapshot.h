// Snapshot: a replica's state behind one entry of the log, as bytes: what is in a file, and what
// travels to a member that lacks entries which are gone. Made and read in slices.
//
//   magic u64 | index u64 | term u64 | chain u64 | the store (kv/service/store_codec.h) | crc u32
//
// The crc is CRC-32C of all before it. One state has one form, the same on all members. It holds
// all that decides later behaviour: the store with its versions since the compaction, its
// revisions, and the chain hash. What a process remembers of forwards (forward_filter.h) is not of
// it: that belongs to the leader of one term in one process, and is nothing to anybody else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "targets/kv/service/store_codec.h"
#include "targets/raft/replica/wal_format.h"

namespace assay::raft {

struct SnapshotHead {
  LogPosition last;    // the last entry that it holds
  uint64_t chain = 0;  // over all entries up to it
};

class SnapshotWriter {
 public:
  // Of the state as it is now; it may go on changing.
  SnapshotWriter(const SnapshotHead& head, const kv::Store& store);

  const SnapshotHead& head() const { return head_; }
  bool done() const { return done_; }
  // The next bytes, of about that number; until done.
  std::string next(size_t bytes);

 private:
  SnapshotHead head_;
  kv::StoreEncoder store_;
  uint32_t crc_ = 0;
  bool begun_ = false;
  bool done_ = false;
};

class SnapshotReader {
 public:
  // Takes the next bytes, cut anywhere. False: they are no part of a snapshot, now and ever after.
  bool feed(std::string_view bytes);
  // Everything was read, and it checks.
  bool complete() const { return state_ == State::kComplete; }

  // Known once the first 32 bytes were read.
  bool head_known() const { return state_ > State::kHead; }
  const SnapshotHead& head() const { return head_; }
  // When complete.
  kv::Store release() { return store_.release(); }

 private:
  enum class State { kBad, kHead, kStore, kCrc, kComplete };

  size_t take(std::string_view bytes);
  bool take_head(std::string_view bytes);

  State state_ = State::kHead;
  SnapshotHead head_;
  kv::StoreDecoder store_;
  std::string carried_;  // a part of what is to be taken whole
  uint32_t crc_ = 0;
};

}  // namespace assay::raft
