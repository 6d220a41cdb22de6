// Any bytes as a snapshot: what is read must be written as the same bytes, however both are cut.
#include <cstdint>
#include <cstdlib>

#include "targets/raft/replica/crc32c.h"
#include "targets/raft/replica/snapshot.h"

namespace {

using assay::raft::SnapshotReader;
using assay::raft::SnapshotWriter;

void check(std::string_view bytes) {
  SnapshotReader reader;
  const bool fits = reader.feed(bytes);
  SnapshotReader slow;
  bool slow_fits = true;
  for (const char& byte : bytes) slow_fits = slow.feed({&byte, 1}) && slow_fits;
  if (fits != slow_fits || reader.complete() != slow.complete()) std::abort();
  if (!reader.complete()) return;
  const auto store = reader.release();
  SnapshotWriter writer(reader.head(), store);
  std::string again;
  while (!writer.done()) again += writer.next(1);
  if (again != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  // No fuzzer finds a crc by luck.
  const uint32_t crc = assay::raft::crc32c(0, bytes);
  std::string sealed(bytes);
  for (int i = 0; i < 4; ++i) sealed.push_back(static_cast<char>(crc >> (8 * i)));
  check(sealed);
  return 0;
}
