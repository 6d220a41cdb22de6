#include "targets/raft/replica/wal_format.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "targets/kv/service/bytes.h"
#include "targets/raft/replica/crc32c.h"

namespace assay::raft {
namespace {

using kv::ByteReader;
using kv::ByteWriter;

constexpr size_t kLengthBytes = 4;
constexpr size_t kCrcBytes = 4;
constexpr uint64_t kMagic = 0x31304c4157595341;  // "ASYWAL01"
constexpr size_t kHeaderPayload = 8 + 8 + 8 + 8 + 4;
constexpr std::string_view kPrefix = "wal-";

// Writes a record with a crc of zero; `payload` fills in the payload.
template <typename Payload>
void put_record(std::string& out, RecordType type, const Payload& payload) {
  const size_t start = out.size();
  ByteWriter writer(out);
  writer.u32(0);
  writer.u8(static_cast<uint8_t>(type));
  payload(writer);
  const auto length = static_cast<uint32_t>(out.size() - start - kLengthBytes);
  for (size_t i = 0; i < kLengthBytes; ++i) out[start + i] = static_cast<char>(length >> (8 * i));
  writer.u32(0);
}

uint32_t read_u32(std::string_view bytes) { return ByteReader(bytes).u32(); }

// A record that checks, at the front of some bytes.
struct RecordView {
  RecordType type;
  std::string_view payload;
  uint32_t crc;
  size_t bytes;  // of the whole record
};

std::optional<RecordView> view_record(std::string_view bytes, uint32_t crc_before) {
  if (bytes.size() < kLengthBytes + 1 + kCrcBytes) return std::nullopt;
  const size_t length = read_u32(bytes);
  if (length == 0 || length > bytes.size() - kLengthBytes - kCrcBytes) return std::nullopt;
  const uint32_t crc = read_u32(bytes.substr(kLengthBytes + length));
  if (crc32c(crc_before, bytes.substr(0, kLengthBytes + length)) != crc) return std::nullopt;
  return RecordView{static_cast<RecordType>(bytes[kLengthBytes]),
                    bytes.substr(kLengthBytes + 1, length - 1), crc,
                    kLengthBytes + length + kCrcBytes};
}

std::optional<SegmentHeader> read_header(std::string_view payload) {
  ByteReader reader(payload);
  SegmentHeader header;
  const bool magic = reader.u64() == kMagic;
  header.node.value = reader.u64();
  header.name.sequence = reader.u64();
  header.name.salt = reader.u64();
  header.crc_before = reader.u32();
  if (!magic || !reader.done()) return std::nullopt;
  return header;
}

// The header names the crc that it continues.
std::optional<RecordView> view_header(std::string_view bytes) {
  const size_t crc_at = kLengthBytes + 1 + kHeaderPayload - 4;
  if (bytes.size() < crc_at + 4) return std::nullopt;
  const auto record = view_record(bytes, read_u32(bytes.substr(crc_at)));
  if (!record || record->type != RecordType::kHeader) return std::nullopt;
  return record;
}

// Whether a batch begins after the record at the front of `bytes`. The salt makes its first bytes
// unmistakable; that they were written at all proves that the sync before them was done.
bool holds_later_batch(std::string_view bytes, uint64_t salt) {
  std::string marker;
  put_batch_marker(marker, salt);
  marker.resize(marker.size() - kCrcBytes);
  return bytes.find(marker, 1) != std::string_view::npos;
}

std::string hand_out(const RecordView& record, uint64_t salt, const RecordHandler& handler) {
  ByteReader reader(record.payload);
  switch (record.type) {
    case RecordType::kBatch:
      if (reader.u64() != salt || !reader.done()) return "a batch marker of another segment";
      return "";
    case RecordType::kState: {
      HardState state;
      state.term.value = reader.u64();
      state.vote.value = reader.u64();
      if (!reader.done()) return "a state record of a wrong size";
      handler.state(state);
      return "";
    }
    case RecordType::kEntry: {
      Entry entry;
      entry.term.value = reader.u64();
      entry.index.value = reader.u64();
      entry.kind = static_cast<EntryKind>(reader.upto(kEntryKindLast));
      if (!reader.ok()) return "an entry record of a wrong form";
      if (!reader.rest().empty())
        entry.payload = std::make_shared<const std::string>(reader.rest());
      return handler.entry(std::move(entry));
    }
    case RecordType::kMark: {
      SnapshotMark mark;
      mark.snapshot.index.value = reader.u64();
      mark.snapshot.term.value = reader.u64();
      mark.first_segment = reader.u64();
      if (!reader.done()) return "a snapshot's mark of a wrong size";
      if (handler.mark) handler.mark(mark);
      return "";
    }
    case RecordType::kReset: {
      LogPosition position;
      position.index.value = reader.u64();
      position.term.value = reader.u64();
      if (!reader.done()) return "a reset record of a wrong size";
      if (handler.reset) handler.reset(position);
      return "";
    }
    case RecordType::kHeader:
      return "a second header";
  }
  return "a record of unknown type " + std::to_string(static_cast<int>(record.type));
}

}  // namespace

std::string SegmentName::to_string() const {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "wal-%08llu-%016llx",
                static_cast<unsigned long long>(sequence), static_cast<unsigned long long>(salt));
  return buffer;
}

std::optional<SegmentName> SegmentName::parse(std::string_view file) {
  if (!file.starts_with(kPrefix)) return std::nullopt;
  SegmentName name;
  const char* end = file.data() + file.size();
  const auto sequence = std::from_chars(file.data() + kPrefix.size(), end, name.sequence);
  if (sequence.ec != std::errc() || sequence.ptr == end) return std::nullopt;
  const auto salt = std::from_chars(sequence.ptr + 1, end, name.salt, 16);
  if (salt.ec != std::errc() || name.to_string() != file) return std::nullopt;
  return name;
}

void put_header(std::string& out, const SegmentHeader& header) {
  put_record(out, RecordType::kHeader, [&](ByteWriter& writer) {
    writer.u64(kMagic);
    writer.u64(header.node.value);
    writer.u64(header.name.sequence);
    writer.u64(header.name.salt);
    writer.u32(header.crc_before);
  });
}

void put_batch_marker(std::string& out, uint64_t salt) {
  put_record(out, RecordType::kBatch, [&](ByteWriter& writer) { writer.u64(salt); });
}

void put_state(std::string& out, const HardState& state) {
  put_record(out, RecordType::kState, [&](ByteWriter& writer) {
    writer.u64(state.term.value);
    writer.u64(state.vote.value);
  });
}

void put_entry(std::string& out, const Entry& entry) {
  put_record(out, RecordType::kEntry, [&](ByteWriter& writer) {
    writer.u64(entry.term.value);
    writer.u64(entry.index.value);
    writer.u8(static_cast<uint8_t>(entry.kind));
    writer.raw(entry.bytes());
  });
}

void put_mark(std::string& out, const SnapshotMark& mark) {
  put_record(out, RecordType::kMark, [&](ByteWriter& writer) {
    writer.u64(mark.snapshot.index.value);
    writer.u64(mark.snapshot.term.value);
    writer.u64(mark.first_segment);
  });
}

void put_reset(std::string& out, const LogPosition& position) {
  put_record(out, RecordType::kReset, [&](ByteWriter& writer) {
    writer.u64(position.index.value);
    writer.u64(position.term.value);
  });
}

uint32_t seal_records(std::string& records, uint32_t before) {
  uint32_t crc = before;
  for (size_t at = 0; at < records.size();) {
    const std::string_view rest = std::string_view(records).substr(at);
    const size_t covered = kLengthBytes + read_u32(rest);
    crc = crc32c(crc, rest.substr(0, covered));
    for (size_t i = 0; i < kCrcBytes; ++i) {
      records[at + covered + i] = static_cast<char>(crc >> (8 * i));
    }
    at += covered + kCrcBytes;
  }
  return crc;
}

std::string scan_segment(std::string_view bytes, const SegmentName& name,
                         const RecordHandler& handler, SegmentScan& scan) {
  scan = SegmentScan{};
  std::optional<RecordView> record = view_header(bytes);
  if (record) {
    scan.header = read_header(record->payload);
    if (!scan.header) return "a header of another format";
    if (std::string error = handler.header(*scan.header); !error.empty()) return error;
  }
  while (record) {
    if (scan.valid_bytes > 0) {
      const std::string error = hand_out(*record, name.salt, handler);
      if (!error.empty()) return error + " at byte " + std::to_string(scan.valid_bytes);
    }
    scan.valid_bytes += record->bytes;
    scan.crc = record->crc;
    record = view_record(bytes.substr(scan.valid_bytes), scan.crc);
  }
  const std::string_view rest = bytes.substr(scan.valid_bytes);
  scan.damaged = !rest.empty();
  scan.batch_after_damage = scan.damaged && holds_later_batch(rest, name.salt);
  return "";
}

}  // namespace assay::raft
