// CRC-32C (Castagnoli), as in iSCSI and ext4; with the processor's instruction where there is one.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::raft {

// The checksum of `bytes` after bytes whose checksum is `before`; 0 is that of nothing.
uint32_t crc32c(uint32_t before, std::string_view bytes);

// The same without the processor's help; for machines that lack it, and for the tests.
uint32_t crc32c_portable(uint32_t before, std::string_view bytes);

}  // namespace assay::raft
