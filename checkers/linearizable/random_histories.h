// Random histories of one register, for tests and benchmarks only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkers/history/rng.h"
#include "checkers/linearizable/key_history.h"

namespace assay::linearizable {

inline Scalar number(int64_t n) { return {.kind = 2, .bits = n}; }

struct RandomOptions {
  int processes = 4;
  int operations = 10;
  int values = 3;
  bool unique = false;  // every write and cas writes a new value
  int info_percent = 15;
  int cas_percent = 33;
  int read_percent = 33;
  bool mismatches = true;    // failed cas are observations
  bool null_reads = true;    // an ok read of null is a value
  bool initial_null = true;  // else the first of the values
};

inline RandomOptions draw_options(Rng& rng) {
  RandomOptions o;
  o.processes = 1 + static_cast<int>(rng.below(6));
  o.operations = 3 + static_cast<int>(rng.below(12));
  o.values = 1 + static_cast<int>(rng.below(4));
  o.unique = rng.chance(1, 4);
  constexpr int kInfo[] = {0, 15, 30};
  o.info_percent = kInfo[rng.below(3)];
  o.cas_percent = rng.chance(1, 3) ? 60 : static_cast<int>(rng.below(50));
  o.read_percent = static_cast<int>(rng.below(static_cast<uint64_t>(100 - o.cas_percent)));
  o.mismatches = rng.chance(1, 2);
  o.null_reads = rng.chance(4, 5);
  o.initial_null = rng.chance(3, 4);
  return o;
}

// Builds a history event by event.
class RandomHistory {
 public:
  RandomHistory(const RandomOptions& options, Rng& rng) : options_(options), rng_(rng) {
    history_.conventions.initial = options.initial_null ? Scalar{} : number(0);
    history_.conventions.failed_cas_observes = options.mismatches;
    history_.conventions.null_read_is_value = options.null_reads;
    open_.resize(options.processes);
    effect_.resize(options.processes);
    state_ = history_.conventions.initial;
  }

  // (a) Random events with random values: mostly invalid.
  KeyHistory noise() {
    run([&](KeyOp& op) {
      if (op.f == Call::kRead) op.value = rng_.chance(1, 20) ? any_value() : written_value();
      if (op.f == Call::kCas && rng_.chance(1, 3)) fail(op);
    });
    return std::move(history_);
  }

  // (b) A register: each operation is invoked, takes effect, returns; some never learn whether it
  // did, and it may be late. Valid.
  KeyHistory simulated() {
    simulate_ = true;
    run([&](KeyOp&) {});
    return std::move(history_);
  }

  // Wrong on purpose, perhaps: changes up to three values that were read or compared.
  static void spoil(KeyHistory& history, const RandomOptions& options, Rng& rng) {
    const uint64_t changes = rng.below(4);
    for (uint64_t i = 0; i < changes && !history.ops.empty(); ++i) {
      KeyOp& op = history.ops[rng.below(history.ops.size())];
      if (op.f != Call::kWrite) op.value = number(static_cast<int64_t>(rng.below(options.values)));
    }
  }

 private:
  enum class Effect : uint8_t { kDue, kDone };

  template <typename Complete>
  void run(const Complete& complete) {
    const auto total = static_cast<size_t>(options_.operations);
    while (history_.ops.size() < total || busy_ > 0) {
      const uint64_t p = rng_.below(open_.size());
      if (!late_.empty() && rng_.chance(1, 6)) take_effect_late();
      if (!open_[p]) {
        if (history_.ops.size() < total) invoke(p);
        continue;
      }
      KeyOp& op = history_.ops[*open_[p]];
      if (simulate_ && effect_[p] == Effect::kDue) {
        if (unknown(op)) continue;
        apply(op);
        effect_[p] = Effect::kDone;
        continue;
      }
      if (!simulate_ && unknown(op)) continue;
      op.ret = position_++;
      if (op.type == OpType::kInfo) op.type = OpType::kOk;
      complete(op);
      open_[p].reset();
      --busy_;
    }
  }
  void invoke(uint64_t p) {
    KeyOp op;
    op.id = static_cast<uint32_t>(history_.ops.size());
    op.call = position_++;
    const auto draw = static_cast<int>(rng_.below(100));
    op.f = draw < options_.cas_percent                           ? Call::kCas
           : draw < options_.cas_percent + options_.read_percent ? Call::kRead
                                                                 : Call::kWrite;
    if (op.f == Call::kWrite) op.value = new_value();
    if (op.f == Call::kCas) {
      op.value = options_.unique && simulate_ && rng_.chance(2, 3) ? state_
                 : rng_.chance(1, 4)                               ? any_value()
                                                                   : written_value();
      op.next = new_value();
    }
    open_[p] = history_.ops.size();
    effect_[p] = Effect::kDue;
    history_.ops.push_back(op);
    ++busy_;
  }
  // The process gives up: half of what it began takes effect, some of it later.
  bool unknown(KeyOp& op) {
    if (static_cast<int>(rng_.below(100)) >= options_.info_percent) return false;
    const size_t index = static_cast<size_t>(&op - history_.ops.data());
    if (simulate_ && op.f != Call::kRead && rng_.chance(1, 2)) late_.push_back(index);
    if (rng_.chance(1, 2)) op.ret = position_++;
    for (auto& open : open_) {
      if (open == index) open.reset();
    }
    --busy_;
    return true;
  }
  void take_effect_late() {
    const uint64_t i = rng_.below(late_.size());
    KeyOp copy = history_.ops[late_[i]];
    if (copy.f == Call::kWrite || copy.value == state_) {
      state_ = copy.f == Call::kWrite ? copy.value : copy.next;
    }
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void apply(KeyOp& op) {
    op.type = OpType::kOk;
    if (op.f == Call::kRead) {
      op.value = state_;
    } else if (op.f == Call::kWrite) {
      state_ = op.value;
    } else if (op.value == state_) {
      state_ = op.next;
    } else {
      fail(op);
    }
  }
  void fail(KeyOp& op) {
    op.type = OpType::kFail;
    op.mismatch = true;
  }
  Scalar any_value() {
    const uint64_t range = options_.unique ? static_cast<uint64_t>(fresh_) + 1
                                           : static_cast<uint64_t>(options_.values);
    if (rng_.chance(1, 12)) return Scalar{};
    return number(static_cast<int64_t>(rng_.below(range)));
  }
  // The initial value, or one that some operation would write.
  Scalar written_value() {
    const uint64_t i = rng_.below(history_.ops.size() + 1);
    if (i == history_.ops.size()) return history_.conventions.initial;
    const KeyOp& op = history_.ops[i];
    if (op.f == Call::kRead) return history_.conventions.initial;
    return op.f == Call::kCas ? op.next : op.value;
  }
  Scalar new_value() {
    if (options_.unique) return number(++fresh_);
    if (rng_.chance(1, 20)) return Scalar{};
    return number(static_cast<int64_t>(rng_.below(static_cast<uint64_t>(options_.values))));
  }

  const RandomOptions options_;
  Rng& rng_;
  KeyHistory history_;
  std::vector<std::optional<size_t>> open_;
  std::vector<Effect> effect_;
  std::vector<size_t> late_;
  Scalar state_;
  int64_t fresh_ = 0;
  Position position_ = 0;
  size_t busy_ = 0;
  bool simulate_ = false;
};

}  // namespace assay::linearizable
