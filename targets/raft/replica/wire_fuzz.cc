// Any bytes from a peer: what decodes must encode to the same bytes.
#include <cstdint>
#include <cstdlib>

#include "targets/raft/replica/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto message = assay::raft::decode(bytes, assay::raft::NodeId{1});
  if (message && assay::raft::encode(*message) != bytes) std::abort();
  return 0;
}
