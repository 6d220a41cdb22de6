// Made-up runs for the tests of reports: a plausible five-node store under partitions, pauses and
// kills, with leaders, elections, status samples, logs; and the verdicts that go with them.
// Defined in sample_run_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkers/checker.h"
#include "checkers/history/history.h"
#include "checkers/history/rng.h"
#include "results/run_info.h"

namespace assay::sample {

struct Options {
  uint64_t seed = 1;
  int nodes = 5;
  int processes = 20;
  int64_t operations = 20'000;  // about
  Nanos length = seconds(60);
  bool faults = true;
  bool stale_read = false;  // a read on a cut-off node that misses an acknowledged write
};

struct SampleRun {
  History history;
  Verdict verdict;
  RunInfo info;
};

SampleRun valid(const Options& options = {});
SampleRun invalid(Options options = {});  // a stale read of k7, three operations
SampleRun vacuous();                      // nearly nothing succeeded
SampleRun unknown();                      // the budget was spent
SampleRun blocked();                      // no progress after the heal
SampleRun empty();                        // a header alone
SampleRun foreign();                      // another's history: no times, no nodes, no header
SampleRun failed();                       // the harness gave up (255)

}  // namespace assay::sample
