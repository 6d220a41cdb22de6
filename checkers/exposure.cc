// exposure: what could have gone wrong and been seen in this run. It judges nothing: its sentences
// say what a valid verdict is worth.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr Nanos kDeposed = seconds(5);  // for so long a former leader is of interest

// When each node was seen to have lost leadership: another one led a later term.
struct Deposed {
  Symbol node;
  Nanos at;
};

// The certain interval of a cut, and the nodes that it left together.
struct CutOff {
  Nanos begin;
  Nanos end;
  std::vector<Symbol> majority;
};

std::vector<CutOff> cuts_of(const HistoryHeader& header, const std::vector<FaultInterval>& faults) {
  std::vector<CutOff> cuts;
  for (const FaultInterval& fault : faults) {
    if (fault.cut.empty() || !fault.installed) continue;
    cuts.push_back(
        {fault.begin, fault.end, connected_majority(header, {fault}, fault.begin, fault.begin)});
  }
  return cuts;
}

struct Elections {
  std::vector<Nanos> changes;  // of leader, after the first
  std::vector<Deposed> deposed;
};

// Without terms, a node takes over when it begins to lead: an old leader that goes on saying so
// does not.
Elections elections_of(const History& history) {
  Elections elections;
  std::optional<StatusSample> leader;
  std::map<Symbol, bool> leads;
  for (const StatusSample& sample : status_samples(history)) {
    const bool led = std::exchange(leads[sample.node], sample.role == "leader");
    if (sample.role != "leader") continue;
    const bool goes_on = sample.term < 0 && (led || (leader && leader->node == sample.node));
    if (leader && (goes_on || (sample.term >= 0 && sample.term <= leader->term))) continue;
    if (leader) {
      elections.changes.push_back(sample.time);
      if (leader->node != sample.node) elections.deposed.push_back({leader->node, sample.time});
    }
    leader = sample;
  }
  return elections;
}

class Exposure : public Checker {
 public:
  std::string_view name() const override { return "exposure"; }
  std::string_view summary() const override {
    return "what could have been caught: reads on nodes that were cut off or deposed, unknown "
           "writes, elections under load";
  }
  bool applies(const History& history) const override { return history.size() > 0; }

  Verdict check(const History& history, const Budget&) const override {
    Verdict verdict{.name = "exposure"};
    const Elections elections = elections_of(history);
    const std::vector<FaultInterval> faults = fault_intervals(history);
    const std::vector<CutOff> cuts = cuts_of(history.header(), faults);
    int64_t cut_off = 0, deposed = 0, unknown = 0;
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation operation = history[id];
      if (operation.f() != f::read) {
        unknown += operation.type() == OpType::kInfo;
      } else if (operation.type() == OpType::kOk && !operation.node().empty()) {
        cut_off += was_cut_off(cuts, operation);
        deposed += was_deposed(elections, operation);
      }
    }
    int64_t under_load = 0;
    for (Nanos at : elections.changes) under_load += operations_around(history, at);
    verdict.counts = {{"reads on nodes cut off", cut_off},
                      {"reads on deposed leaders", deposed},
                      {"unknown changes", unknown},
                      {"leader changes", static_cast<int64_t>(elections.changes.size())},
                      {"elections under load", under_load}};
    add_faults(history, faults, verdict);
    const bool claimed = !history.header().faults.empty();
    // Reads that may be stale show nothing there that would be held against the target.
    if (read_claim(history.header()) == "linearizable") {
      tell(cut_off, claimed, "read was served", "reads were served",
           " by nodes that were cut off from the majority",
           "reads on nodes that were cut off: none was answered", verdict);
      tell(deposed, claimed, "read was served", "reads were served",
           " by nodes that had lost leadership",
           "reads on nodes that had lost leadership: none was answered", verdict);
    }
    tell(under_load, claimed, "election", "elections", " under load",
         "elections under load: there was none", verdict);
    tell(unknown, false, "change", "changes", " of unknown outcome", "", verdict);
    verdict.reason = counted(static_cast<size_t>(cut_off + deposed), "read", "reads") +
                     " where a stale one was possible, " +
                     counted(elections.changes.size(), "leader change", "leader changes") + ", " +
                     counted(static_cast<size_t>(unknown), "change", "changes") +
                     " of unknown outcome";
    return verdict;
  }

 private:
  static void tell(int64_t number, bool else_not_tested, std::string_view one,
                   std::string_view many, std::string_view what, std::string_view otherwise,
                   Verdict& verdict) {
    if (number > 0) {
      verdict.facts.emplace_back(
          fact::kCouldHaveBeenCaught,
          counted(static_cast<size_t>(number), one, many) + std::string(what));
    } else if (else_not_tested) {
      verdict.facts.emplace_back(fact::kNotTested, otherwise);
    }
  }
  // Inside the certain interval of a cut, on a node that is not of the majority.
  static bool was_cut_off(const std::vector<CutOff>& cuts, const Operation& operation) {
    return std::any_of(cuts.begin(), cuts.end(), [&](const CutOff& cut) {
      return operation.invoke_time() >= cut.begin && operation.return_time() <= cut.end &&
             std::find(cut.majority.begin(), cut.majority.end(), operation.node()) ==
                 cut.majority.end();
    });
  }
  static bool was_deposed(const Elections& elections, const Operation& operation) {
    return std::any_of(
        elections.deposed.begin(), elections.deposed.end(), [&](const Deposed& deposed) {
          return deposed.node == operation.node() && operation.invoke_time() >= deposed.at &&
                 operation.invoke_time() <= deposed.at + kDeposed;
        });
  }
  static bool operations_around(const History& history, Nanos at) {
    constexpr Nanos kNear = milliseconds(500);
    size_t low = 0, high = history.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (history[middle].invoke_time() + kNear < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < history.size() && history[low].invoke_time() <= at + kNear;
  }
  static void add_faults(const History& history, const std::vector<FaultInterval>& faults,
                         Verdict& verdict) {
    struct Seen {
      int64_t installed = 0, bit = 0, healed = 0;
    };
    std::map<std::string, Seen> kinds;
    for (const std::string& kind : history.header().faults) kinds[kind];
    for (const FaultInterval& fault : faults) {
      Seen& seen = kinds[fault.kind];
      seen.installed += fault.installed;
      seen.bit += fault.bit;
      seen.healed += fault.healed;
    }
    for (const auto& [kind, seen] : kinds) {
      verdict.counts.emplace_back(kind + " installed", seen.installed);
      verdict.counts.emplace_back(kind + " bit", seen.bit);
      verdict.counts.emplace_back(kind + " healed", seen.healed);
    }
  }
};

}  // namespace

const Checker& exposure_checker() {
  static const Exposure checker;
  return checker;
}

}  // namespace assay
