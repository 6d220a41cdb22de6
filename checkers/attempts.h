// Attempts: who may have put a value where it was found: into a key, or a field of an object.
//
// A value that is found stems from a write that had been invoked before the finder returned, and
// that was not replaced before the finder was invoked: no acknowledged write of another came wholly
// after it and wholly before the finder. That is regularity: weaker than linearizability, linear
// but for sorting, sound whatever else is not known. Single-threaded.
#pragma once

#include <algorithm>
#include <vector>

#include "checkers/key_events.h"

namespace assay {

struct Attempt {
  Value value;
  Position call = 0;
  Position ret = kOpen;   // kOpen: unknown, may take effect at any time after its call
  uint32_t id = 0;        // of the operation
  const KeyEvent* event = nullptr;
  uint64_t hash = 0;  // of the value
};

enum class Sight : uint8_t { kFine, kNobodys, kTooEarly, kReplaced };

class Attempts {
 public:
  // initial: what is there before any attempt.
  explicit Attempts(Value initial) : initial_(std::move(initial)) {}
  void add(Attempt attempt) {
    attempt.hash = attempt.value.hash();
    attempts_.push_back(std::move(attempt));
  }
  // After the last add, before the first question.
  void seal() {
    std::sort(attempts_.begin(), attempts_.end(), [](const Attempt& a, const Attempt& b) {
      return std::pair(a.hash, a.call) < std::pair(b.hash, b.call);
    });
    for (uint32_t i = 0; i < attempts_.size(); ++i) {
      const bool first = i == 0 || attempts_[i - 1].hash != attempts_[i].hash;
      collision_ |= !first && attempts_[i - 1].value != attempts_[i].value;
      const bool later = first || attempts_[i].ret > attempts_[latest_.back()].ret;
      latest_.push_back(later ? i : latest_.back());
      if (attempts_[i].ret != kOpen) by_return_.push_back(i);
    }
    std::sort(by_return_.begin(), by_return_.end(),
              [&](uint32_t a, uint32_t b) { return attempts_[a].ret < attempts_[b].ret; });
    uint32_t newest = 0;
    for (size_t i = 0; i < by_return_.size(); ++i) {
      if (i == 0 || attempts_[by_return_[i]].call > attempts_[newest].call) newest = by_return_[i];
      newest_.push_back(newest);
    }
  }
  bool empty() const { return attempts_.empty(); }

  // Of those acknowledged before a position, the one invoked last; nullptr.
  const Attempt* newest_before(Position position) const {
    const auto end = std::lower_bound(
        by_return_.begin(), by_return_.end(), position,
        [&](uint32_t i, Position before) { return attempts_[i].ret < before; });
    if (end == by_return_.begin()) return nullptr;
    return &attempts_[newest_[static_cast<size_t>(end - by_return_.begin()) - 1]];
  }
  // The attempt of that value, invoked before `ret`, that was acknowledged last; nullptr.
  const Attempt* latest_of(const Value& value, Position ret) const {
    const uint64_t hash = value.hash();
    auto at = std::lower_bound(attempts_.begin(), attempts_.end(), std::pair(hash, ret),
                               [](const Attempt& a, const std::pair<uint64_t, Position>& b) {
                                 return std::pair(a.hash, a.call) < b;
                               });
    if (collision_) return scan(value, ret);
    if (at == attempts_.begin()) return nullptr;
    const Attempt& found = attempts_[latest_[static_cast<size_t>(at - attempts_.begin()) - 1]];
    return found.value == value ? &found : nullptr;
  }
  bool attempted(const Value& value) const { return latest_of(value, kOpen) != nullptr; }

  // May somebody who was invoked at `call` and answered at `ret` have found this value?
  Sight sight(const Value& value, Position call, Position ret) const {
    const Attempt* newest = newest_before(call);
    const Attempt* maker = latest_of(value, ret);
    if (value == initial_ && !newest) return Sight::kFine;
    if (!maker) {
      if (attempted(value)) return Sight::kTooEarly;
      return value == initial_ ? Sight::kReplaced : Sight::kNobodys;
    }
    return newest && maker->ret < newest->call ? Sight::kReplaced : Sight::kFine;
  }

 private:
  const Attempt* scan(const Value& value, Position ret) const {
    const Attempt* latest = nullptr;
    for (const Attempt& attempt : attempts_)
      if (attempt.value == value && attempt.call < ret && (!latest || attempt.ret > latest->ret))
        latest = &attempt;
    return latest;
  }

  Value initial_;
  bool collision_ = false;  // two values have one hash
  std::vector<Attempt> attempts_;    // by value, then by call
  std::vector<uint32_t> latest_;     // of a value's attempts so far, the one that returned last
  std::vector<uint32_t> by_return_;  // acknowledged ones
  std::vector<uint32_t> newest_;     // of the first so many of them, the one invoked last
};

}  // namespace assay
