// version-order: is the order that the store itself gives, by its revisions, one that explains each
// key? (K1)
//
// Where revisions can be ordered, nothing need be searched: the accepted writes of a key are in the
// order of their revisions, and a read belongs to the write whose revision it returned. So an old
// state is found even where its value is written again and again. Judged, per key:
//
//   values     one revision is one state: two accepted writes of one revision, or a read of another
//              value than was written there, are invalid
//   real time  nothing of an earlier revision is invoked after something of a later one returned
//   absence    a key that is gone at some revision was deleted since its last write, or may have been
//
// A conflict that returns the current token observes it, like a read. A list reads every key under
// its prefix at one revision, also those that it lacks; a txn writes each of its keys at one
// revision. Keys are judged apart: that a list or a txn is of one instant is not. What carries no
// revision (unknown outcomes, readers of stale copies that are not claimed to be more) is left out.
// Whether guards were honoured is not judged here (update-chain, conflicts): an accepted guarded
// write is a write, so that a store in which the last writer wins still has one history.
// one-history asks less: whether the accepted writes form one history at all, whoever reads which copy
// of it. Reads count there only for what a revision is, not for when it is seen; so a store whose
// readers see the past has one history, and one that accepts on two sides has not.
// Source: Gibbons and Korach, Testing shared memories, 1997: with the order of writes known the
// problem is linear.
#include <algorithm>
#include <optional>
#include <tuple>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

// One operation's place in the order of revisions.
struct Placed {
  int64_t revision;
  bool absent;  // the key is gone at that revision: after whatever was written up to it
  const KeyEvent* event;

  Position call() const { return event->call; }
  Position ret() const { return event->ret; }
  bool before(const Placed& other) const {
    const auto key = [](const Placed& p) {  // a delete before those who found the key gone
      return std::tuple(p.revision, p.absent, !p.event->accepted(), p.call());
    };
    return key(*this) < key(other);
  }
  bool same_state(const Placed& other) const {
    return revision == other.revision && absent == other.absent;
  }
};

enum class Scope : uint8_t { kEverything, kAcceptedWrites };

// An accepted write, a read, or a conflict that says what it found.
std::optional<Placed> place(const KeyEvent& event, Scope scope) {
  const bool counts = event.latest || scope == Scope::kAcceptedWrites;
  if (event.did == Did::kRead && (!event.ok() || !counts)) return std::nullopt;
  if (event.did == Did::kGuard && event.ok()) return std::nullopt;
  if (!event.ok() && !event.conflict) return std::nullopt;
  const auto revision = number_of(event.revision), at = number_of(event.at);
  if (!revision || (*revision == 0 && !at)) return std::nullopt;
  Placed placed{.revision = *revision, .absent = *revision == 0, .event = &event};
  if (placed.absent) placed.revision = *at;
  return placed;
}

class Key {
 public:
  // one_scale: the revisions of keys are the store's, so that absences have a place among them.
  Key(const History& history, const KeyTrack& track, Scope scope, bool one_scale)
      : history_(history), scope_(scope), one_scale_(one_scale) {
    for (const KeyEvent& event : track.events) add(event);
    if (!one_scale_) std::erase_if(placed_, [](const Placed& p) { return p.absent; });
    std::sort(placed_.begin(), placed_.end(),
              [](const Placed& a, const Placed& b) { return a.before(b); });
  }

  size_t size() const { return placed_.size(); }
  size_t states() const {
    size_t states = 0;
    for (size_t i = 0; i < placed_.size(); ++i)
      states += i == 0 || !placed_[i].same_state(placed_[i - 1]);
    return states;
  }

  std::optional<Finding> judge() const {
    if (auto found = check_values()) return found;
    if (scope_ == Scope::kEverything) {
      if (auto found = check_real_time(placed_)) return found;
      return check_absence();
    }
    std::vector<Placed> writes;
    for (const Placed& p : placed_)
      if (p.event->did != Did::kRead) writes.push_back(p);
    return check_real_time(writes);
  }

 private:
  void add(const KeyEvent& event) {
    const auto placed = place(event, scope_);
    if (placed) placed_.push_back(*placed);
    const auto revision = number_of(event.revision), at = number_of(event.at);
    one_scale_ &= !event.ok() || !revision || !at || *revision <= *at;
    const bool unknown = event.type == OpType::kInfo;
    unplaced_delete_ |= event.deletes() && (unknown || (event.ok() && !placed));
  }
  bool accepted(const Placed& placed) const { return placed.event->accepted(); }
  // The accepted writes that made a state of their own.
  bool makes(const Placed& placed) const { return accepted(placed) && !placed.absent; }
  std::string sentence(const Placed& placed) const { return sentence_of(history_, *placed.event); }

  std::optional<Finding> check_values() const {
    const Placed* first = nullptr;  // of the same revision: its write, or else any that saw a value
    for (const Placed& p : placed_) {
      if (p.absent || !p.event->ok()) continue;
      if (!first || !first->same_state(p)) {
        first = &p;
        continue;
      }
      if (makes(p) && makes(*first))
        return Finding{"one revision for two writes",
                     "revision " + std::to_string(p.revision) + " was given to two accepted writes",
                     {*first->event, *p.event},
                     {}};
      if (p.event->value != first->event->value)
        return Finding{"one revision with two values",
                     "revision " + std::to_string(p.revision) + " is " +
                         first->event->value.to_json() + " to one, and " +
                         p.event->value.to_json() + " to another",
                     {*first->event, *p.event},
                     {}};
      if (makes(p)) first = &p;
    }
    return std::nullopt;
  }

  std::optional<Finding> check_real_time(const std::vector<Placed>& placed) const {
    const Placed* last = nullptr;     // of earlier states, the one invoked last
    const Placed* pending = nullptr;  // … of this state
    for (size_t i = 0; i < placed.size(); ++i) {
      const Placed& p = placed[i];
      if (i > 0 && !p.same_state(placed[i - 1]) && pending &&
          (!last || pending->call() > last->call()))
        last = pending;
      if (last && p.ret() < last->call()) return late(*last, p);
      if (!pending || p.call() > pending->call()) pending = &p;
    }
    // A read that returned before the write that it saw was invoked.
    for (size_t i = 0; i < placed.size();) {
      size_t end = i;
      const Placed* write = nullptr;
      for (; end < placed.size() && placed[end].same_state(placed[i]); ++end)
        if (makes(placed[end])) write = &placed[end];
      for (; i < end; ++i) {
        if (write && placed[i].ret() < write->call())
          return Finding{"read from the future",
                       sentence(placed[i]) +
                           ", before the write of that revision was invoked",
                       {*placed[i].event, *write->event},
                         {}};
      }
    }
    return std::nullopt;
  }
  Finding late(const Placed& old, const Placed& newer) const {
    const Operation reader = history_[old.event->id], before = history_[newer.event->id];
    const std::string gap =
        reader.invoke_time().count < 0
            ? ""
            : ", " + format_duration(reader.invoke_time() - before.return_time());
    return {old.event->did == Did::kRead ? "stale state" : "revisions against real time",
            sentence(old) + gap + " after revision " + std::to_string(newer.revision) +
                (accepted(newer) ? " was acknowledged to " : " had been seen by ") + who(before),
            {*newer.event, *old.event},
            {}};
  }

  std::optional<Finding> check_absence() const {
    if (unplaced_delete_) return std::nullopt;  // it may be why
    const Placed *live = nullptr, *was = nullptr;
    const Placed* deleted = nullptr;  // what made an end of `was`
    for (const Placed& p : placed_) {
      if (!p.absent) {
        live = makes(p) && p.event->value.is_null() ? nullptr : &p;
      } else if (accepted(p)) {
        if (live) was = live, deleted = &p;
        live = nullptr;
      } else if (live) {
        return lost(p, *live);
      } else if (deleted && p.same_state(*deleted) && p.ret() < deleted->call()) {
        return lost(p, *was);
      }
    }
    return std::nullopt;
  }
  Finding lost(const Placed& absence, const Placed& live) const {
    return {"lost write",
            sentence(absence) + ", though " + sentence(live) + " and nobody had deleted it",
            {*live.event, *absence.event},
            {}};
  }

  const History& history_;
  const Scope scope_;
  std::vector<Placed> placed_;  // of the track's events
  bool unplaced_delete_ = false;
  bool one_scale_;
};

class VersionOrder : public Checker {
 public:
  std::string_view name() const override { return "version-order"; }
  std::string_view summary() const override {
    return "the order of the store's own revisions explains each key and respects real time";
  }
  bool applies(const History& history) const override {
    if (!history.header().token_orderable) return false;
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (has_key_events(op.f()) &&
          (!op.revision().none() || !op.at().none() || !op.error_current().none()))
        return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Symbol f = history[id].f();
      if (has_key_events(f) || leaves_keys_alone(f)) continue;
      return history.error_at(history[id],
                              "revisions are judged of read, write, cas, delete, list and txn, not of " +
                                  std::string(f.text()));
    }
    return key_events_fit(history);
  }
  // Without absence: whether the revisions of a key and of the store can be compared may still show.
  bool refutes(const History& prefix, const Budget& budget) const override {
    const KeyEvents events(prefix);
    for (const KeyTrack& track : events.keys()) {
      if (budget.exhausted()) return false;
      if (Key(prefix, track, Scope::kEverything, false).judge()) return true;
    }
    return false;
  }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "version-order"};
    Findings findings(history, verdict);
    int64_t placed = 0, states = 0;
    const bool scale = one_scale(history);
    const KeyEvents events(history, Absence::kRead);
    each_key(events, budget, verdict, [&](const KeyTrack& track) {
      const Key key(history, track, Scope::kEverything, scale);
      placed += static_cast<int64_t>(key.size());
      states += static_cast<int64_t>(key.states());
      if (auto found = key.judge()) findings.add(track.key, std::move(*found));
    });
    findings.conclude();
    verdict.counts = {{"operations with a revision", placed}, {"states", states}};
    if (read_claim(history.header()) != "linearizable")
      verdict.facts.emplace_back(fact::kNotClaimed,
                                 "reads of the latest state: the revisions of reads are not judged");
    if (const size_t lists = events.lists_without_absence())
      verdict.facts.emplace_back(fact::kNotTested, "what " + counted(lists, "list", "lists") +
                                                       " lacked: too many keys to judge each");
    conclude(states, verdict);
    return verdict;
  }

 private:
  static void conclude(int64_t states, Verdict& verdict) {
    if (verdict.safety != Safety::kValid) return;
    if (states == 0) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "no answer has a revision: there is no order to judge";
      verdict.facts.emplace_back(fact::kMissing, "answers with the revision of the key's state");
      verdict.facts.emplace_back(fact::kRemedy, "a longer run: `--time-limit 60s`");
      return;
    }
    verdict.reason = "the order of " + counted(static_cast<size_t>(states), "state", "states") +
                     " by revision explains every answer and respects real time";
  }
};

class OneHistory : public Checker {
 public:
  std::string_view name() const override { return "one-history"; }
  std::string_view summary() const override {
    return "the accepted writes of each key form one history, whoever reads which copy of it";
  }
  bool applies(const History& history) const override {
    return find_checker("version-order")->applies(history);
  }
  Result<void> accepts(const History& history) const override {
    return find_checker("version-order")->accepts(history);
  }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "one-history"};
    Findings findings(history, verdict);
    int64_t states = 0;
    const bool scale = one_scale(history);
    const KeyEvents events(history);
    each_key(events, budget, verdict, [&](const KeyTrack& track) {
      const Key key(history, track, Scope::kAcceptedWrites, scale);
      states += static_cast<int64_t>(key.states());
      if (auto found = key.judge()) findings.add(track.key, std::move(*found));
    });
    findings.conclude();
    verdict.counts = {{"states", states}};
    if (verdict.safety != Safety::kValid) return verdict;
    if (states == 0) {
      verdict.safety = Safety::kVacuous;
      verdict.reason = "no answer has a revision: there is no order to judge";
      return verdict;
    }
    verdict.reason = counted(static_cast<size_t>(states), "accepted state has", "accepted states have") +
                     " one order";
    return verdict;
  }
};

}  // namespace

const Checker& one_history_checker() {
  static const OneHistory checker;
  return checker;
}

const Checker& version_order_checker() {
  static const VersionOrder checker;
  return checker;
}

}  // namespace assay
