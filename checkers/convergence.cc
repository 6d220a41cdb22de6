// convergence: do the nodes say the same of each key in the end? (K9; that the members report one
// leader and one applied history is member-agreement's part)
//
// Compared are the last final reads (phase "final", lists included) that each node answered ok, when
// the load is over and all is healed: value, and revision where both gave one. Nodes that differ have
// no one history to go on with: invalid where reads are claimed to be of the latest state; where it is
// claimed that they converge (`claims.converges`: the weak contract) they lack progress (blocked), as
// copies may be late, though not for ever; else it is said, and not held against them. Where a write of unknown
// outcome, or one of the final phase itself, may have come between two reads, they may differ: unknown.
// That a node did not answer is availability's matter.
#include <algorithm>

#include "checkers/final_reads.h"
#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::convergence {
namespace {

bool differ(const KeyEvent& a, const KeyEvent& b, bool by_revision) {
  if (a.value != b.value) return true;
  return by_revision && !a.revision.none() && !b.revision.none() && a.revision != b.revision;
}

std::string says(const Operation& op, const KeyEvent& read) {
  return (op.node().empty() ? "the store" : std::string(op.node().text())) + " says " +
         (read.value.is_null() ? "absent" : read.value.to_json()) +
         (read.value.is_null() || read.revision.none() ? "" : " at revision " + token_text(read.revision));
}

class Convergence : public Checker {
 public:
  std::string_view name() const override { return "convergence"; }
  std::string_view summary() const override {
    return "in the end all nodes say the same of each key";
  }
  // Where no key was read from two nodes (one alone serves), availability says so.
  bool applies(const History& history) const override {
    return has_final_reads(history) && two_nodes_read_a_key(history);
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "convergence"};
    const bool latest = read_claim(history.header()) == "linearizable";
    const bool by_revision = shares_revisions(history.header());
    const KeyEvents events(history);
    const FinalReads finals(history, events);
    Findings findings(history, verdict);
    int64_t compared = 0, late = 0, excused = 0;
    std::string first;
    each_key(events, budget, verdict, [&](const KeyTrack& track) {
      const std::vector<KeyEvent>& reads = finals.of(track.key);
      if (reads.size() < 2) return;
      ++compared;
      const auto other = std::find_if(reads.begin() + 1, reads.end(), [&](const KeyEvent& read) {
        return differ(reads[0], read, by_revision);
      });
      if (other == reads.end()) return;
      const std::string headline = says(history[reads[0].id], reads[0]) + ", " +
                                   says(history[other->id], *other) +
                                   ": the nodes did not become one";
      if (may_change_between(track, reads[0], *other)) {
        ++excused;
      } else if (latest) {
        findings.add(track.key, {"nodes that differ in the end", headline, {reads[0], *other}, {}});
      } else {
        ++late;
      }
      if (first.empty()) first = std::string(track.key.text()) + ": " + headline;
    });
    findings.conclude();
    verdict.counts = {{"keys compared", compared}, {"nodes", static_cast<int64_t>(finals.nodes().size())}};
    conclude(history, compared, late, excused, first, verdict);
    return verdict;
  }

 private:
  static bool two_nodes_read_a_key(const History& history) {
    const KeyEvents events(history);
    const FinalReads finals(history, events);
    return std::any_of(events.keys().begin(), events.keys().end(),
                       [&](const KeyTrack& track) { return finals.of(track.key).size() >= 2; });
  }
  static bool may_change_between(const KeyTrack& track, const KeyEvent& a, const KeyEvent& b) {
    const Position begin = std::min(a.call, b.call), end = std::max(a.ret, b.ret);
    return std::any_of(track.events.begin(), track.events.end(), [&](const KeyEvent& event) {
      if (event.did != Did::kWrite || event.type == OpType::kFail || event.call > end) return false;
      if (event.ok()) return event.ret > begin;
      // An unknown write may come as late as this, if what either read found can be its doing.
      return event.value == a.value || event.value == b.value;
    });
  }
  static bool claims_to_converge(const History& history) {
    return history.header().raw["claims"].bool_or("converges", false);
  }
  static void conclude(const History& history, int64_t compared, int64_t late, int64_t excused,
                       const std::string& first, Verdict& verdict) {
    if (verdict.safety != Safety::kValid) return;
    if (compared == 0)
      return nothing_judged("no key was read from two nodes in the end",
                            "final reads of one key that two nodes answered",
                            "see the verdict of availability", verdict);
    const bool whole = ended_early(history).empty();
    if (late > 0 && !claims_to_converge(history)) {
      verdict.progress = Progress::kOk;
      verdict.reason = "copies may be late: " + first;
      verdict.facts.emplace_back(fact::kNotClaimed,
                                 "that all nodes say the same in the end: of " + grouped(compared) +
                                     " keys " + grouped(late) + " differ");
    } else if (late > 0) {
      verdict.progress = whole ? Progress::kBlocked : Progress::kUnknown;
      verdict.reason = "the nodes did not become one: " + first;
      verdict.facts.emplace_back(fact::kMissing, first);
    } else if (excused > 0) {
      verdict.progress = Progress::kUnknown;
      verdict.reason = "writes may have come between the final reads: " + first;
    } else {
      verdict.progress = Progress::kOk;
      verdict.reason = "all nodes say the same of " +
                       counted(static_cast<size_t>(compared), "key", "keys") + " in the end";
    }
  }
};

}  // namespace
}  // namespace assay::convergence

namespace assay {

const Checker& convergence_checker() {
  static const convergence::Convergence checker;
  return checker;
}

}  // namespace assay
