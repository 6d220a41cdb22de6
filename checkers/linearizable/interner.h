// Interner: numbers scalars densely, from 0, in order of first appearance.
//
// Values of a run are mostly small integers (or symbols, which are small integers too): those of
// the first kind met index a table directly, the rest is hashed. 4 to 8 bytes a value, and 16 for
// each that is hashed. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "checkers/history/history.h"

namespace assay::linearizable {

using ValueId = uint32_t;

class Interner {
 public:
  static constexpr ValueId kNone = UINT32_MAX;

  // Of so many values there is room without moving them.
  explicit Interner(size_t values = 0) { dense_.reserve(values); }

  ValueId id(const Scalar& scalar) {
    if (scalar.kind == 0) return null_ != kNone ? null_ : (null_ = size_++);
    if (dense_kind_ == 0) dense_kind_ = scalar.kind;
    if (scalar.kind != dense_kind_ || scalar.bits < 0 ||
        static_cast<uint64_t>(scalar.bits) >= kRoomPerValue * uint64_t{size_} + kRoom) {
      return hashed(scalar);
    }
    const auto bits = static_cast<size_t>(scalar.bits);
    if (bits >= dense_.size()) dense_.resize(std::bit_ceil(bits + kRoom), kNone);
    ValueId& id = dense_[bits];
    if (id != kNone) return id;
    // The range grows: what is in it now may have been hashed before.
    const uint32_t entry = find_hashed(scalar);
    return id = entry != kNone ? entries_[entry].id : size_++;
  }
  // kNone: it has no number.
  ValueId find(const Scalar& scalar) const {
    if (scalar.kind == 0) return null_;
    if (scalar.kind == dense_kind_ && scalar.bits >= 0 &&
        static_cast<uint64_t>(scalar.bits) < dense_.size()) {
      const ValueId id = dense_[static_cast<size_t>(scalar.bits)];
      if (id != kNone) return id;
    }
    const uint32_t entry = find_hashed(scalar);
    return entry != kNone ? entries_[entry].id : kNone;
  }
  uint32_t size() const { return size_; }

 private:
  // The table of small numbers has room for so many, and grows with the values met.
  static constexpr uint64_t kRoomPerValue = 4, kRoom = 64;

  struct Hashed {
    Scalar scalar;
    ValueId id;
  };

  ValueId hashed(const Scalar& scalar) {
    if (table_.size() < 2 * (entries_.size() + 1)) grow();
    uint32_t& entry = table_[slot_of(scalar)];
    if (entry == kNone) {
      entry = static_cast<uint32_t>(entries_.size());
      entries_.push_back({scalar, size_++});
    }
    return entries_[entry].id;
  }
  uint32_t find_hashed(const Scalar& scalar) const {
    return entries_.empty() ? kNone : table_[slot_of(scalar)];
  }
  // Where it is in the table, or would be.
  size_t slot_of(const Scalar& scalar) const {
    uint64_t at = static_cast<uint64_t>(scalar.bits) + (uint64_t{scalar.kind} << 56);
    at = (at ^ at >> 32) * 0x9e3779b97f4a7c15;
    for (at >>= shift_; table_[at] != kNone; at = (at + 1) & (table_.size() - 1)) {
      if (entries_[table_[at]].scalar == scalar) break;
    }
    return at;
  }
  void grow() {
    const size_t size = std::bit_ceil(4 * entries_.size() + 16);
    shift_ = 64 - std::countr_zero(size);
    table_.assign(size, kNone);
    for (uint32_t i = 0; i < entries_.size(); ++i) table_[slot_of(entries_[i].scalar)] = i;
  }

  uint32_t size_ = 0;
  ValueId null_ = kNone;
  uint8_t dense_kind_ = 0;
  std::vector<ValueId> dense_;
  std::vector<Hashed> entries_;
  std::vector<uint32_t> table_;
  int shift_ = 60;
};

}  // namespace assay::linearizable
