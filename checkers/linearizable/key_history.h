// KeyHistory: what was recorded about one key, before anything is concluded from it.
//
// Linearizability is compositional: each key is one register and is judged apart.
#pragma once

#include <cstdint>
#include <vector>

#include "checkers/history/history.h"

namespace assay::linearizable {

enum class Call : uint8_t { kRead, kWrite, kCas };

// One client operation on the key. A delete is a write of null.
struct KeyOp {
  Call f = Call::kRead;
  OpType type = OpType::kInfo;
  bool mismatch = false;  // a failed cas: it failed because the values (or tokens) differed
  bool guarded = false;   // a cas that compared a token, not the value
  uint32_t id = 0;        // of the Operation in the history
  Position call = 0;
  Position ret = kOpen;
  Scalar value;  // read: what it returned; write: what it writes; cas: what it expects
  Scalar next;   // cas: what it writes

  // A cas from a value to itself only reads.
  bool is_read() const { return f == Call::kRead || (f == Call::kCas && value == next); }
  // What it makes, of one that may have happened.
  bool may_produce() const { return f != Call::kRead && type != OpType::kFail; }
  const Scalar& produced() const { return f == Call::kCas ? next : value; }
};

// How a history is to be read; `assay check` prints it.
struct Conventions {
  Scalar initial;
  bool failed_cas_observes = true;
  bool null_read_is_value = true;
};

struct KeyHistory {
  Symbol key;
  Conventions conventions;
  std::vector<KeyOp> ops;  // in order of invocation
};

// The ids of the operations of each key, keys with most operations first (equal: in order of
// first appearance).
struct KeyGroup {
  Symbol key;
  std::vector<uint32_t> ids;
};
std::vector<KeyGroup> group_by_key(const History& history);

// Which reads are in it: those that are judged as linearizable, which are none where the target
// does not claim so of them (unclaimed_reads.h); or all.
enum class Reads : uint8_t { kJudged, kAll };

// Reads one key out of the history. Its operations must be ones that can_judge() accepts.
KeyHistory key_history(const History& history, const KeyGroup& group, Reads reads = Reads::kJudged);

// How the header says that the key is to be read.
Conventions conventions_of(const History& history, const KeyGroup& group);
// Whether reads are judged as linearizable.
bool judges_reads(const History& history);
KeyOp key_op(const Operation& operation);

// An input error when there is an operation that a register does not have, or a claim of reads that
// is not known.
Result<void> can_judge(const History& history);

}  // namespace assay::linearizable
