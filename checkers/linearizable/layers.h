// What the searches in layers share: sets of configurations, the ladder of beams.
#pragma once

#include <algorithm>
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
  static constexpr uint32_t kLinear = 12;

  std::vector<uint64_t> data;      // as much as there was ever room for; count * stride are used
  std::vector<uint8_t> redundant;  // a better one came later
  std::vector<uint32_t> next;      // in the chain
  std::vector<uint32_t> heads;
  std::vector<uint32_t> stamps;  // heads of older stamps are empty: no table is ever cleared
  uint32_t stamp = 0;
  uint32_t stride = 1;
  uint32_t room = 0;  // records
  uint32_t count = 0;
  uint32_t alive = 0;
  bool hashed = false;

  void reset(uint32_t words) {
    if (stride != words) {
      stride = words;
      room = static_cast<uint32_t>(std::min(data.size() / words, redundant.size()));
    }
    count = alive = 0;
    hashed = false;
  }
  uint64_t* at(uint32_t i) { return data.data() + size_t{i} * stride; }
  const uint64_t* at(uint32_t i) const { return data.data() + size_t{i} * stride; }

  // The first of a chain.
  uint32_t head(uint32_t hash) const {
    const uint32_t bucket = hash & (heads.size() - 1);
    return stamps[bucket] == stamp ? heads[bucket] : kNoEntry;
  }
  void link(uint32_t i, uint32_t hash) {
    const uint32_t bucket = hash & (heads.size() - 1);
    next[i] = stamps[bucket] == stamp ? heads[bucket] : kNoEntry;
    heads[bucket] = i;
    stamps[bucket] = stamp;
  }
  // An empty table for twice as many as there are.
  void clear_table() {
    const size_t wanted = std::bit_ceil(size_t{count} * 4 + 32);
    if (heads.size() < wanted) {
      heads.assign(wanted, kNoEntry);
      stamps.assign(wanted, 0);
      stamp = 0;
    }
    ++stamp;
    hashed = true;
  }
  bool crowded() const { return hashed ? size_t{count} * 2 > heads.size() : count > kLinear; }

  // The place of one more.
  uint64_t* append() {
    if (count == room) grow();
    redundant[count] = 0;
    ++alive;
    return at(count++);
  }
  // Adds one that no other makes redundant. `compare(i)` is false where the i-th does, and marks
  // the i-th where it is the other way; `hash` is of a record's group, `put` writes it.
  template <typename Compare, typename Hash, typename Put>
  bool insert(const uint64_t* c, const Compare& compare, const Hash& hash, const Put& put) {
    uint32_t of_c = 0;
    if (hashed) {
      of_c = hash(c);
      for (uint32_t i = head(of_c); i != kNoEntry; i = next[i]) {
        if (!compare(i)) return false;
      }
    } else {
      for (uint32_t i = 0; i < count; ++i) {
        if (!compare(i)) return false;
      }
    }
    put(append());
    if (crowded()) {
      clear_table();
      for (uint32_t i = 0; i < count; ++i) link(i, hash(at(i)));
    } else if (hashed) {
      link(count - 1, of_c);
    }
    return true;
  }
  void grow() {
    room = std::max(16u, room * 2);
    data.resize(size_t{room} * stride);
    redundant.resize(room);
    next.resize(room);
  }
  void assign(const std::vector<uint64_t>& records) {
    reset(stride);
    const auto wanted = static_cast<uint32_t>(records.size() / stride);
    while (room < wanted) grow();
    std::copy(records.begin(), records.end(), data.begin());
    truncate(wanted);
  }
  std::vector<uint64_t> records() const { return {data.begin(), data.begin() + size_t{count} * stride}; }
  // Keeps the first so many, none of them redundant. Chains are gone afterwards.
  void truncate(uint32_t to) {
    count = alive = to;
    hashed = false;
    std::fill_n(redundant.begin(), count, uint8_t{0});
  }
  // Drops the redundant ones.
  void compact() {
    if (alive == count) {
      hashed = false;
      return;
    }
    uint32_t to = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (redundant[i]) continue;
      if (to != i) std::memcpy(at(to), at(i), stride * sizeof(uint64_t));
      ++to;
    }
    truncate(to);
  }
  size_t bytes() const {
    return data.capacity() * sizeof(uint64_t) + redundant.capacity() +
           (next.capacity() + heads.capacity() + stamps.capacity()) * sizeof(uint32_t);
  }
};

// How a configuration of a valid problem came about.
struct TraceNode {
  uint32_t parent;
  uint32_t what;  // 2 * op, or 2 * class + 1
  uint32_t event;
};

enum class Step : uint8_t { kDied, kSurvived, kOutOfBudget };

}  // namespace assay::linearizable
