#include "targets/kv/http/base64.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(encoded(bytes), text);
    EXPECT_EQ(std::get<std::string>(decode_base64(text)), bytes);
  }
}

TEST(Base64, EveryStringOfBytesComesBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(std::get<std::string>(decode_base64(encoded(bytes))), bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(Base64, ErrorsNameTheByteThatGoNames) {
  // Checked against Go 1.19's base64.StdEncoding (see testdata/gateway.txt).
  const std::pair<const char*, size_t> cases[] = {{"!!", 0},  {"YQ", 0},     {"YWI-", 3},
                                                  {"YQ=", 3}, {"YQ=A", 2},   {"YQ==Y", 4},
                                                  {"=", 0},   {"YWJjZA", 4}, {"Y===", 1}};
  for (const auto& [text, at] : cases) {
    const auto decoded = decode_base64(text);
    ASSERT_TRUE(std::holds_alternative<BadBase64>(decoded)) << text;
    EXPECT_EQ(std::get<BadBase64>(decoded).at, at) << text;
  }
}

TEST(Base64, LineBreaksAreSkipped) {
  EXPECT_EQ(std::get<std::string>(decode_base64("Zm\r\n9v\nYg=\n=\n")), "foob");
}

}  // namespace
}  // namespace assay
