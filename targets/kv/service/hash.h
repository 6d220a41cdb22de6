// Hasher: 64 bits from numbers and bytes, the same on every machine. For comparing states and logs
// of members that do not cheat; not for anything that faces an adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::kv {

class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0) : state_(seed ^ kSecret) {}

  Hasher& add(uint64_t word) {
    state_ = mix(state_ ^ word, kSecret2);
    return *this;
  }
  Hasher& add(std::string_view bytes) {
    add(bytes.size());
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) add(load(bytes.data() + i, 8));
    if (i < bytes.size()) add(load(bytes.data() + i, bytes.size() - i));
    return *this;
  }
  uint64_t value() const { return mix(state_, kSecret); }

 private:
  static constexpr uint64_t kSecret = 0xa0761d6478bd642f;
  static constexpr uint64_t kSecret2 = 0xe7037ed1a0b428db;

  // The halves of a 128-bit product, folded (as wyhash does), with the state mixed in again so that
  // no word can wipe it out.
  static uint64_t mix(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a ^ (a >> 32)) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ (a << 1);
  }
  static uint64_t load(const char* bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; ++i) {
      word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return word;
  }

  uint64_t state_;
};

}  // namespace assay::kv
