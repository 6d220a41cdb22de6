// The bytes of the write-ahead log: records in segments. Pure functions; files are wal.h's.
//
// A segment is a file named wal-SEQUENCE-SALT (decimal, hexadecimal). It holds records:
//
//   length u32 | type u8 | payload | crc u32        length counts type and payload
//
// The crc covers length, type and payload, and continues the crc of the record before: a record
// only checks where it was written. The first record of a segment is its header, which carries the
// crc that the previous segment ended with, so that a segment cut short is noticed too.
//
// Records are written in batches, each followed by a sync, and none begun before the sync of the
// one before is done. A batch begins with a marker that carries the segment's salt. So a damaged
// record that a valid marker follows was durable once: that is corruption. Where no marker
// follows, the damage lies in the last batch, whose sync may never have been done: a torn tail.
// (Damage to a last batch that was synced cannot be told from a torn one.) Clients do not know
// the salt, so no value that they write can look like a marker.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "targets/raft/core/message.h"

namespace assay::raft {

enum class RecordType : uint8_t {
  kHeader = 1,
  kBatch = 2,
  kState = 3,
  kEntry = 4,
  kMark = 5,
  kReset = 6,
};

struct SegmentName {
  uint64_t sequence = 0;  // 1 is the first
  uint64_t salt = 0;

  std::string to_string() const;
  // Nothing: not the name of a segment.
  static std::optional<SegmentName> parse(std::string_view file);
};

struct SegmentHeader {
  NodeId node;
  SegmentName name;
  uint32_t crc_before = 0;  // of the last record of the previous segment
};

// The last entry that a snapshot holds.
struct LogPosition {
  LogIndex index;
  Term term;
  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

// A snapshot that ends there is durable; segments before first_segment may be gone.
struct SnapshotMark {
  LogPosition snapshot;
  uint64_t first_segment = 1;
};

// Appends a record whose crc is still to be filled in.
void put_header(std::string& out, const SegmentHeader& header);
void put_batch_marker(std::string& out, uint64_t salt);
void put_state(std::string& out, const HardState& state);
void put_entry(std::string& out, const Entry& entry);
void put_mark(std::string& out, const SnapshotMark& mark);
// The log begins anew after this position: what was written before does not lead to it.
void put_reset(std::string& out, const LogPosition& position);

// Fills in the crcs of all records in `records`, after a record whose crc was `before`; returns
// the last one's.
uint32_t seal_records(std::string& records, uint32_t before);

// What a segment holds, up to the first byte that does not check.
struct SegmentScan {
  std::optional<SegmentHeader> header;  // nothing: not even that can be read
  uint64_t valid_bytes = 0;
  uint32_t crc = 0;                 // of the last valid record
  bool damaged = false;             // bytes follow that are no valid record
  bool batch_after_damage = false;  // the damaged record was durable once
};

// What is done with the records that check; strings say what is wrong with one, or nothing. Those
// of a kind without a function are passed over.
struct RecordHandler {
  std::function<std::string(const SegmentHeader&)> header;
  std::function<void(const HardState&)> state;
  std::function<std::string(Entry)> entry;
  std::function<void(const SnapshotMark&)> mark;
  std::function<void(const LogPosition&)> reset;
};
// Reads a segment's bytes, handing out its records in order. An error in words when a record that
// checks has contents that make no sense.
std::string scan_segment(std::string_view bytes, const SegmentName& name,
                         const RecordHandler& handler, SegmentScan& scan);

}  // namespace assay::raft
