#include "results/report/digest.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

// Counts by symbol, in order of first appearance.
class Tally {
 public:
  Outcomes& operator[](Symbol symbol) {
    const auto [at, added] = index_.try_emplace(symbol, entries_.size());
    if (added) entries_.emplace_back(symbol, Outcomes{});
    return entries_[at->second].second;
  }
  std::vector<std::pair<Symbol, Outcomes>> take() { return std::move(entries_); }

 private:
  std::unordered_map<Symbol, size_t> index_;
  std::vector<std::pair<Symbol, Outcomes>> entries_;
};

void count_operations(const History& history, Digest& digest) {
  Tally by_f;
  Tally by_node;
  for (const std::string& node : history.header().nodes) by_node[Symbol(node)];
  std::unordered_map<Symbol, int64_t> errors;
  std::unordered_set<Symbol> keys;
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation operation = history[id];
    const OpType type = operation.type();
    digest.all.count(type);
    by_f[operation.f()].count(type);
    if (!operation.node().empty()) by_node[operation.node()].count(type);
    if (!operation.key().empty()) keys.insert(operation.key());
    if (!operation.error_class().empty()) ++errors[operation.error_class()];
    if (type == OpType::kInfo && operation.f() != f::read && operation.f() != f::watch)
      ++digest.unknown_updates;
  }
  digest.by_f = by_f.take();
  digest.by_node = by_node.take();
  digest.keys = static_cast<int64_t>(keys.size());
  digest.by_error.assign(errors.begin(), errors.end());
  std::sort(digest.by_error.begin(), digest.by_error.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first.text() < b.first.text();
  });
}

std::vector<FaultCount> count_faults(const History& history, const Digest& digest) {
  std::vector<FaultCount> counts;
  const auto of_kind = [&](const std::string& kind) -> FaultCount& {
    for (FaultCount& count : counts) {
      if (count.kind == kind) return count;
    }
    counts.push_back({kind});
    return counts.back();
  };
  for (const std::string& kind : history.header().faults) of_kind(kind);
  for (const FaultInterval& interval : digest.intervals) {
    FaultCount& count = of_kind(interval.kind);
    ++count.started;
    count.installed += interval.installed;
    count.bit += interval.bit;
    count.healed += interval.healed;
  }
  return counts;
}

int64_t count_elections(const std::vector<StatusSample>& samples) {
  std::set<std::pair<int64_t, Symbol>> leaders;
  for (const StatusSample& sample : samples) {
    if (sample.role == "leader") leaders.emplace(sample.term, sample.node);
  }
  return leaders.empty() ? 0 : static_cast<int64_t>(leaders.size()) - 1;
}

}  // namespace

Digest digest_of(const History& history) {
  Digest digest;
  digest.timed = has_times(history);
  digest.end = history.end_time();
  count_operations(history, digest);
  for (const auto& [node, outcomes] : digest.by_node) digest.nodes.push_back(node);
  digest.intervals = fault_intervals(history);
  digest.samples = status_samples(history);
  digest.clocks = clock_offsets(history);
  digest.faults = count_faults(history, digest);
  digest.elections = count_elections(digest.samples);
  return digest;
}

std::string outcomes_text(const Outcomes& outcomes) {
  return grouped(outcomes.ok) + " ok, " + grouped(outcomes.fail) + " fail, " +
         grouped(outcomes.info) + " info";
}

std::string fault_text(const FaultCount& count) {
  std::string out = count.kind + " " + (count.started == 0 ? "none" : grouped(count.started));
  if (count.started == 0) return out;
  if (count.bit == count.started) return out + " (all bit)";
  return out + " (" + grouped(count.bit) + " bit)";
}

}  // namespace assay::report
