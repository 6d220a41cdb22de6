// reg-sim: the workload of the benchmarks. One register, c slots; each step draws a slot; an
// operation takes three steps (invoke, take effect, return); a third each are reads, writes and
// cas. A failed cas is an observation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "checkers/history/rng.h"
#include "checkers/linearizable/random_histories.h"

namespace assay::linearizable {

struct RegSim {
  int operations = 1000;
  int slots = 10;
  bool unique = false;     // (b) unique values, cas from the current value; else (a) five values
  int info_per_mille = 0;  // (c) unknown outcomes, of which half take effect
  bool bad = false;        // one read at 90 % gets a value that was provably overwritten before
  uint64_t seed = 1;
};

namespace reg_sim_detail {

inline constexpr int64_t kRare = 5;  // written once, at 80 % of a bad history of five values

// Gives a read from 90 % on a value that cannot have been current: some operation saw another one
// after every operation that makes it had returned, and before the read was invoked.
inline bool spoil_read_with(KeyHistory& history, int64_t value) {
  auto& ops = history.ops;
  for (size_t r = ops.size() * 9 / 10; r < ops.size(); ++r) {
    if (ops[r].f != Call::kRead || ops[r].type != OpType::kOk) continue;
    Position last = 0;  // return of the last operation that makes it
    for (const KeyOp& op : ops) {
      if (!op.may_produce() || op.produced() != number(value) || op.call > ops[r].ret) continue;
      last = std::max(last, op.type == OpType::kInfo ? kOpen : op.ret);
    }
    for (const KeyOp& op : ops) {
      const Scalar seen = op.f == Call::kCas ? op.next : op.value;
      if (op.type != OpType::kOk || op.call < last || op.ret > ops[r].call) continue;
      if (last == 0 || seen == number(value)) continue;
      ops[r].value = number(value);
      return true;
    }
  }
  return false;
}
inline void spoil_read(KeyHistory& history, bool unique) {
  if (unique) {
    // What was written long before, once.
    for (size_t i = history.ops.size() / 2; i < history.ops.size(); ++i) {
      const KeyOp& op = history.ops[i];
      if (op.f == Call::kWrite && op.type == OpType::kOk &&
          spoil_read_with(history, op.value.bits))
        return;
    }
  }
  spoil_read_with(history, kRare);
}

}  // namespace reg_sim_detail

inline KeyHistory reg_sim(const RegSim& options) {
  enum class Stage : uint8_t { kIdle, kInvoked, kDone };
  struct Slot {
    Stage stage = Stage::kIdle;
    size_t op = 0;
  };
  Rng rng(options.seed);
  KeyHistory history;
  history.conventions.initial = number(0);
  Scalar state = history.conventions.initial;
  int64_t fresh = 0;
  std::vector<Slot> slots(static_cast<size_t>(options.slots));
  Position position = 0;
  auto new_value = [&] {
    return options.unique ? number(++fresh) : number(static_cast<int64_t>(rng.below(5)));
  };
  auto invoke = [&](Slot& slot) {
    KeyOp op;
    op.id = static_cast<uint32_t>(history.ops.size());
    op.call = position++;
    op.f = static_cast<Call>(rng.below(3));
    const bool rare =
        options.bad && !options.unique && history.ops.size() == static_cast<size_t>(options.operations) * 8 / 10;
    if (rare) op.f = Call::kWrite;
    if (op.f == Call::kWrite) op.value = rare ? number(reg_sim_detail::kRare) : new_value();
    if (op.f == Call::kCas) {
      op.value = options.unique ? state : number(static_cast<int64_t>(rng.below(5)));
      op.next = new_value();
    }
    slot = {Stage::kInvoked, history.ops.size()};
    history.ops.push_back(op);
  };
  auto take_effect = [&](KeyOp& op) {
    op.type = OpType::kOk;
    if (op.f == Call::kRead) {
      op.value = state;
    } else if (op.f == Call::kWrite) {
      state = op.value;
    } else if (op.value == state) {
      state = op.next;
    } else {
      op.type = OpType::kFail;
      op.mismatch = true;
    }
  };
  const auto total = static_cast<size_t>(options.operations);
  for (size_t busy = 0; history.ops.size() < total || busy > 0;) {
    Slot& slot = slots[rng.below(slots.size())];
    if (slot.stage == Stage::kIdle) {
      if (history.ops.size() == total) continue;
      invoke(slot);
      ++busy;
      continue;
    }
    KeyOp& op = history.ops[slot.op];
    if (slot.stage == Stage::kInvoked) {
      const bool unknown = static_cast<int>(rng.below(1000)) < options.info_per_mille;
      if (!unknown || rng.chance(1, 2)) take_effect(op);
      slot.stage = Stage::kDone;
      if (unknown) {
        op.type = OpType::kInfo;
        slot.stage = Stage::kIdle;
        --busy;
      }
      continue;
    }
    op.ret = position++;
    slot.stage = Stage::kIdle;
    --busy;
  }
  if (options.bad) reg_sim_detail::spoil_read(history, options.unique);
  return history;
}

}  // namespace assay::linearizable
