// ForwardFilter: sees to it that a forwarded write is appended at most once, though the network may
// repeat it, and knows when a refusal is certain. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "targets/raft/core/types.h"
#include "targets/raft/replica/command.h"

namespace assay::raft {

class ForwardFilter {
 public:
  // The term recorded when this process started: what happened in it, or before, may have been
  // done by an earlier process of this node, whose memory is gone.
  explicit ForwardFilter(Term at_start) : at_start_(at_start) {}

  // True once per name. Also false for names so old that they are not remembered one by one.
  bool first_time(const RequestName& name) {
    Origin& origin = origins_[{name.node, name.incarnation}];
    if (name.sequence <= origin.forgotten_through) return false;
    if (!origin.seen.insert(name.sequence).second) return false;
    if (origin.seen.size() > kRemembered) {
      origin.forgotten_through = *origin.seen.begin();
      origin.seen.erase(origin.seen.begin());
    }
    return true;
  }

  // Whether "it was never appended" can be said of a write that was forwarded to this node as the
  // leader of `term`, and that this process sees for the first time.
  bool refusal_is_certain(Term term) const { return term > at_start_; }

 private:
  static constexpr size_t kRemembered = 4096;
  struct Origin {
    uint64_t forgotten_through = 0;
    std::set<uint64_t> seen;
  };

  Term at_start_;
  std::map<std::pair<NodeId, uint64_t>, Origin> origins_;
};

}  // namespace assay::raft
