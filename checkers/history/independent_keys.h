// Jepsen's independent keys: an operation on one of many keys has the value [key value]. In memory
// that is a tuple of its own kind; in history.edn most versions print it as a plain vector, as the
// [old new] of a cas is. So, of a file whose tuples carry no tag:
//
//   - An invocation tells for keys where its value is [k x] with a scalar k and what cannot be an
//     argument without a key: a read of [k nil], a cas of [k [old new]], a txn of [k [[…]…]].
//   - It tells against them where its value is anything but such a pair, or it has a :key.
//   - A write of [k v] or a cas of [a b] tells nothing and waits for the next that does. Where none
//     comes the values stay as they are, with a warning.
// Once they are keys every client operation must have one; a completion may be nil. Private to the
// readers of histories.
#pragma once

#include <optional>
#include <vector>

#include "checkers/history/history_collector.h"

namespace assay {

// The key that a value names, as a history has it: texts and numbers without quotes.
Symbol key_named(const Value& key);

class IndependentKeys {
 public:
  // asked: whether values are [key value]; nothing: it shows.
  IndependentKeys(HistoryCollector& collector, std::optional<bool> asked)
      : collector_(collector), decided_(asked), was_asked_(asked.has_value()) {}

  // In the order of the file. May keep the operation until it is known what its value is.
  Result<void> add(Op op, Place place);
  // At the end of the file.
  Result<void> finish();

 private:
  Result<void> decide(bool keyed);
  Result<void> pass(Op op, Place place);
  Error misfit(const Op& op, Place place) const;

  HistoryCollector& collector_;
  std::optional<bool> decided_;
  bool was_asked_;
  size_t decided_at_ = 0;  // line
  struct Waiting {
    Op op;
    Place place;
  };
  std::vector<Waiting> waiting_;
  uint64_t waiting_bytes_ = 0;
};

}  // namespace assay
