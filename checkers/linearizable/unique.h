// Unique: one key on which no value is produced twice (nor the initial one once), decided without
// a search, in a few linear passes.
//
// Without failed cas this is exact (Gibbons and Korach, Testing shared memories, 1997, extended
// from writes to chains of cas): a value is current during one contiguous stretch, so that the
// operations on it, and on the values that cas made of it, are one *block*, in a known order. A
// block with all its calls before one moment and all its returns after it (*backward*) fits at that
// moment; any other one (*forward*) is current from its first return to its last call, its zone. An
// order exists if and only if each block is in order by itself, no two zones overlap, and no
// backward block lies inside a zone.
//
// A failed cas F(x) says that the value was not x at some point of its interval: x came after its
// call, or went before its return. Often one of the two is certain or impossible, which decides it
// or narrows the interval of one operation; what is left is tried on one order. Where some of
// it fails there, this does not decide (the problem is NP-complete), and the order must be mended
// by a search (mending.h).
#pragma once

#include <cstdint>
#include <vector>

#include "checkers/linearizable/interner.h"
#include "checkers/linearizable/key_history.h"

namespace assay::linearizable {

// A position in time: positions of the history and, before them, the call and return of the
// initial value's virtual producer.
using Tick = uint32_t;
inline constexpr Tick kInitialCall = 0, kInitialReturn = 1, kFirstTick = 2, kNever32 = UINT32_MAX;

struct UniqueResult {
  enum class Answer : uint8_t { kNotUnique, kValid, kInvalid, kOpen };
  Answer answer = Answer::kNotUnique;
  // Invalid: history positions of events of operations that are impossible together, where a cas
  // among them whose expected value none of them makes, though somebody does, is taken for a write.
  std::vector<Position> suspects;
  // Failed cas that observed: all of them; those that fit always; those that narrowed an interval
  // or could not be; those left to the order tried.
  uint64_t mismatches = 0, always = 0, forced = 0, left = 0;
};

class Unique {
 public:
  explicit Unique(const Conventions& conventions, size_t operations = 0);

  // Operations in order of invocation. False: a value is produced a second time; this is not for
  // us, and nothing more may be added.
  bool add(const KeyOp& op);

  // Once. Afterwards, where an order was wanted, of a valid key place() may be asked.
  UniqueResult judge(bool want_order = false);

  // Where an operation of a valid key comes in the order found: by rank, then producers first, then
  // by invocation. False: it is not in the order (it never happened, or says nothing).
  bool place(const KeyOp& op, uint32_t& rank, bool& first) const;

  // Of a long key its ticks are too many for the positions of a problem.
  Tick last() const { return last_tick_; }

 private:
  friend class Mending;
  static constexpr ValueId kNoValue = Interner::kNone;

  struct Item {
    Tick call = kNever32;  // of its producer; never: nobody produces it
    Tick ret = kNever32;   // … never: it is optional
    ValueId from = kNoValue;
    Tick read_return = kNever32;  // the first …
    Tick read_call = 0;           // … and the last of its reads
  };
  struct Mismatch {
    ValueId value;
    Tick call;
    Tick ret;
  };
  // Of the levels of its block: the last call up to the value's producer, and up to its reads; the
  // first return from its producer on.
  struct Bounds {
    Tick before = 0;
    Tick until = 0;
    Tick late = 0;
  };
  // Of the block that begins with a value.
  struct Zone {
    Tick first_return = kNever32;
    Tick last_call = 0;
  };

  bool produce(const Scalar& value, ValueId from, const KeyOp& op);
  ValueId value_id(const Scalar& value);

  bool link();
  bool check_blocks();
  bool check_block(ValueId head);
  template <typename Fn>
  bool sweep(const Fn& fn) const;  // over the blocks as their zones begin, until fn is false
  bool check_zones(bool want_order);
  void begin_order();
  void append(ValueId head);  // to the order
  bool narrow();
  bool narrow_once(std::vector<ValueId>& changed);
  struct Insertion {
    uint32_t after;  // rank
    ValueId value;
    Tick point;
  };
  void insert(const std::vector<Insertion>& insertions);  // into the order, in its order
  bool explains(const Mismatch& m) const;
  bool is_effective(ValueId v) const { return v < effective_.size() && effective_[v]; }

  // Records why it is invalid, and is false.
  struct Clue {
    Tick tick;
    ValueId value;
  };
  void suspect(Tick tick);
  bool fail(std::vector<Clue> clues);
  bool fail_zones(ValueId a, ValueId b);
  Clue clue(ValueId head, Tick tick) const;
  void suspect_producer(ValueId v);
  void suspect_path(ValueId from, ValueId to);

  const Conventions conventions_;
  Interner values_;
  std::vector<Item> items_;  // by value
  std::vector<Mismatch> mismatches_;
  Tick first_tick_ = kNever32;
  Tick last_tick_ = kFirstTick;

  std::vector<uint8_t> effective_;  // by value
  size_t effective_count_ = 0;
  std::vector<ValueId> next_;      // by value: what an effective cas made of it
  std::vector<ValueId> heads_;     // the first values of blocks
  std::vector<Zone> zones_;        // by value, of the heads
  std::vector<Bounds> bounds_;     // by value; only where there are mismatches
  std::vector<ValueId> order_;     // the effective values in a legal order …
  std::vector<uint32_t> ranks_;    // … by value, where in it …
  std::vector<Tick> points_;       // … and the tick just after which each becomes current
  std::vector<ValueId> named_unseen_;  // not effective, named by failed cas
  Tick now_ = 0;                   // … the earliest point of the next one
  std::vector<uint32_t> failing_;  // the failed cas that it does not explain
  UniqueResult result_;
};

}  // namespace assay::linearizable
