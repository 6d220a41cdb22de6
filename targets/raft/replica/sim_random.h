// The randomness of the simulation: independent streams of one seed, so that a draw more in one
// does not shift the others. Tests only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "targets/kv/service/hash.h"
#include "targets/raft/core/random.h"

namespace assay::raft {

class SimRandom {
 public:
  SimRandom(uint64_t seed, std::string_view stream)
      : random_(kv::Hasher(seed).add(stream).value()) {}

  uint64_t next() { return random_.next(); }
  uint64_t below(uint64_t bound) { return next() % bound; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(uint64_t per_mille) { return below(1000) < per_mille; }
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  Random random_;
};

}  // namespace assay::raft
