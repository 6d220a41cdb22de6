// Chain: a hash over all entries applied so far. Two members that applied the same entries have the
// same chain at the same index; one wrong entry changes it for ever. Remembers recent indices.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "targets/kv/service/hash.h"
#include "targets/raft/core/check.h"
#include "targets/raft/core/message.h"

namespace assay::raft {

class Chain {
 public:
  static constexpr size_t kRemembered = 8192;

  LogIndex index() const { return index_; }
  uint64_t value() const { return recent_.back(); }  // 0 before the first entry

  // Goes on behind a snapshot; what came before is forgotten.
  void begin_behind(LogIndex index, uint64_t value) {
    index_ = index;
    recent_.assign(1, value);
  }
  void extend(const Entry& entry) {
    RAFT_CHECK(entry.index == index_ + 1,
               "the chain skips to " + std::to_string(entry.index.value));
    index_ = entry.index;
    recent_.push_back(kv::Hasher(value())
                          .add(entry.index.value)
                          .add(entry.term.value)
                          .add(static_cast<uint64_t>(entry.kind))
                          .add(entry.bytes())
                          .value());
    if (recent_.size() > kRemembered) recent_.pop_front();
  }
  // Nothing: not applied yet, or too long ago.
  std::optional<uint64_t> at(LogIndex index) const {
    if (index > index_ || index_ - index >= recent_.size()) return std::nullopt;
    return recent_[recent_.size() - 1 - (index_ - index)];
  }

 private:
  LogIndex index_;
  std::deque<uint64_t> recent_{0};
};

}  // namespace assay::raft
