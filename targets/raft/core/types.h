// The numbers of the protocol, each a type of its own: a swap does not compile.
//
// Ids can be compared; counters can also be counted with. All are plain 64-bit values.
#pragma once

#include <compare>
#include <cstdint>

namespace assay::raft {

template <typename Tag>
struct Id {
  uint64_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
  explicit constexpr operator bool() const { return value != 0; }
};

template <typename Tag>
struct Counter {
  uint64_t value = 0;
  friend constexpr auto operator<=>(Counter, Counter) = default;
  friend constexpr Counter operator+(Counter a, uint64_t n) { return {a.value + n}; }
  friend constexpr Counter operator-(Counter a, uint64_t n) { return {a.value - n}; }
  friend constexpr uint64_t operator-(Counter a, Counter b) { return a.value - b.value; }
  constexpr Counter& operator++() {
    ++value;
    return *this;
  }
};

// A member of the cluster; 0 is nobody.
using NodeId = Id<struct NodeIdTag>;
inline constexpr NodeId kNobody{};

// Chosen by whoever asks for a read; never reused in the life of a process.
using ReadId = Id<struct ReadIdTag>;

// An election period; 0 is before the first.
using Term = Counter<struct TermTag>;

// A place in the log; the first entry has 1, and 0 is before it.
using LogIndex = Counter<struct LogIndexTag>;

// A round of heartbeats within one term of one leader; it confirms reads.
using Round = Counter<struct RoundTag>;

}  // namespace assay::raft
