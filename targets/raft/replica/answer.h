// Answer: how a request to a replica ended. Three different ends: done, refused, unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "targets/kv/service/kv.h"
#include "targets/raft/core/types.h"

namespace assay::raft {

enum class Fate : uint8_t {
  kDone,     // `result` is the store's answer, which may be an error of the request itself
  kRefused,  // never happened and never will: refused before anything was appended, or a read
  kUnknown,  // a write that may have happened, may happen later, or may never happen
};
std::string_view to_string(Fate fate);

enum class Reason : uint8_t {
  kNone,           // of kDone
  kNoLeader,       // none is known here
  kNotLeader,      // the node that a request was forwarded to does not lead
  kOverloaded,     // too much is waiting
  kLeaderChanged,  // leadership moved while the request was on its way
  kTimeout,        // no end within request_timeout
  kInstalled,      // a snapshot took the place of the entries among which the write may be
};
std::string_view to_string(Reason reason);

struct Answer {
  Fate fate = Fate::kDone;
  Reason reason = Reason::kNone;
  kv::Result result;  // of kDone
  LogIndex index;     // of kDone: a write's entry; what a read saw applied; 0: needed neither
};

// Runs exactly once, on the replica's thread; possibly before the call that it was given to
// returns. Never, when the replica is destroyed first. May call the replica.
using Done = std::function<void(Answer)>;

}  // namespace assay::raft
