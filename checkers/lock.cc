// lock: what a lock made of guarded writes gives (K15). A lock is a key whose records are
// {"holder", "fence", "ttl_ms"}: holder null is released, ttl_ms null or 0 is without time-out. Writes to
// what it protects carry the number of the lock that their author holds (extra `fence`).
//
//   belief       from the answer to its acquisition until it invokes its release, its time is up by its
//                own clock (ttl_ms from its last record), or it ended, and when it writes under its
//                number all the same, a holder believes that it holds. That two believe so at one
//                moment is legal for any lock with a time-out: it is counted, and invalid only where
//                the header claims {"lock": "exclusive"}
//   fence        the numbers of accepted writes to a protected object never go down, in the order of
//                tokens, or of real time where they are not ordered; and no two holders have one number
//   obtainable   progress: after a holder is gone (whoever it was does nothing any more) without release,
//                while others try and are answered, somebody obtains the lock within lock_ms_max
//                (threshold, default 10,000) of time in which a connected live majority stands;
//                else blocked
//
// Who somebody is says the intent of an operation, where it has one: a worker that has forgotten its lock
// goes on as somebody else. Else it is the process.
//
// Whether the protected object is intact is field-ownership's and update-chain's matter. Beliefs need
// times; without them they are not judged.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::lock {
namespace {

bool is_record(const Value& value) {
  if (!value.is_object()) return false;
  for (const auto& [name, member] : value.as_object())
    if (name.text() == "holder") return true;
  return false;
}
std::string name_of(const Value& holder) {
  return holder.is_string() ? std::string(holder.as_text()) : holder.to_json();
}

struct Belief {
  Value holder;
  Value fence;
  const KeyEvent* acquired;
  Nanos begin;
  Nanos end;
};

Value somebody(const Operation& op) {
  const Value intent = intent_of(op);
  return intent.is_null() ? Value("p" + std::to_string(op.process().id)) : intent;
}

// When no connected live majority stood: then nobody could be expected to obtain anything.
class Outages {
 public:
  explicit Outages(const History& history) : known_(!history.header().nodes.empty()) {
    if (known_) spans_ = majority_spans(history.header(), outages(history), history.end_time());
  }
  Nanos within(Nanos begin, Nanos end) const {
    if (!known_) return {};
    Nanos without = end - begin;
    for (const MajoritySpan& span : spans_)
      without = without - std::max(Nanos{}, std::min(end, span.end) - std::max(begin, span.begin));
    return without;
  }

 private:
  bool known_;
  std::vector<MajoritySpan> spans_;
};

// When each did something last.
class Activity {
 public:
  explicit Activity(const History& history) {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      const bool open = op.return_position() == kOpen;
      Nanos& last = last_[somebody(op)];
      last = std::max(last, open ? op.invoke_time() : op.return_time());
    }
  }
  Nanos last_of(const Operation& op) const {
    const auto at = last_.find(somebody(op));
    return at == last_.end() ? Nanos{0} : at->second;
  }

 private:
  std::unordered_map<Value, Nanos, ValueHasher> last_;
};

// When each wrote last under each number.
class FencedWrites {
 public:
  explicit FencedWrites(const History& history) {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      const Value fence = op.invoke_extra()["fence"];
      if (fence.is_null()) continue;
      ++count_;
      last_[{fence, somebody(op)}] = op.invoke_time();
    }
  }
  size_t count() const { return count_; }
  std::optional<Nanos> last_of(const Value& fence, const Value& by) const {
    const auto at = last_.find({fence, by});
    return at == last_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  struct Hasher {
    size_t operator()(const std::pair<Value, Value>& of) const {
      return of.first.hash() * 31 + of.second.hash();
    }
  };
  std::unordered_map<std::pair<Value, Value>, Nanos, Hasher> last_;
  size_t count_ = 0;
};

class Lock {
 public:
  Lock(const History& history, const KeyTrack& track, const Activity& activity,
       const Outages& outages, const FencedWrites& fenced)
      : history_(history), track_(track), activity_(activity), outages_(outages) {
    for (const KeyEvent& event : track.events) {
      if (event.accepted() && is_record(event.value)) records_.push_back(&event);
      if (event.did != Did::kWrite || event.type != OpType::kInfo) continue;
      last_unknown_[somebody(history[event.id])] = event.call;
    }
    const bool ordered = history.header().token_orderable;
    std::sort(records_.begin(), records_.end(), [&](const KeyEvent* a, const KeyEvent* b) {
      const auto x = number_of(a->revision), y = number_of(b->revision);
      return ordered && x && y ? *x < *y : a->ret < b->ret;
    });
    believe(fenced);
  }

  const std::vector<Belief>& beliefs() const { return beliefs_; }

  struct Overlap {
    const Belief* first;
    const Belief* second;
    Nanos length;
  };
  std::vector<Overlap> overlaps() const {
    std::vector<const Belief*> sorted;
    for (const Belief& belief : beliefs_) sorted.push_back(&belief);
    std::sort(sorted.begin(), sorted.end(),
              [](const Belief* a, const Belief* b) { return a->begin < b->begin; });
    std::vector<Overlap> found;
    const Belief* longest = nullptr;  // of those begun, the one that ends last
    for (const Belief* belief : sorted) {
      if (longest && longest->holder != belief->holder && belief->begin < longest->end)
        found.push_back({longest, belief, std::min(longest->end, belief->end) - belief->begin});
      if (!longest || belief->end > longest->end) longest = belief;
    }
    return found;
  }

  std::optional<Finding> one_number_for_two() const {
    std::unordered_map<Value, const KeyEvent*, ValueHasher> holder_of;
    for (const KeyEvent* record : records_) {
      const Value& fence = record->value["fence"];
      if (fence.is_null() || record->value["holder"].is_null()) continue;
      const auto [at, fresh] = holder_of.try_emplace(fence, record);
      if (fresh || at->second->value["holder"] == record->value["holder"]) continue;
      return Finding{"one fence number for two holders",
                     name_of(at->second->value["holder"]) + " and " +
                         name_of(record->value["holder"]) + " both hold the lock as number " +
                         fence.to_json(),
                     {*at->second, *record},
                     {}};
    }
    return std::nullopt;
  }

  // The longest time that others tried in vain for, after a holder was gone.
  struct Wait {
    Nanos begin{};
    Nanos end{};
    Nanos outage{};  // of that time, none of it due
    const KeyEvent* record = nullptr;
    bool obtained = false;
    Nanos length() const { return end - begin - outage; }
  };
  std::vector<Wait> waits() const {
    std::vector<Wait> waits;
    for (size_t i = 0; i < records_.size(); ++i) {
      const KeyEvent& record = *records_[i];
      if (record.value["holder"].is_null()) continue;
      const Operation op = history_[record.id];
      const Nanos gone = std::max(activity_.last_of(op), op.return_time());
      const KeyEvent* next = i + 1 < records_.size() ? records_[i + 1] : nullptr;
      if (next && history_[next->id].return_time() <= gone) continue;  // it was there to see it
      if (released_by_unknown(op, record)) continue;
      Wait wait{.record = &record, .obtained = next != nullptr};
      bool answered = false;
      const auto first = std::partition_point(
          track_.events.begin(), track_.events.end(),
          [&](const KeyEvent& event) { return history_[event.id].invoke_time() < gone; });
      for (auto at = first; at != track_.events.end(); ++at) {
        const KeyEvent& event = *at;
        if (next && event.call > next->ret) break;
        const Operation other = history_[event.id];
        if (phase_of(other) == "final" || somebody(other) == somebody(op)) continue;
        if (wait.begin.count == 0) wait.begin = other.invoke_time();
        const bool open = other.return_position() == kOpen;
        wait.end = std::max(wait.end, open ? other.invoke_time() : other.return_time());
        answered |= other.type() == OpType::kOk || event.conflict;
      }
      wait.outage = outages_.within(wait.begin, wait.end);
      if (answered) waits.push_back(wait);
    }
    return waits;
  }

 private:
  bool released_by_unknown(const Operation& holder, const KeyEvent& record) const {
    const auto last = last_unknown_.find(somebody(holder));
    return last != last_unknown_.end() && last->second > record.ret;
  }
  static Nanos ttl_of(const Value& record) {
    const int64_t ms = record.int_or("ttl_ms", 0);
    return ms > 0 ? milliseconds(ms) : kNever;
  }
  // The belief of each acquisition, prolonged by later records of the same holder and number.
  void believe(const FencedWrites& fenced) {
    std::unordered_map<Value, size_t, ValueHasher> held_by;
    for (const KeyEvent& event : track_.events) {
      if (event.did != Did::kWrite || !is_record(event.value)) continue;
      const Operation op = history_[event.id];
      if (op.invoke_time().count < 0) return;
      const Value& holder = event.value["holder"];
      const auto mine = held_by.find(somebody(op));
      if (holder.is_null()) {
        if (mine == held_by.end()) continue;
        Belief& belief = beliefs_[mine->second];
        belief.end = std::min(belief.end, op.invoke_time());
        held_by.erase(mine);
        continue;
      }
      if (!event.ok()) continue;
      const Nanos ttl = ttl_of(event.value);
      const Nanos end = ttl == kNever ? activity_.last_of(op) : op.invoke_time() + ttl;
      if (mine != held_by.end() && beliefs_[mine->second].fence == event.value["fence"] &&
          beliefs_[mine->second].holder == holder) {
        beliefs_[mine->second].end = std::max(beliefs_[mine->second].end, end);
        continue;
      }
      held_by[somebody(op)] = beliefs_.size();
      beliefs_.push_back({.holder = holder, .fence = event.value["fence"], .acquired = &event,
                          .begin = op.return_time(), .end = std::max(end, op.return_time())});
    }
    prolong(fenced);
  }
  // Who writes under its number believes that it holds.
  void prolong(const FencedWrites& fenced) {
    for (Belief& belief : beliefs_) {
      const auto last = fenced.last_of(belief.fence, somebody(history_[belief.acquired->id]));
      if (last && *last > belief.begin) belief.end = std::max(belief.end, *last);
    }
  }

  const History& history_;
  const KeyTrack& track_;
  const Activity& activity_;
  const Outages& outages_;
  std::vector<const KeyEvent*> records_;  // accepted, in order
  std::unordered_map<Value, Position, ValueHasher> last_unknown_;  // write of each: its call
  std::vector<Belief> beliefs_;
};

// The accepted writes of a protected object, and that their numbers never go down.
std::optional<Finding> falling_fence(const History& history, const KeyTrack& track,
                                     size_t& violations) {
  struct Write {
    int64_t fence;
    const KeyEvent* event;
  };
  std::vector<Write> writes;
  for (const KeyEvent& event : track.events) {
    if (!event.accepted()) continue;
    const Value fence = history[event.id].invoke_extra()["fence"];
    if (fence.is_int()) writes.push_back({fence.as_int(), &event});
  }
  if (writes.size() < 2) return std::nullopt;
  const auto found = [&](const Write& higher, const Write& lower) {
    return Finding{"a lower fence number after a higher one",
                   author_text(history[lower.event->id]) + " had a write accepted under number " +
                       std::to_string(lower.fence) + " of the lock, after " +
                       author_text(history[higher.event->id]) + " had written under number " +
                       std::to_string(higher.fence),
                   {*higher.event, *lower.event},
                   {}};
  };
  const bool ordered = history.header().token_orderable &&
                       std::all_of(writes.begin(), writes.end(), [](const Write& write) {
                         return write.event->revision.is_number() && !write.event->deletes();
                       });
  if (ordered) {
    std::sort(writes.begin(), writes.end(), [](const Write& a, const Write& b) {
      return a.event->revision.number() < b.event->revision.number();
    });
    std::optional<Finding> first;
    for (size_t i = 1; i < writes.size(); ++i) {
      if (writes[i].fence >= writes[i - 1].fence) continue;
      ++violations;
      if (!first) first = found(writes[i - 1], writes[i]);
    }
    return first;
  }
  std::vector<Write> by_return = writes;
  std::sort(by_return.begin(), by_return.end(),
            [](const Write& a, const Write& b) { return a.event->ret < b.event->ret; });
  std::optional<Finding> lower;
  const Write* highest = nullptr;
  size_t next = 0;
  for (const Write& write : writes) {
    for (; next < by_return.size() && by_return[next].event->ret < write.event->call; ++next)
      if (!highest || by_return[next].fence > highest->fence) highest = &by_return[next];
    if (!highest || highest->fence <= write.fence) continue;
    ++violations;
    if (!lower) lower = found(*highest, write);
  }
  return lower;
}

class LockChecker : public Checker {
 public:
  std::string_view name() const override { return "lock"; }
  std::string_view summary() const override {
    return "fence numbers of a lock never go down where it protects, and it can be obtained after its "
           "holder is gone";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (!op.invoke_extra()["fence"].is_null()) return true;
      if (op.f() == f::write && is_record(op.argument())) return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "lock"};
    Findings findings(history, verdict);
    const Activity activity(history);
    const Outages outages(history);
    const FencedWrites fenced(history);
    const bool exclusive = history.header().raw["claims"].text_or("lock", "") == "exclusive";
    Nanos longest{0};
    size_t holds = 0, overlaps = 0, violations = 0, gone = 0;
    int64_t ms_blocked = 0;
    std::string belief;
    each_key(KeyEvents(history), budget, verdict, [&](const KeyTrack& track) {
      if (auto found = falling_fence(history, track, violations)) {
        findings.add(track.key, std::move(*found));
        return;
      }
      const bool is_lock = std::any_of(track.events.begin(), track.events.end(), [](const KeyEvent& e) {
        return e.did == Did::kWrite && is_record(e.value);
      });
      if (!is_lock) return;
      const Lock lock(history, track, activity, outages, fenced);
      holds += lock.beliefs().size();
      const auto both = lock.overlaps();
      overlaps += both.size();
      for (const Lock::Overlap& one : both) {
        if (one.length < longest && !belief.empty()) continue;
        longest = one.length;
        belief = overlap_text(one);
      }
      if (exclusive && !both.empty())
        findings.add(track.key, {"two holders at once", overlap_text(both[0]),
                                 {*both[0].first->acquired, *both[0].second->acquired}, {}});
      else if (auto found = lock.one_number_for_two())
        findings.add(track.key, std::move(*found));
      for (const Lock::Wait& wait : lock.waits()) {
        ++gone;
        ms_blocked += to_ms(wait.length());
      }
      judge_progress(history, track.key, lock, verdict);
    });
    findings.conclude();
    verdict.counts = {{"holds", static_cast<int64_t>(holds)},
                      {"belief overlaps", static_cast<int64_t>(overlaps)},
                      {"writes under a fence number", static_cast<int64_t>(fenced.count())},
                      {"violations", static_cast<int64_t>(violations)},
                      {"holders gone", static_cast<int64_t>(gone)},
                      {"ms blocked", ms_blocked}};
    if (overlaps > 0) verdict.facts.emplace_back("belief overlap", belief);
    if (holds == 0)
      nothing_judged("nobody obtained a lock", "locks that were obtained",
                     "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = counted(holds, "hold", "holds") + ", " + std::to_string(overlaps) +
                       " of them while another believed to hold; fence numbers never went down";
    return verdict;
  }

 private:
  static std::string overlap_text(const Lock::Overlap& overlap) {
    return name_of(overlap.first->holder) + " and " + name_of(overlap.second->holder) +
           " both believed that they held the lock for " + format_duration(overlap.length) + " from " +
           format_point(overlap.second->begin) + " on";
  }
  static void judge_progress(const History& history, Symbol key, const Lock& lock, Verdict& verdict) {
    const Nanos bound = milliseconds(threshold_of(history.header(), "lock_ms_max", 10'000));
    for (const Lock::Wait& wait : lock.waits()) {
      if (wait.length() <= bound) {
        if (wait.obtained) verdict.progress = std::max(verdict.progress, Progress::kOk);
        continue;
      }
      const std::string what = "nobody obtained the lock " + std::string(key.text()) + " for " +
                               format_duration(wait.length()) + " after its holder, " +
                               name_of(wait.record->value["holder"]) + ", was gone";
      verdict.facts.emplace_back(fact::kMissing, what);
      if (verdict.progress == Progress::kBlocked) continue;
      verdict.progress = Progress::kBlocked;
      if (verdict.safety == Safety::kValid) verdict.reason = what;
    }
    verdict.facts.emplace_back("threshold lock_ms_max", std::to_string(to_ms(bound)));
  }
};

}  // namespace
}  // namespace assay::lock

namespace assay {

const Checker& lock_checker() {
  static const lock::LockChecker checker;
  return checker;
}

}  // namespace assay
