#include "targets/raft/server/frame.h"

#include <gtest/gtest.h>

namespace assay::raft {
namespace {

std::string framed(std::string_view payload) {
  std::string out;
  append_frame(out, payload);
  return out;
}

TEST(Frame, ComesBackWhole) {
  for (const std::string& payload : {std::string(), std::string("x"), std::string(100'000, 'y')}) {
    const std::string bytes = framed(payload) + "next";
    const Frame frame = first_frame(bytes, 1 << 20);
    EXPECT_EQ(frame.state, Frame::State::kWhole);
    EXPECT_EQ(frame.payload, payload);
    EXPECT_EQ(frame.bytes, payload.size() + kFrameHeadBytes);
  }
}

TEST(Frame, ThatIsCutAnywhereIsIncomplete) {
  const std::string bytes = framed("payload");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Frame frame = first_frame(std::string_view(bytes).substr(0, size), 1 << 20);
    EXPECT_EQ(frame.state, Frame::State::kIncomplete) << size;
    EXPECT_EQ(frame.bytes, size < kFrameHeadBytes ? kFrameHeadBytes : bytes.size());
  }
}

TEST(Frame, WithAnyFlippedBitIsNotWhole) {
  const std::string bytes = framed("payload");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(first_frame(flipped, 1 << 20).state, Frame::State::kWhole) << bit;
  }
}

TEST(Frame, AboveTheMaximumIsBadAtOnce) {
  EXPECT_EQ(first_frame(framed("12345"), 4).state, Frame::State::kBad);
}

TEST(Hello, ComesBack) {
  const Hello hello{kPeerProtocol, 0x1122334455667788, NodeId{1}, NodeId{2}};
  EXPECT_EQ(decode_hello(encode_hello(hello)), hello);
}

TEST(Hello, OfAnotherVersionTellsItsVersion) {
  Hello hello;
  hello.protocol = kPeerProtocol + 1;
  const auto decoded = decode_hello(encode_hello(hello) + "what that version adds");
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->protocol, kPeerProtocol + 1);
}

TEST(Hello, IsNotWhatIsCutOrLonger) {
  const std::string bytes = encode_hello({});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_hello(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_hello(bytes + "x").has_value());
  EXPECT_FALSE(decode_hello("GET / HTTP/1.1\r\n\r\n").has_value());
}

}  // namespace
}  // namespace assay::raft
