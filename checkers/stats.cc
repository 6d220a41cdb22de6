// stats: how many operations of each kind ended how, how long they took, by kind and by node, and
// with which errors. It judges nothing; without client operations there is nothing to tell.
#include <algorithm>
#include <map>
#include <string>

#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

struct Outcomes {
  int64_t ok = 0;
  int64_t fail = 0;
  int64_t info = 0;
  std::vector<int64_t> latencies;  // ns, of those that are ok

  void add(const Operation& operation) {
    switch (operation.type()) {
      case OpType::kOk:
        ++ok;
        if (operation.invoke_time().count >= 0) {
          latencies.push_back((operation.return_time() - operation.invoke_time()).count);
        }
        break;
      case OpType::kFail:
        ++fail;
        break;
      default:
        ++info;
    }
  }
};

std::string quantile(std::vector<int64_t>& sorted, size_t percent) {
  return format_duration(Nanos{sorted[(sorted.size() - 1) * percent / 100]});
}

std::string latency_text(std::vector<int64_t>& latencies) {
  std::sort(latencies.begin(), latencies.end());
  return "median " + quantile(latencies, 50) + ", 95 % " + quantile(latencies, 95) + ", 99 % " +
         quantile(latencies, 99) + ", most " + quantile(latencies, 100);
}

// By text, so that the order of the report does not depend on that of interning.
using Table = std::map<std::string, Outcomes>;

void put_latencies(Table& table, const std::string& what, Verdict& verdict) {
  for (auto& [name, outcomes] : table) {
    if (outcomes.latencies.empty()) continue;
    verdict.facts.emplace_back(what + name, latency_text(outcomes.latencies));
  }
}

class Stats : public Checker {
 public:
  std::string_view name() const override { return "stats"; }
  std::string_view summary() const override {
    return "counts and latencies by kind of operation and by node, error classes";
  }
  bool applies(const History& history) const override { return history.size() > 0; }

  Verdict check(const History& history, const Budget&) const override {
    Verdict verdict{.name = "stats"};
    if (history.size() == 0) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "there is no client operation to count";
      return verdict;
    }
    Table by_f, by_node;
    std::map<std::string, int64_t> errors;
    int64_t ok = 0;
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation operation = history[id];
      by_f[std::string(operation.f().text())].add(operation);
      if (!operation.node().empty()) by_node[std::string(operation.node().text())].add(operation);
      if (!operation.error_class().empty()) ++errors[std::string(operation.error_class().text())];
      ok += operation.type() == OpType::kOk;
    }
    verdict.reason = counted(history.size(), "operation", "operations") + ", " +
                     std::to_string(ok) + " of them ok";
    for (const auto& [name, outcomes] : by_f) {
      verdict.counts.emplace_back(name + " ok", outcomes.ok);
      verdict.counts.emplace_back(name + " fail", outcomes.fail);
      verdict.counts.emplace_back(name + " info", outcomes.info);
    }
    for (const auto& [name, outcomes] : by_node) {
      verdict.counts.emplace_back(name + " ok", outcomes.ok);
    }
    for (auto& [name, outcomes] : by_f) {
      if (outcomes.latencies.empty()) continue;
      std::sort(outcomes.latencies.begin(), outcomes.latencies.end());
      verdict.counts.emplace_back(name + " median us", outcomes.latencies[(outcomes.latencies.size() - 1) / 2] / 1000);
    }
    for (const auto& [name, count] : errors) verdict.counts.emplace_back("error " + name, count);
    put_latencies(by_f, "latency of ", verdict);
    put_latencies(by_node, "latency on ", verdict);
    return verdict;
  }
};

}  // namespace

const Checker& stats_checker() {
  static const Stats checker;
  return checker;
}

}  // namespace assay
