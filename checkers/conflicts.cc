// conflicts: is every refusal of a guarded write a true one, and every acceptance? (K11) A conflict is
// a read of "not equal": somewhere between its invocation and its answer the token must have been
// able to differ from the one compared.
//
// Judged, per key:
//   without cause   a refusal while the token compared was provably current throughout: it was seen
//                   before, and seen after; or nothing else can have replaced it in time
//   its own answer  a refusal that names as current the very token that was compared
//   of nobody       a refusal that names a current token that no write made or may have made; or names
//                   the key absent while it provably was there
//   old token       an acceptance though the token had provably been replaced: as update-chain has it,
//                   and by real time, also of guards on keys that a txn does not write
//
// Reads of the latest state tell what was current, unless some of the key are seen to be of the past:
// that is version-order's matter, and no refusal's.
// Each conflict is judged by itself against all that was accepted and read: exact where tokens are
// ordered, every state's writer is known and reads are claimed to be of the latest state; a write of
// unknown outcome may excuse two conflicts at two moments, of which only one can be. Where tokens
// are compared for equality only, and of guards on absence, it goes by real time and says less;
// deletes have a place among the tokens where the revisions of keys are the store's. A
// refusal of several guards at once is not judged: any of them may be the cause.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/update_chain.h"
#include "checkers/words.h"

namespace assay::conflicts {
namespace {

using update_chain::Scope;

bool refused(const KeyEvent& event) { return event.conflict && event.alone && event.guarded(); }

// A guard that was accepted found its token current.
bool held(const KeyEvent& event) { return event.ok() && event.guarded() && !event.creates(); }

// From when on a state provably was, until when it provably was.
struct Seen {
  Position first_ret = kOpen;
  Position last_call = 0;
  const KeyEvent* first = nullptr;
  const KeyEvent* last = nullptr;
  const KeyEvent* maker = nullptr;  // the accepted write
  void add(const KeyEvent& event) {
    if (!first || event.ret < first_ret) first_ret = event.ret, first = &event;
    if (!last || event.call > last_call) last_call = event.call, last = &event;
  }
};

class Key {
 public:
  Key(const History& history, const KeyTrack& track, const Scope& scope)
      : history_(history), track_(track), scope_(scope) {
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite) continue;
      if (event.may_have_happened()) writes_.push_back(&event);
      if (event.accepted()) by_return_.push_back(&event);
    }
    std::sort(by_return_.begin(), by_return_.end(),
              [](const KeyEvent* a, const KeyEvent* b) { return a->ret < b->ret; });
    fill_latest();
    if (scope.orderable) order();
    look();
    if (scope.orderable || !somebody_read_what_was_replaced()) return;
    reads_trusted_ = false;
    look();
  }

  std::optional<Finding> judge() {
    for (const KeyEvent& event : track_.events) {
      conflicts_ += event.conflict && event.guarded();
      judged_ += refused(event);
      accepted_ += event.ok() && event.guarded();
    }
    if (auto found = update_chain::accepted_on_an_old_token(history_, track_, scope_)) {
      if (found->anomaly == "lost update") found->anomaly = "accepted with an old token";
      return found;
    }
    for (const KeyEvent& event : track_.events) {
      if (auto found = refused(event) ? refusal(event) : acceptance(event)) return found;
    }
    return std::nullopt;
  }
  int64_t conflicts() const { return conflicts_; }
  int64_t judged() const { return judged_; }
  int64_t accepted() const { return accepted_; }

 private:
  // --- What is known.
  struct TwoLatest {
    const KeyEvent* best = nullptr;   // of the writes so far, the one that returned last
    const KeyEvent* other = nullptr;  // the next
  };
  void fill_latest() {
    TwoLatest latest;
    for (const KeyEvent* write : writes_) {
      if (!latest.best || write->ret > latest.best->ret) {
        latest.other = latest.best;
        latest.best = write;
      } else if (!latest.other || write->ret > latest.other->ret) {
        latest.other = write;
      }
      latest_.push_back(latest);
      const Position before = put_until_.empty() ? 0 : put_until_.back();
      put_until_.push_back(write->deletes() ? before : std::max(before, write->ret));
    }
    const KeyEvent *newest = nullptr, *deleted = nullptr;
    for (const KeyEvent* write : by_return_) {
      if (!newest || write->call > newest->call) newest = write;
      newest_.push_back(newest);
      if (write->deletes() && (!deleted || write->call > deleted->call)) deleted = write;
      newest_delete_.push_back(deleted);
    }
  }
  // A write but `maker`, invoked before `until`, that may have taken effect after `since`.
  const KeyEvent* other_write(const KeyEvent* maker, Position since, Position until) const {
    const auto end = std::lower_bound(
        writes_.begin(), writes_.end(), until,
        [](const KeyEvent* write, Position position) { return write->call < position; });
    if (end == writes_.begin()) return nullptr;
    const TwoLatest& latest = latest_[static_cast<size_t>(end - writes_.begin()) - 1];
    const KeyEvent* candidate = latest.best == maker ? latest.other : latest.best;
    return candidate && candidate->ret > since ? candidate : nullptr;
  }
  // Of the accepted writes that returned before it, the one invoked last.
  const KeyEvent* newest_before(Position position) const {
    const auto end = std::lower_bound(
        by_return_.begin(), by_return_.end(), position,
        [](const KeyEvent* write, Position before) { return write->ret < before; });
    return end == by_return_.begin() ? nullptr
                                     : newest_[static_cast<size_t>(end - by_return_.begin()) - 1];
  }

  // What it says of the token is of a moment between its invocation and its answer.
  bool observes(const KeyEvent& event) const {
    if (event.did == Did::kRead && !reads_trusted_) return false;
    return event.latest && event.tells_token() && !(event.did == Did::kGuard && event.ok());
  }

  void look() {
    seen_.clear();
    for (const KeyEvent& event : track_.events) {
      if (observes(event) && event.revision != Token(int64_t{0})) seen_[event.revision].add(event);
      if (held(event)) seen_[event.expected].add(event);
      if (event.accepted() && !event.revision.none()) seen_[event.revision].maker = &event;
    }
  }
  // By real time alone, for tokens without an order: a state was read after a write that was invoked
  // when the state had been seen, and had returned before the read was invoked.
  bool somebody_read_what_was_replaced() const {
    return std::any_of(track_.events.begin(), track_.events.end(), [&](const KeyEvent& event) {
      if (event.did != Did::kRead || !observes(event)) return false;
      const auto seen = seen_.find(event.revision);
      const KeyEvent* newer = newest_before(event.call);
      return seen != seen_.end() && newer && newer != seen->second.maker &&
             newer->call > seen->second.first_ret;
    });
  }

  // The states in order of their tokens, with what bounds them in time.
  struct State {
    int64_t revision;
    bool absent;
    Position made_from = kOpen;  // its write was invoked no earlier
    Position calls;              // the last invocation of any operation of it or of an earlier one
    Position rets;               // the first return of any of it or of a later one
    auto order() const { return std::pair(revision, absent); }
  };
  void order() {
    collect(/*guards=*/false);
    reads_trusted_ = !somebody_saw_the_past();
    collect(/*guards=*/true);
    bound();
  }
  void collect(bool guards) {
    states_.clear();
    identified_.clear();
    bool comparable = scope_.one_scale;
    for (const KeyEvent& event : track_.events) {
      const auto revision = number_of(event.revision), at = number_of(event.at);
      comparable &= !event.ok() || !revision || !at || *revision <= *at;
    }
    std::unordered_map<Value, const KeyEvent*, ValueHasher> unknown;  // nullptr: several of a value
    for (const KeyEvent* write : writes_) {
      const auto [at, fresh] = unknown.try_emplace(write->value, write);
      if (!fresh || write->ok()) at->second = nullptr;
    }
    for (const KeyEvent& event : track_.events) {
      if (const auto compared = number_of(event.expected); guards && held(event) && compared)
        states_.push_back({.revision = *compared, .absent = false, .calls = event.call,
                           .rets = event.ret});
      if (!observes(event)) continue;
      const auto revision = number_of(event.revision), at = number_of(event.at);
      if (!revision || (*revision == 0 && (!at || !comparable))) continue;
      State state{.revision = *revision ? *revision : *at, .absent = *revision == 0,
                  .calls = event.call, .rets = event.ret};
      if (event.accepted()) {
        state.made_from = event.call;
        identified_.insert(&event);
      } else if (event.ok() && !state.absent) {
        const auto made = unknown.find(event.value);
        if (made != unknown.end() && made->second) {
          state.made_from = made->second->call;
          identified_.insert(made->second);
        }
      }
      states_.push_back(state);
    }
    std::sort(states_.begin(), states_.end(),
              [](const State& a, const State& b) { return a.order() < b.order(); });
    size_t count = 0;
    for (const State& state : states_) {
      if (count == 0 || states_[count - 1].order() != state.order()) {
        states_[count++] = state;
        continue;
      }
      State& merged = states_[count - 1];
      merged.made_from = std::min(merged.made_from, state.made_from);
      merged.calls = std::max(merged.calls, state.calls);
      merged.rets = std::min(merged.rets, state.rets);
    }
    states_.resize(count);
  }
  void bound() {
    for (size_t i = 1; i < states_.size(); ++i)
      states_[i].calls = std::max(states_[i].calls, states_[i - 1].calls);
    for (size_t i = states_.size(); i-- > 1;)
      states_[i - 1].rets = std::min(states_[i].rets, states_[i - 1].rets);
    for (const KeyEvent* write : writes_)
      if (!identified_.contains(write)) free_from_ = std::min(free_from_, write->call);
    // A delete that was acknowledged may have found the key gone already.
    for (const KeyEvent* write : writes_) {
      if (write->type != OpType::kInfo || !write->deletes()) continue;
      for (State& state : states_)
        if (state.absent) state.made_from = std::min(state.made_from, write->call);
      break;
    }
    for (State& state : states_)
      if (state.made_from == kOpen) state.made_from = free_from_ == kOpen ? 0 : free_from_;
  }

  // Something of an earlier state was invoked after something of a later one had returned: that reads
  // are of the latest state is then no more than claimed (version-order's matter).
  bool somebody_saw_the_past() const {
    Position calls = 0;
    for (const State& state : states_) {
      if (state.rets < calls) return true;
      calls = std::max(calls, state.calls);
    }
    return false;
  }

  // --- What is judged.
  std::optional<Finding> refusal(const KeyEvent& conflict) const {
    const std::string author = author_text(history_[conflict.id]);
    if (!conflict.revision.none() && conflict.revision == conflict.expected)
      return Finding{"refused without cause",
                     author + " was refused although what its answer names as current, " +
                         token_text(conflict.revision) + ", is what it compared",
                     {conflict},
                     {}};
    if (auto found = current_of_nobody(conflict)) return found;
    if (conflict.creates()) return refused_creation(conflict);
    const auto at = seen_.find(conflict.expected);
    if (at == seen_.end()) return std::nullopt;  // who knows when it was current
    const Seen& seen = at->second;
    if (conflict.call < seen.first_ret) return std::nullopt;  // it may not have been yet
    const bool differs = scope_.orderable && conflict.expected.is_number()
                             ? differs_in_order(conflict)
                             : differs_in_time(conflict, seen);
    if (differs) return std::nullopt;
    Finding finding{"refused without cause",
                    author + " was refused although revision " + token_text(conflict.expected) +
                        ", which it compared, was current throughout",
                    {*seen.first, conflict},
                    {}};
    if (seen.last_call > conflict.ret && seen.last != seen.first)
      finding.events.push_back(*seen.last);
    return finding;
  }
  bool differs_in_time(const KeyEvent& conflict, const Seen& seen) const {
    return conflict.ret > seen.last_call &&
           other_write(seen.maker, seen.last_call, conflict.ret) != nullptr;
  }
  bool differs_in_order(const KeyEvent& conflict) const {
    const std::pair own(*number_of(conflict.expected), false);
    const auto state = std::lower_bound(
        states_.begin(), states_.end(), own,
        [](const State& a, const std::pair<int64_t, bool>& b) { return a.order() < b; });
    if (state == states_.end() || state->order() != own) return true;
    if (conflict.call < state->rets) return true;  // before it was made
    const auto next = std::next(state);
    const Position until = next == states_.end() ? kOpen : next->rets;
    if (next != states_.end() && conflict.ret > std::max(state->calls, next->made_from)) return true;
    // A state that nobody saw, between this one and the next.
    return std::max({conflict.call, state->calls, free_from_}) < std::min(conflict.ret, until);
  }

  std::optional<Finding> current_of_nobody(const KeyEvent& conflict) const {
    if (conflict.revision.none() || !scope_.origins_known ||
        !history_.header().initial_of(track_.key).is_null())
      return std::nullopt;
    const std::string author = author_text(history_[conflict.id]);
    if (conflict.revision == Token(int64_t{0})) {
      const KeyEvent* there = newest_before(conflict.call);
      const bool ever_deleted =
          std::any_of(writes_.begin(), writes_.end(),
                      [](const KeyEvent* write) { return write->deletes(); });
      if (!there || ever_deleted) return std::nullopt;
      return Finding{"refused for an absence that was none",
                     author + " was told that the key was absent, which nobody had deleted",
                     {*there, conflict},
                     {}};
    }
    const auto at = seen_.find(conflict.revision);
    if (at != seen_.end() && at->second.maker && at->second.maker->call < conflict.ret)
      return std::nullopt;
    for (const KeyEvent* write : writes_) {
      if (write->call > conflict.ret) break;
      const bool untold = write->type == OpType::kInfo || write->revision.none();
      if (untold && !write->deletes()) return std::nullopt;
    }
    // What was there before the first write is of before this history.
    if (at != seen_.end() && !writes_.empty() && at->second.first_ret < writes_[0]->call)
      return std::nullopt;
    if (writes_.empty()) return std::nullopt;
    return Finding{"refused for a state that nobody made",
                   author + " was told that revision " + token_text(conflict.revision) +
                       " was current, which no write had made",
                   {conflict},
                   {}};
  }

  std::optional<Finding> refused_creation(const KeyEvent& conflict) const {
    if (!scope_.origins_known || !history_.header().initial_of(track_.key).is_null())
      return std::nullopt;
    // The last delete that had returned: what returned before it was invoked is gone.
    const auto over = std::upper_bound(
        by_return_.begin(), by_return_.end(), conflict.call,
        [](Position position, const KeyEvent* write) { return position < write->ret; });
    const KeyEvent* deleted =
        over == by_return_.begin()
            ? nullptr
            : newest_delete_[static_cast<size_t>(over - by_return_.begin()) - 1];
    const auto asked = std::upper_bound(
        writes_.begin(), writes_.end(), conflict.ret,
        [](Position position, const KeyEvent* write) { return position < write->call; });
    if (asked != writes_.begin() &&
        put_until_[static_cast<size_t>(asked - writes_.begin()) - 1] > (deleted ? deleted->call : 0))
      return std::nullopt;
    for (const KeyEvent& event : track_.events)
      if (event.did == Did::kRead && event.ok() && !event.value.is_null() &&
          (writes_.empty() || event.ret < writes_[0]->call))
        return std::nullopt;  // it was there before this history
    if (writes_.empty()) return std::nullopt;
    Finding finding{"refused without cause",
                    author_text(history_[conflict.id]) +
                        " was refused to create the key although it was absent throughout",
                    {conflict},
                    {}};
    if (deleted) finding.events.push_back(*deleted);
    return finding;
  }

  // A state, or an absence, that was seen between the one compared and that of the write.
  std::optional<Finding> skipped(const KeyEvent& event) const {
    const auto expected = number_of(event.expected);
    if (event.deletes() && !scope_.one_scale) return std::nullopt;
    const auto own = number_of(event.deletes() ? event.at : event.revision);
    if (!expected || !own || event.did != Did::kWrite) return std::nullopt;
    const std::pair compared(*expected, false), made(*own, event.deletes());
    const auto next = std::upper_bound(
        states_.begin(), states_.end(), compared,
        [](const std::pair<int64_t, bool>& a, const State& b) { return a < b.order(); });
    if (next == states_.end() || next->order() > made) return std::nullopt;
    // Its own state; or the key was seen to be gone, at that revision, before it was asked.
    if (next->order() == made && !(next->absent && next->rets < event.call)) return std::nullopt;
    Finding finding{"accepted with an old token",
                    author_text(history_[event.id]) + " had its guard accepted on revision " +
                        token_text(event.expected) + ", though the key was " +
                        (next->absent ? "gone at revision " : "at revision ") +
                        std::to_string(next->revision) + " before",
                    {event},
                    {}};
    for (const KeyEvent& other : track_.events) {
      const bool absent = other.revision == Token(int64_t{0});
      if (!observes(other) || absent != next->absent ||
          number_of(absent ? other.at : other.revision) != next->revision)
        continue;
      finding.events.push_back(other);
      break;
    }
    return finding;
  }
  std::optional<Finding> acceptance(const KeyEvent& event) const {
    if (!held(event) || event.did == Did::kRead) return std::nullopt;
    if (scope_.orderable) {
      if (auto found = skipped(event)) return found;
    }
    const auto at = seen_.find(event.expected);
    const KeyEvent* newer = newest_before(event.call);
    if (at == seen_.end() || !newer || newer->call < at->second.first_ret) return std::nullopt;
    return Finding{"accepted with an old token",
                   author_text(history_[event.id]) + " had its guard accepted on revision " +
                       token_text(event.expected) + ", which " +
                       author_text(history_[newer->id]) + " had replaced before",
                   {*at->second.first, *newer, event},
                   {}};
  }

  const History& history_;
  const KeyTrack& track_;
  const Scope& scope_;
  std::unordered_map<Token, Seen, TokenHasher> seen_;
  std::vector<const KeyEvent*> writes_;     // that may have happened, by call
  std::vector<TwoLatest> latest_;           // of the first so many of them
  std::vector<Position> put_until_;         // … when the last of them that puts returned
  std::vector<const KeyEvent*> by_return_;  // accepted ones
  std::vector<const KeyEvent*> newest_;     // of the first so many of them, the one invoked last
  std::vector<const KeyEvent*> newest_delete_;  // … the delete
  std::vector<State> states_;
  std::unordered_set<const KeyEvent*> identified_;  // writes that made known states
  bool reads_trusted_ = true;
  Position free_from_ = kOpen;  // an unknown write that is no known state was invoked no earlier
  int64_t conflicts_ = 0;
  int64_t judged_ = 0;
  int64_t accepted_ = 0;
};

class Conflicts : public Checker {
 public:
  std::string_view name() const override { return "conflicts"; }
  std::string_view summary() const override {
    return "a guarded write is refused only where its token may have differed, and accepted only "
           "where it was current";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (!op.expected().none()) return true;
      if (op.f() == f::txn && !op.invoke_extra()["guards"].is_null()) return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "conflicts"};
    const Scope scope = update_chain::scope_of(history);
    Findings findings(history, verdict);
    int64_t conflicts = 0, judged = 0, accepted = 0;
    each_key(KeyEvents(history), budget, verdict, [&](const KeyTrack& track) {
      Key key(history, track, scope);
      if (auto found = key.judge()) findings.add(track.key, std::move(*found));
      conflicts += key.conflicts();
      judged += key.judged();
      accepted += key.accepted();
    });
    findings.conclude();
    verdict.counts = {{"conflicts", conflicts}, {"judged", judged}, {"guards accepted", accepted}};
    if (judged < conflicts)
      verdict.facts.emplace_back(fact::kNotTested,
                                 counted(static_cast<size_t>(conflicts - judged), "refusal",
                                         "refusals") +
                                     " of several guards at once: any of them may be the cause");
    if (judged + accepted == 0)
      nothing_judged("no guarded write was accepted or refused: there is no guard to judge",
                     "answers to guarded writes", "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = counted(static_cast<size_t>(judged), "conflict has", "conflicts have") +
                       " a moment at which the token may have differed, and " +
                       counted(static_cast<size_t>(accepted), "guard", "guards") +
                       " one at which it held";
    return verdict;
  }
};

}  // namespace
}  // namespace assay::conflicts

namespace assay {

const Checker& conflicts_checker() {
  static const conflicts::Conflicts checker;
  return checker;
}

}  // namespace assay
