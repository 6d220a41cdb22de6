// Any bytes in a segment: reading it ends, and what checks is no longer than the file.
#include <cstdint>
#include <cstdlib>

#include "targets/raft/replica/wal_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::raft;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const RecordHandler handler{[](const SegmentHeader&) { return std::string(); },
                              [](const HardState&) {}, [](Entry) { return std::string(); }};
  SegmentScan scan;
  if (scan_segment(bytes, {1, 2}, handler, scan).empty() &&
      (scan.valid_bytes > size || scan.damaged != (scan.valid_bytes < size))) {
    std::abort();
  }
  // And as the payload of an entry that was really written, they must check.
  std::string segment;
  put_header(segment, {NodeId{1}, {1, 2}, 0});
  put_batch_marker(segment, 2);
  put_entry(segment, {Term{1}, LogIndex{1}, EntryKind::kCommand,
                      std::make_shared<const std::string>(bytes)});
  seal_records(segment, 0);
  if (!scan_segment(segment, {1, 2}, handler, scan).empty() || scan.damaged) std::abort();
  return 0;
}
