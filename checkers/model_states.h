// ModelStates: the states that one search has met, each a small number, so that configurations are
// small and equal states are found by comparing numbers. Behind it, the states as they are
// (StatesOf). One owner; not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "checkers/history/value.h"

namespace assay {

struct ModelOp;
struct ModelPart;
using StateId = uint32_t;
inline constexpr StateId kNoState = UINT32_MAX;

// --- A hash for most types that states are made of.
inline uint64_t mix_hash(uint64_t h) {
  h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15;
  return h ^ (h >> 29);
}
template <typename T>
uint64_t state_hash(const T& state) {
  if constexpr (requires { state.hash(); }) {
    return state.hash();
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::hash<std::string_view>()(state);
  } else if constexpr (std::ranges::range<T>) {
    uint64_t h = 0;
    for (const auto& item : state) h = mix_hash(h ^ state_hash(item)) + 1;
    return h;
  } else if constexpr (requires { state.first, state.second; }) {
    return mix_hash(state_hash(state.first)) ^ state_hash(state.second);
  } else {
    return mix_hash(std::hash<T>()(state));
  }
}

// What a state holds outside itself, about, in bytes.
template <typename T>
size_t state_heap_bytes(const T& state) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return 0;
  } else if constexpr (requires { state.capacity(); }) {
    return state.capacity() * sizeof(*state.data());
  } else if constexpr (std::ranges::sized_range<T>) {
    return state.size() * (sizeof(*state.begin()) + 32);
  } else {
    return 32;
  }
}

class ModelStates {
 public:
  virtual ~ModelStates() = default;
  virtual StateId initial(const ModelPart& part) = 0;
  virtual StateId step(StateId state, const ModelOp& op) = 0;  // kNoState: it does not fit
  virtual bool lost(StateId state, const ModelOp& observer) const = 0;
  virtual std::string describe(StateId state) const = 0;
  virtual size_t size() const = 0;
  virtual size_t bytes() const = 0;  // that they take, about
  // Forgets all others. `kept` is in ascending order; the i-th of them becomes i.
  virtual void keep(const std::vector<StateId>& kept) = 0;
};

template <typename Model, typename State>
class StatesOf : public ModelStates {
 public:
  explicit StatesOf(const Model& model) : model_(model) {}

  StateId initial(const ModelPart& part) override { return id_of(model_.initial(part)); }
  StateId step(StateId state, const ModelOp& op) override {
    std::optional<State> next = model_.step(states_[state], op);
    if (!next) return kNoState;
    return *next == states_[state] ? state : id_of(std::move(*next));
  }
  bool lost(StateId state, const ModelOp& observer) const override {
    return model_.lost(states_[state], observer);
  }
  std::string describe(StateId state) const override { return model_.describe(states_[state]); }
  size_t size() const override { return states_.size(); }
  size_t bytes() const override {
    return heap_bytes_ + states_.size() * (sizeof(State) + sizeof(uint64_t) + 8);
  }
  void keep(const std::vector<StateId>& kept) override {
    heap_bytes_ = 0;
    for (StateId i = 0; i < kept.size(); ++i) {
      if (kept[i] != i) states_[i] = std::move(states_[kept[i]]);
      hashes_[i] = hashes_[kept[i]];
      heap_bytes_ += state_heap_bytes(states_[i]);
    }
    states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(kept.size()), states_.end());
    hashes_.resize(kept.size());
    rebuild();
  }

 private:
  StateId id_of(State state) {
    const uint64_t hash = mix_hash(state_hash(state));
    if (states_.size() * 2 >= table_.size()) rebuild();
    const size_t mask = table_.size() - 1;
    size_t at = hash & mask;
    for (; table_[at] != kNoState; at = (at + 1) & mask) {
      if (hashes_[table_[at]] == hash && states_[table_[at]] == state) return table_[at];
    }
    const auto id = static_cast<StateId>(states_.size());
    table_[at] = id;
    heap_bytes_ += state_heap_bytes(state);
    states_.push_back(std::move(state));
    hashes_.push_back(hash);
    return id;
  }
  void rebuild() {
    table_.assign(std::bit_ceil(states_.size() * 4 + 16), kNoState);
    for (StateId id = 0; id < states_.size(); ++id) {
      size_t at = hashes_[id] & (table_.size() - 1);
      while (table_[at] != kNoState) at = (at + 1) & (table_.size() - 1);
      table_[at] = id;
    }
  }

  const Model& model_;
  std::vector<State> states_;
  std::vector<uint64_t> hashes_;
  std::vector<StateId> table_;  // open addressing
  size_t heap_bytes_ = 0;
};

}  // namespace assay
