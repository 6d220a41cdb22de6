// Judging one key: which way decides it, and what is kept of a decision.
//
// Where no value is produced twice, unique.h decides without a search, reading the history once and
// keeping nothing of it but a few numbers per value; where failed cas leave that open, windows of the
// order found are searched (mending.h). Else the search does (search.h).
#pragma once

#include <cstdint>
#include <vector>

#include "checkers/linearizable/key_history.h"
#include "checkers/linearizable/search.h"

namespace assay::linearizable {

struct JudgeOptions {
  SearchOptions search;
  bool unique = true;       // decide without a search where that is possible; for the tests
  bool want_order = false;  // of a valid key
};

struct KeyResult {
  SearchResult found;  // its event counts those of the prepared problem
  size_t events = 0;
  size_t unknown = 0;     // optional operations
  bool observed = false;  // something was read or compared
  // Invalid without a search: positions in the history of events of operations on the values that
  // show it (UniqueResult::suspects).
  std::vector<Position> suspects;
  std::vector<uint32_t> order;  // wanted, of a valid key: positions in KeyHistory::ops
};

KeyResult judge_key(const History& history, const KeyGroup& group, const JudgeOptions& options);
// The same from operations at hand.
KeyResult judge_key(const KeyHistory& key, const JudgeOptions& options);

}  // namespace assay::linearizable
