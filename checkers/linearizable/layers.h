// What the searches in layers share: sets of configurations, the ladder of beams.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace assay::linearizable {

inline constexpr uint32_t kNoEntry = UINT32_MAX;
inline constexpr uint32_t kCheckpointEvery = 256;  // events
inline constexpr uint32_t kNarrowBeam = 400;       // below it the search also cuts inside bursts
inline constexpr uint32_t kUsedMax = 0x7fff;       // of a class: lanes have 15 bits, so that they compare
inline constexpr int kLanesPerWord = 4;

struct Rung {
  uint32_t beam;
  uint32_t back;  // checkpoints
};
inline constexpr Rung kLadder[] = {{12, 0}, {48, 1}, {192, 3}, {768, 8}, {3072, 32}};

// A set of configurations. Records of equal length lie in one array; a table of chains by group
// (state and placed cas) is made once there are several.
struct ConfigSet {
  static constexpr uint32_t kLinear = 8;

  std::vector<uint64_t> data;
  std::vector<uint32_t> next;  // in the chain
  std::vector<uint32_t> hashes;
  std::vector<uint8_t> redundant;  // a better one came later
  std::vector<uint32_t> heads;
  std::vector<uint32_t> stamps;  // heads of older stamps are empty: no table is ever cleared
  uint32_t stamp = 0;
  uint32_t stride = 1;
  uint32_t count = 0;
  uint32_t alive = 0;
  bool hashed = false;

  void reset(uint32_t words) {
    stride = words;
    count = alive = 0;
    hashed = false;
    data.clear();
    next.clear();
    hashes.clear();
    redundant.clear();
  }
  uint64_t* at(uint32_t i) { return data.data() + size_t{i} * stride; }
  const uint64_t* at(uint32_t i) const { return data.data() + size_t{i} * stride; }

  uint32_t head(uint32_t hash) const {
    const uint32_t bucket = hash & (heads.size() - 1);
    return stamps[bucket] == stamp ? heads[bucket] : kNoEntry;
  }
  void link(uint32_t i) {
    const uint32_t bucket = hashes[i] & (heads.size() - 1);
    next[i] = stamps[bucket] == stamp ? heads[bucket] : kNoEntry;
    heads[bucket] = i;
    stamps[bucket] = stamp;
  }
  void build_table() {
    const size_t wanted = std::bit_ceil(size_t{count} * 4 + 32);
    if (heads.size() < wanted) {
      heads.assign(wanted, kNoEntry);
      stamps.assign(wanted, 0);
      stamp = 0;
    }
    ++stamp;
    hashed = true;
    for (uint32_t i = 0; i < count; ++i) link(i);
  }
  void append(const uint64_t* record, uint32_t hash) {
    data.insert(data.end(), record, record + stride);
    next.push_back(kNoEntry);
    hashes.push_back(hash);
    redundant.push_back(0);
    ++count;
    ++alive;
    if (hashed && count * 2 <= heads.size()) {
      link(count - 1);
    } else if (count > kLinear) {
      build_table();
    }
  }
  // Drops the redundant ones. Chains and hashes are gone afterwards.
  void compact() {
    if (alive != count) {
      uint32_t to = 0;
      for (uint32_t i = 0; i < count; ++i) {
        if (redundant[i]) continue;
        if (to != i) std::memcpy(at(to), at(i), stride * sizeof(uint64_t));
        ++to;
      }
      count = to;
      data.resize(size_t{count} * stride);
    }
    next.clear();
    hashes.clear();
    redundant.assign(count, 0);
    hashed = false;
  }
  size_t bytes() const { return size_t{count} * (stride * sizeof(uint64_t) + 24); }
};

// How a configuration of a valid problem came about.
struct TraceNode {
  uint32_t parent;
  uint32_t what;  // 2 * op, or 2 * class + 1
  uint32_t event;
};

enum class Step : uint8_t { kDied, kSurvived, kOutOfBudget };

}  // namespace assay::linearizable
