// Timeline: the run cut into columns of equal time, for plots: how many operations ended in each,
// how, on which node, and how long they took. One pass over the history; the size does not depend
// on it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "checkers/history/history.h"
#include "results/report/digest.h"

namespace assay::report {

// Durations in bins of equal ratio: 20 per factor of ten, from 1 us to 1,000 s.
class LatencyHistogram {
 public:
  static constexpr int kBinsPerDecade = 20;
  static constexpr int kDecades = 9;
  static constexpr int kBins = kBinsPerDecade * kDecades;

  void add(Nanos duration);
  int64_t count() const { return count_; }
  int64_t bin(int i) const { return bins_[static_cast<size_t>(i)]; }
  // The upper end of the bin that holds the quantile (within 12 % of it); 0 when there is nothing.
  Nanos quantile(double q) const;
  Nanos max() const { return max_; }
  static double bin_seconds(int i);  // lower end of a bin

 private:
  std::array<uint32_t, kBins> bins_{};
  int64_t count_ = 0;
  Nanos max_{0};
};

struct Timeline {
  Nanos end;                                   // of the run; columns share [0, end)
  std::vector<Outcomes> all;                   // per column, by time of completion
  std::vector<std::vector<Outcomes>> by_node;  // in the order of Digest::nodes, per column
  std::vector<LatencyHistogram> latency;       // per column, of ok operations
  std::vector<std::pair<Symbol, LatencyHistogram>> by_f;  // of ok operations, order of Digest::by_f

  double column_seconds() const { return to_seconds(end) / static_cast<double>(all.size()); }
};

// A history without times gives one without operations.
Timeline timeline_of(const History& history, const Digest& digest, size_t columns);

}  // namespace assay::report
