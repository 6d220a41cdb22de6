#include "results/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace assay::report {

void LatencyHistogram::add(Nanos duration) {
  const double us = std::max(1.0, static_cast<double>(duration.count) / 1e3);
  const int bin = std::min(kBins - 1, static_cast<int>(std::log10(us) * kBinsPerDecade));
  ++bins_[static_cast<size_t>(bin)];
  ++count_;
  max_ = std::max(max_, duration);
}

double LatencyHistogram::bin_seconds(int i) {
  return std::pow(10.0, static_cast<double>(i) / kBinsPerDecade) * 1e-6;
}

Nanos LatencyHistogram::quantile(double q) const {
  if (count_ == 0) return {};
  const auto wanted = static_cast<int64_t>(std::ceil(q * static_cast<double>(count_)));
  int64_t seen = 0;
  for (int i = 0; i < kBins; ++i) {
    seen += bin(i);
    if (seen >= wanted) {
      return std::min(max_, Nanos{static_cast<int64_t>(bin_seconds(i + 1) * 1e9)});
    }
  }
  return max_;
}

Timeline timeline_of(const History& history, const Digest& digest, size_t columns) {
  Timeline timeline;
  timeline.end = std::max(digest.end, Nanos{1});
  timeline.all.resize(columns);
  timeline.latency.resize(columns);
  timeline.by_node.assign(digest.nodes.size(), std::vector<Outcomes>(columns));
  std::unordered_map<Symbol, size_t> nodes;
  for (Symbol node : digest.nodes) nodes.emplace(node, nodes.size());
  std::unordered_map<Symbol, size_t> fs;
  for (const auto& [f, outcomes] : digest.by_f) {
    fs.emplace(f, fs.size());
    timeline.by_f.emplace_back(f, LatencyHistogram());
  }
  if (!digest.timed) return timeline;
  const double scale = static_cast<double>(columns) / static_cast<double>(timeline.end.count);
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation operation = history[id];
    const Nanos invoked = operation.invoke_time();
    const Nanos ended =
        operation.return_position() == kOpen ? timeline.end : operation.return_time();
    const double at = static_cast<double>(std::max(Nanos{0}, ended).count) * scale;
    const size_t column = std::min(columns - 1, static_cast<size_t>(at));
    const OpType type = operation.type();
    timeline.all[column].count(type);
    if (const auto node = nodes.find(operation.node()); node != nodes.end()) {
      timeline.by_node[node->second][column].count(type);
    }
    if (type == OpType::kOk) {
      timeline.latency[column].add(ended - invoked);
      timeline.by_f[fs.at(operation.f())].second.add(ended - invoked);
    }
  }
  return timeline;
}

}  // namespace assay::report
