// Rng: the only source of randomness. A seed gives the same draws on every machine and compiler.
//
// No std distribution, floating point or hash order anywhere in what it feeds. Independent parts
// of a run draw from independent streams (split by name), so that adding a draw in one does not
// shift the others. Not thread-safe: each stream has one owner. Copyable: a copy repeats.
//
// Source: xoshiro256** by Blackman and Vigna (2018), seeded by splitmix64 (Steele et al. 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

class Rng {
 public:
  explicit Rng(uint64_t seed) {
    for (auto& word : state_) word = splitmix(seed);
  }

  // The stream of a part of the run, e.g. Rng(seed).stream("nemesis/kill"). Draws nothing.
  Rng stream(std::string_view name) const {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return Rng(hash ^ state_[0] ^ rotate(state_[3], 29));
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); bound > 0 (Lemire's multiplication, without the rejection: the bias is
  // below 2^-32 for the bounds used here).
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(uint64_t numerator, uint64_t denominator) { return below(denominator) < numerator; }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  static uint64_t splitmix(uint64_t& x) {
    uint64_t z = (x += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_[4];
};

}  // namespace assay
