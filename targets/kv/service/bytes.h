// ByteWriter and ByteReader: the primitives of every encoding of the store. Fixed-width numbers are
// little-endian; varints are LEB128 and must be as short as possible; signed ones are zigzag.
//
// A reader that fails stays failed and hands out zeros and empty strings; ask ok() at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::kv {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(uint32_t value) { fixed(value, 4); }
  void u64(uint64_t value) { fixed(value, 8); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void signed_varint(int64_t value) {
    varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void string(std::string_view bytes) {
    varint(bytes.size());
    out_.append(bytes);
  }
  void raw(std::string_view bytes) { out_.append(bytes); }

 private:
  void fixed(uint64_t value, int bytes) {
    char buffer[8];
    for (int i = 0; i < bytes; ++i) buffer[i] = static_cast<char>(value >> (8 * i));
    out_.append(buffer, static_cast<size_t>(bytes));
  }

  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }  // nothing wrong and nothing left
  std::string_view rest() const { return rest_; }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      if (!ok_) return 0;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      const bool overflow = shift == 63 && byte > 1;
      const bool padded = shift > 0 && byte == 0;
      if (overflow || padded) break;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  int64_t signed_varint() {
    const uint64_t value = varint();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  // A view into what is read.
  std::string_view string() { return raw(varint()); }
  std::string_view raw(uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  // A count of things that take at least one byte each: never more than could follow.
  uint64_t count() {
    const uint64_t value = varint();
    if (value > rest_.size()) fail();
    return ok_ ? value : 0;
  }
  // A byte in [0, last].
  uint8_t upto(uint8_t last) {
    const uint8_t value = u8();
    if (value > last) fail();
    return ok_ ? value : 0;
  }

 private:
  uint64_t fixed(size_t count) {
    if (!ok_ || rest_.size() < count) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(count);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace assay::kv
