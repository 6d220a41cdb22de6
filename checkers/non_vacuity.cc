// non-vacuity: did the run exercise what it claims (K17)? A verdict of valid means little for a
// run in which nothing happened.
//
// Of every history at least one operation must be ok. The rest is asked only where the header names
// a workload or claims faults. The thresholds stand in the header (`thresholds`), else these hold:
//   ok_per_f           10  ok operations of each f that was invoked
//   conflicts_percent   2  of the guarded writes, where there are any
//   faults_bitten       1  faults of each claimed kind: installed, observed to bite, healed, and at
//                          least one operation or status sample went differently because of it (of
//                          a fault of the store's own, its own command saw it bite: that is enough)
//   ok_under_fault     20  ok operations on the nodes of a connected live majority during one fault
//                          of the kind, where such a majority stood during any of them; not asked
//                          of a fault of the store's own
//   ok_after_heal      20  ok operations within 5 s after the heal of one fault of the kind, where
//                          such a majority stood throughout those 5 s after any of them
//   final_ok            1  ok operations of the final phase, where there is one; and ok changes
//                          after the last heal
#include <algorithm>
#include <map>
#include <set>

#include "checkers/facts.h"
#include "checkers/history/clock_offsets.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr Nanos kAfterHeal = seconds(5);
constexpr Nanos kFelt = seconds(1);  // what a fault caused may show as late as this after its heal

const Symbol kConflict{"conflict"};
const Symbol kMismatch{"mismatch"};

bool is_refusal(const Operation& operation) {
  const Symbol cls = operation.error_class();
  return operation.type() != OpType::kOk && cls != kConflict && cls != kMismatch;
}

// What one fault did to the run.
struct Effect {
  bool felt = false;
  bool majority = false;        // stood during its certain interval
  int64_t ok_under_fault = 0;   // on that majority
  bool majority_after = false;  // stood throughout the time after the heal
  int64_t ok_after_heal = 0;
};

class Audit {
 public:
  explicit Audit(const History& history)
      : history_(history),
        header_(history.header()),
        faults_(outages(history)),
        samples_(status_samples(history)),
        clocks_(clock_offsets(history)) {
    verdict_.name = "non-vacuity";
  }

  Verdict run() {
    audit_operations();
    audit_conflicts();
    std::set<std::string> kinds(header_.faults.begin(), header_.faults.end());
    for (const std::string& kind : kinds) audit_faults(kind);
    audit_end();
    for (const auto& [name, number] : thresholds_) {
      verdict_.facts.emplace_back("threshold " + name, std::to_string(number));
    }
    if (missing_.empty()) {
      verdict_.reason = "every counter is at or above its threshold";
    } else {
      verdict_.safety = Safety::kVacuous;
      verdict_.reason = "the run did not exercise what it claims" +
                        std::string(failed_fast(history_)
                                        ? ", as it ended at the first anomaly (--fail-fast): "
                                        : ": ") +
                        listed(missing_);
    }
    return std::move(verdict_);
  }

 private:
  int64_t threshold(const std::string& name, int64_t fallback) {
    const int64_t number = threshold_of(header_, name, fallback);
    thresholds_[name] = number;
    return number;
  }
  void count(const std::string& name, int64_t number) {
    verdict_.counts.emplace_back(name, number);
  }
  void miss(const std::string& what, const std::string& remedy) {
    missing_.push_back(what);
    verdict_.facts.emplace_back(fact::kMissing, what);
    const std::pair<std::string, std::string> fact(
        fact::kRemedy, failed_fast(history_) ? "without `--fail-fast`" : remedy);
    auto& facts = verdict_.facts;
    if (std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
  }

  void audit_operations() {
    std::map<std::string, int64_t> ok;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation operation = history_[id];
      ok[std::string(operation.f().text())] += operation.type() == OpType::kOk;
    }
    const int64_t needed = threshold("ok_per_f", 10);
    if (ok.empty() && needed > 0) miss("no client operation", "longer: `--time-limit 60s`");
    for (const auto& [name, number] : ok) {
      count(name + " ok", number);
      if (number >= needed) continue;
      miss(name + ": " + std::to_string(number) + " ok of " + std::to_string(needed) + " needed",
           "longer or faster: `--time-limit 60s`, `--rate 2000`");
    }
  }

  void audit_conflicts() {
    int64_t guarded = 0, conflicts = 0;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation operation = history_[id];
      if (operation.expected().none()) continue;
      ++guarded;
      conflicts += operation.type() == OpType::kFail && operation.error_class() == kConflict;
    }
    if (guarded == 0) return;
    const int64_t percent = threshold("conflicts_percent", 2);
    count("guarded writes", guarded);
    count("conflicts", conflicts);
    if (conflicts * 100 >= guarded * percent) return;
    miss("conflicts: " + std::to_string(conflicts) + " of " + std::to_string(guarded) +
             " guarded writes, " + std::to_string(percent) + " % needed",
         "more writers on fewer keys: `--keys 2`, `--concurrency 40`");
  }

  void audit_faults(const std::string& kind) {
    const int64_t bitten_needed = threshold("faults_bitten", 1);
    const int64_t under_needed = threshold("ok_under_fault", 20);
    const int64_t after_needed = threshold("ok_after_heal", 20);
    int64_t started = 0, installed = 0, bit = 0, healed = 0, felt = 0;
    Effect best;
    for (const FaultInterval& fault : faults_) {
      if (fault.kind != kind) continue;
      ++started;
      installed += fault.installed;
      bit += fault.installed && fault.bit;
      healed += fault.installed && fault.healed;
      if (!fault.installed || !fault.bit || !fault.healed) continue;
      const Effect effect = effect_of(fault);
      felt += effect.felt;
      best.majority |= effect.majority;
      best.majority_after |= effect.majority_after;
      best.ok_under_fault = std::max(best.ok_under_fault, effect.ok_under_fault);
      best.ok_after_heal = std::max(best.ok_after_heal, effect.ok_after_heal);
    }
    count(kind + " installed", installed);
    count(kind + " bit", bit);
    count(kind + " healed", healed);
    const bool own = is_own_fault(header_, kind);
    const std::string by_hand = "its commands: `assay try` runs them one by one";
    const std::string longer =
        own && started > 0 ? by_hand
                           : "longer: `--time-limit 60s`, or more often: `--nemesis-interval 5s`";
    const std::string deeper = own ? by_hand : "longer faults: `--fault-duration 5s`";
    auto of = [&](int64_t number) {
      return std::to_string(number) + " of " + std::to_string(bitten_needed) + " needed";
    };
    if (installed < bitten_needed) {
      miss(kind + ": installed " + of(installed) +
               (started > installed ? ", " + std::to_string(started) + " tried" : "") +
               because(kind, true),
           longer);
      return;
    }
    if (bit < bitten_needed)
      return miss(kind + ": observed to bite " + of(bit) + because(kind, true), deeper);
    if (healed < bitten_needed) return miss(kind + ": healed " + of(healed), longer);
    if (healed < installed && ended_early(history_).empty()) {
      return miss(kind + ": " + std::to_string(installed - healed) + " of " +
                      std::to_string(installed) + " never healed" + because(kind, false),
                  "see `assay try` for a store's own faults; else the agents' logs");
    }
    if (felt < bitten_needed && !own) {
      return miss(kind + ": no operation and no sample went differently because of it", deeper);
    }
    if (best.majority && best.ok_under_fault < under_needed && !own) {
      miss(kind + ": " + std::to_string(best.ok_under_fault) + " ok of " +
               std::to_string(under_needed) + " needed on the majority during a fault",
           deeper);
    }
    if (best.majority_after && best.ok_after_heal < after_needed) {
      miss(kind + ": " + std::to_string(best.ok_after_heal) + " ok of " +
               std::to_string(after_needed) + " needed within 5 s after a heal",
           "more rest between faults: `--nemesis-interval 20s`");
    }
  }

  // What was seen of the last one of a kind that did not bite, or was not healed: "; n1: …".
  std::string because(const std::string& kind, bool of_bite) const {
    std::string evidence;
    for (const FaultInterval& fault : faults_) {
      const bool failed = of_bite ? !fault.installed || !fault.bit : !fault.healed;
      if (fault.kind == kind && failed && !fault.evidence.empty()) evidence = fault.evidence;
    }
    return evidence.empty() ? "" : " (" + evidence + ")";
  }
  Effect effect_of(const FaultInterval& fault) const {
    Effect effect;
    const std::vector<Symbol> members =
        connected_majority(header_, faults_, fault.begin, fault.end);
    effect.majority = !members.empty();
    const Nanos after_end = std::min(fault.healed_at + kAfterHeal, history_.end_time());
    effect.majority_after =
        !connected_majority(header_, faults_, fault.healed_at + Nanos{1}, after_end).empty();
    effect.felt = seen_by_samples(fault) || seen_by_clocks(fault);
    for (size_t id = first_within_reach(fault.begin); id < history_.size(); ++id) {
      const Operation operation = history_[id];
      const Nanos invoked = operation.invoke_time();
      if (invoked > after_end) break;
      const bool open = operation.return_position() == kOpen;
      const bool meets =
          invoked <= fault.healed_at && (open || operation.return_time() >= fault.begin);
      effect.felt |= meets && is_refusal(operation);
      if (operation.type() != OpType::kOk) continue;
      const Nanos returned = operation.return_time();
      if (invoked >= fault.begin && returned <= fault.end && contains(members, operation.node())) {
        ++effect.ok_under_fault;
      }
      if (returned > fault.healed_at && returned <= after_end) ++effect.ok_after_heal;
    }
    return effect;
  }
  // The first operation invoked at most kReach before a time: what is ok after it is among those.
  size_t first_within_reach(Nanos time) const {
    constexpr Nanos kReach = seconds(60);
    size_t low = 0, high = history_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (history_[middle].invoke_time() + kReach < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  static bool contains(const std::vector<Symbol>& nodes, Symbol node) {
    return node.empty() || std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  // A sound store may not mind that a clock is off: that its daemon saw it is enough.
  bool seen_by_clocks(const FaultInterval& fault) const {
    constexpr Nanos kOff = milliseconds(250);
    return fault.kind == "clock" &&
           std::any_of(clocks_.begin(), clocks_.end(), [&](const ClockOffset& clock) {
             return contains(fault.victims, clock.node) && clock.time >= fault.begin &&
                    clock.time <= fault.end && (clock.offset > kOff || clock.offset < Nanos{} - kOff);
           });
  }
  // A node did not answer, or the members' leader or term changed.
  bool seen_by_samples(const FaultInterval& fault) const {
    std::map<Symbol, const StatusSample*> before;
    for (const StatusSample& sample : samples_) {
      if (sample.time > fault.healed_at + kFelt) break;
      const StatusSample*& last = before[sample.node];
      if (sample.time >= fault.begin && last != nullptr &&
          (sample.role != last->role || sample.term != last->term ||
           sample.leader != last->leader)) {
        return true;
      }
      last = &sample;
    }
    return false;
  }

  static bool changes_state(const Operation& operation) {
    const Symbol what = operation.f();
    return what != f::read && what != f::watch && what != f::list && what != f::compact;
  }

  void audit_end() {
    Nanos last_heal{-1};
    for (const FaultInterval& fault : faults_) {
      if (fault.healed_at != kNever) last_heal = std::max(last_heal, fault.healed_at);
    }
    const auto phases = phase_changes(history_);
    const bool has_final = std::any_of(phases.begin(), phases.end(), [](const PhaseChange& change) {
      return change.phase == "final";
    });
    int64_t final_ok = 0, changes = 0;
    bool any_changes = false;
    for (size_t id = 0; id < history_.size(); ++id) {
      const Operation operation = history_[id];
      any_changes |= changes_state(operation);
      if (operation.type() != OpType::kOk) continue;
      final_ok += phase_of(operation) == "final";
      changes += changes_state(operation) && operation.invoke_time() >= last_heal;
    }
    if (!has_final) return;
    const int64_t needed = threshold("final_ok", 1);
    count("final ok", final_ok);
    if (final_ok < needed) {
      miss("final operations: " + std::to_string(final_ok) + " ok of " + std::to_string(needed) +
               " needed",
           "see the verdict of availability");
    }
    if (!any_changes || header_.faults.empty()) return;
    count("changes ok after the last heal", changes);
    if (changes < needed) {
      miss("changes after the last heal: " + std::to_string(changes) + " ok of " +
               std::to_string(needed) + " needed",
           "see the verdict of availability");
    }
  }

  const History& history_;
  const HistoryHeader& header_;
  const std::vector<FaultInterval> faults_;
  const std::vector<StatusSample> samples_;
  const std::vector<ClockOffset> clocks_;
  Verdict verdict_;
  std::map<std::string, int64_t> thresholds_;
  std::vector<std::string> missing_;
};

class NonVacuity : public Checker {
 public:
  std::string_view name() const override { return "non-vacuity"; }
  std::string_view summary() const override {
    return "the run exercised what it claims: operations of each kind, faults that bit, progress "
           "around them";
  }
  bool applies(const History& history) const override {
    return makes_claims(history) || !any_ok(history);
  }
  Verdict check(const History& history, const Budget&) const override {
    if (makes_claims(history) || history.size() == 0) return Audit(history).run();
    Verdict verdict{.name = "non-vacuity"};
    verdict.reason = "not asked: the header names no workload and claims no fault";
    if (any_ok(history)) return verdict;
    verdict.safety = Safety::kVacuous;
    verdict.reason = "no operation was ok: nothing was observed";
    verdict.facts.emplace_back(fact::kMissing, "no operation was ok");
    return verdict;
  }

 private:
  static bool makes_claims(const History& history) {
    return !history.header().workload.empty() || !history.header().faults.empty();
  }
  static bool any_ok(const History& history) {
    for (size_t id = 0; id < history.size(); ++id) {
      if (history[id].type() == OpType::kOk) return true;
    }
    return false;
  }
};

}  // namespace

const Checker& non_vacuity_checker() {
  static const NonVacuity checker;
  return checker;
}

}  // namespace assay
