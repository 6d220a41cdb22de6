#include "targets/raft/replica/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::raft {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, EqualsThePublishedValues) {
  EXPECT_EQ(crc32c(0, ""), 0u);
  EXPECT_EQ(crc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes.push_back(static_cast<char>(i * 37));
  const uint32_t whole = crc32c(0, bytes);
  EXPECT_EQ(crc32c_portable(0, bytes), whole);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(crc32c(crc32c(0, bytes.substr(0, cut)), bytes.substr(cut)), whole);
    EXPECT_EQ(crc32c_portable(crc32c(0, bytes.substr(0, cut)), bytes.substr(cut)), whole);
  }
}

}  // namespace
}  // namespace assay::raft
