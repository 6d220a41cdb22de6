// Keywise: a history in which operations on many keys are told key by key, so that each key is a
// register: a list is a read of each key under its prefix (null where it lacks one), a txn a write of
// each of its keys. What holds of the whole holds of every key, so an anomaly of a key is one; that a
// list or a txn is of one instant is not judged by it. Watches and compactions, which have no part in
// what keys hold, are left out.
#pragma once

#include <vector>

#include "checkers/checker.h"

namespace assay::linearizable {

struct Keywise {
  History history;
  std::vector<uint32_t> origin;  // of each of its operations: the id in the history it is told of
  bool on_many_keys = false;     // there are lists or txns
  size_t lists_without_absence = 0;
};

// Whether it has lists or txns that can be told so, or watches or compactions, and its header says that keys are registers: what
// a txn of a foreign history means nobody knows.
bool can_be_keywise(const History& history);
Keywise keywise(const History& history);
// The verdict, found of the keywise history, in terms of that which it was told of.
void in_terms_of_origin(const Keywise& told, Verdict& verdict);

}  // namespace assay::linearizable
