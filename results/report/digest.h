// Digest: what every report needs of a History, counted once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/clock_offsets.h"
#include "checkers/history/history.h"
#include "checkers/history/vocabulary.h"

namespace assay::report {

struct Outcomes {
  int64_t ok = 0;
  int64_t fail = 0;
  int64_t info = 0;

  int64_t total() const { return ok + fail + info; }
  void count(OpType type) { ++(type == OpType::kOk ? ok : type == OpType::kFail ? fail : info); }
};

// How often a fault of one kind was started, was there, was seen to matter, and went away.
struct FaultCount {
  std::string kind;
  int64_t started = 0;
  int64_t installed = 0;
  int64_t bit = 0;
  int64_t healed = 0;
};

struct Digest {
  Outcomes all;
  std::vector<std::pair<Symbol, Outcomes>> by_f;     // in order of first appearance
  std::vector<std::pair<Symbol, Outcomes>> by_node;  // the header's order, then of appearance
  std::vector<std::pair<Symbol, int64_t>> by_error;  // error classes, most frequent first
  int64_t keys = 0;
  int64_t unknown_updates = 0;           // info, and not a read
  std::vector<Symbol> nodes;             // of the header, else of the operations
  std::vector<FaultInterval> intervals;  // in order of their asking
  std::vector<FaultCount> faults;        // kinds claimed, then others
  std::vector<StatusSample> samples;     // in order of time
  std::vector<ClockOffset> clocks;       // likewise; empty: no fault of clocks
  int64_t elections = 0;                 // leaders seen, less the first
  bool timed = false;                    // the lines carry times
  Nanos end;
};

Digest digest_of(const History& history);

// "20,412 ok, 312 fail, 57 info"
std::string outcomes_text(const Outcomes& outcomes);
// "partition 6 (5 bit)", "pause 5 (all bit)", "kill none"
std::string fault_text(const FaultCount& count);

}  // namespace assay::report
