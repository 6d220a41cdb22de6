// Weaker promises: which of them a key that is not linearizable keeps all the same. Keys that are
// linearizable keep them all.
//
//   monotonic reads    no process reads an older value after a newer one
//   read your writes   no process reads a value older than one that it wrote before
//   bounded staleness  each read finds what was current at most so long before it was invoked
//
// "Older" is by an order of the key's values that respects real time between the operations that
// made them, and has the value that a cas expected before the one that it made. The first two hold
// where there is such an order that no process contradicts: exact where no value is made twice.
// Elsewhere they are broken where every choice of a maker contradicts, and kept where the order that
// explains the key with the least old reads does not; the rest is not decided.
//
// The bound is the least d with which an order explains the key when each read is taken to have
// been invoked d earlier; writes and cas stay as they are. Exact for any values: judge_key decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/linearizable/judge.h"

namespace assay::linearizable {

enum class Kept : uint8_t { kYes, kNo, kUnknown };

struct SessionPromise {
  Kept kept = Kept::kYes;
  size_t pairs = 0;  // that might have broken it
  // Broken by one process alone: KeyOp::id of what it did or saw first, and of the read.
  std::optional<std::pair<uint32_t, uint32_t>> by;
};

SessionPromise monotonic_reads(const History& history, const KeyHistory& key);
SessionPromise read_your_writes(const History& history, const KeyHistory& key);

// Whether an order that explains the key with older reads is one that no process contradicts.
bool follows_sessions(const History& history, const KeyHistory& key,
                      const std::vector<uint32_t>& order, bool own_writes);

struct Staleness {
  Kept bounded = Kept::kUnknown;  // kNo: no age of the reads explains the key
  bool timed = true;              // false: the ages are counted in lines of the history
  Nanos more_than{0};             // some read is staler than this
  Nanos at_most{0};               // bounded: no read is staler than this, by this order …
  std::vector<uint32_t> order;    // … of KeyOp::id
};

// `work_max` is in operations judged, about, and is lowered by what was used. Unknown where it ends.
Staleness staleness(const History& history, const KeyHistory& key, uint64_t& work_max,
                    const std::function<bool()>& exhausted);

// The three in words, of the keys of a history that are not linearizable; `undecided` keys may be.
std::vector<std::string> weaker_promises(const History& history,
                                         const std::vector<const KeyGroup*>& invalid,
                                         size_t undecided, const std::function<bool()>& exhausted);

}  // namespace assay::linearizable
