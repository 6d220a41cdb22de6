#include "targets/raft/server/frame.h"

#include "targets/kv/service/bytes.h"
#include "targets/raft/replica/crc32c.h"

namespace assay::raft {
namespace {

constexpr std::string_view kMagic = "assay-raft";

}  // namespace

void append_frame(std::string& out, std::string_view payload) {
  kv::ByteWriter writer(out);
  writer.u32(static_cast<uint32_t>(payload.size()));
  writer.u32(crc32c(0, payload));
  writer.raw(payload);
}

Frame first_frame(std::string_view bytes, size_t payload_bytes_max) {
  if (bytes.size() < kFrameHeadBytes) return {Frame::State::kIncomplete, {}, kFrameHeadBytes};
  kv::ByteReader reader(bytes);
  const size_t length = reader.u32();
  const uint32_t crc = reader.u32();
  if (length > payload_bytes_max) return {Frame::State::kBad, {}, 0};
  const size_t whole = kFrameHeadBytes + length;
  if (bytes.size() < whole) return {Frame::State::kIncomplete, {}, whole};
  const std::string_view payload = reader.raw(length);
  if (crc32c(0, payload) != crc) return {Frame::State::kBad, {}, 0};
  return {Frame::State::kWhole, payload, whole};
}

std::string encode_hello(const Hello& hello) {
  std::string out;
  kv::ByteWriter writer(out);
  writer.raw(kMagic);
  writer.u8(hello.protocol);
  writer.u64(hello.cluster);
  writer.u64(hello.from.value);
  writer.u64(hello.to.value);
  return out;
}

std::optional<Hello> decode_hello(std::string_view payload) {
  kv::ByteReader reader(payload);
  if (reader.raw(kMagic.size()) != kMagic) return std::nullopt;
  Hello hello;
  hello.protocol = reader.u8();
  if (!reader.ok()) return std::nullopt;
  if (hello.protocol != kPeerProtocol) return hello;
  hello.cluster = reader.u64();
  hello.from = NodeId{reader.u64()};
  hello.to = NodeId{reader.u64()};
  if (!reader.done()) return std::nullopt;
  return hello;
}

}  // namespace assay::raft
