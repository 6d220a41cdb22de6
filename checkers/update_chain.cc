// update-chain: do the accepted guarded writes of each key form one path? (K3) Two writes that were
// both accepted over the same state are the lost update: one author never saw what the other wrote.
//
// Judged, per key, of accepted writes on condition that a token was current:
//   fork      no two compared the same token (0, absent, recurs after a delete: unique-names)
//   origin    every token that was compared had been given: by an acknowledged write that was
//             invoked before, or it may be of one of those that are unknown, or were acknowledged
//             without a token, each of which made one state at most (and the value that was read
//             with it, where one was, is what it wrote)
//   between   where tokens are ordered, no state that was ever acknowledged or read lies between
//             the token compared and that of the write, nor, on the store's scale, a delete
// And of accepted writes without a token, whose author says what it read (extra `intent`, or `saw`):
//   basis     the state that the author had read last was not replaced by another author's write
//             that was invoked after that read returned and acknowledged before this one was
//             invoked
// The count "updates lost" is of all accepted writes whose author had not read the state that it
// replaced, of those that are known: where tokens are ordered, the one before its own; else one that
// another write had compared as well; and what `basis` finds.
// Exact for histories in which all tokens are known; a state that nobody ever saw, made by a write of
// unknown outcome, cannot be found missing. `basis` says less: it knows real time alone.
#include "checkers/update_chain.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::update_chain {
namespace {

class Chain {
 public:
  Chain(const History& history, const KeyTrack& track, const Scope& scope)
      : history_(history), track_(track), scope_(scope) {}

  std::optional<Finding> old_token() {
    for (const auto rule : {&Chain::fork, &Chain::between, &Chain::origin}) {
      if (auto found = (this->*rule)()) return found;
    }
    return std::nullopt;
  }
  std::optional<Finding> judge() {
    auto by_basis = basis();  // counts, whatever else there is
    for (const auto rule : {&Chain::fork, &Chain::between, &Chain::origin}) {
      if (auto found = (this->*rule)()) return found;
    }
    return by_basis;
  }
  int64_t guarded() const { return guarded_; }
  int64_t lost() const {
    return lost_by_basis_ + (scope_.orderable ? lost_by_order() : lost_by_forks());
  }
  int64_t by_basis() const { return by_basis_; }

 private:
  bool compared_token(const KeyEvent& event) const {
    return event.accepted() && event.guarded() && !event.creates();
  }

  std::optional<Finding> fork() {
    std::unordered_map<Token, const KeyEvent*, TokenHasher> first;
    std::optional<Finding> found;
    for (const KeyEvent& event : track_.events) {
      guarded_ += event.accepted() && event.guarded();
      if (!compared_token(event) || found) continue;
      const auto [at, fresh] = first.try_emplace(event.expected, &event);
      if (fresh) continue;
      const Operation a = history_[at->second->id], b = history_[event.id];
      found = Finding{"lost update",
                      author_text(a) + " and " + author_text(b) +
                          " both had a write accepted on condition that revision " +
                          token_text(event.expected) + " was current: neither saw the other's",
                      {*at->second, event},
                      {}};
    }
    return found;
  }

  // The states of the key that anybody knows, in the order of their tokens.
  struct State {
    int64_t revision;
    const KeyEvent* by;
    bool before(const State& other) const {
      return std::pair(revision, !by->accepted()) < std::pair(other.revision, !other.by->accepted());
    }
  };
  std::vector<State> states() const {
    std::vector<State> states;
    for (const KeyEvent& event : track_.events) {
      const auto revision = number_of(event.revision), at = number_of(event.at);
      if (event.tells_token() && revision && *revision > 0)
        states.push_back({*revision, &event});
      else if (event.accepted() && event.deletes() && scope_.one_scale && at)
        states.push_back({*at, &event});
    }
    std::sort(states.begin(), states.end(),
              [](const State& a, const State& b) { return a.before(b); });
    return states;
  }
  std::optional<Finding> between() {
    if (!scope_.orderable) return std::nullopt;
    const std::vector<State> known = states();
    for (const KeyEvent& event : track_.events) {
      if (!compared_token(event)) continue;
      const auto expected = number_of(event.expected);
      auto own = number_of(event.revision);
      if (event.deletes()) own = scope_.one_scale ? number_of(event.at) : std::nullopt;
      if (!expected || !own) continue;
      if (event.deletes() ? *expected > *own : *expected >= *own)
        return Finding{"guard on a later state",
                       author_text(history_[event.id]) +
                           " had a write accepted on condition that a revision was current that is "
                           "not older than its own",
                       {event},
                       {}};
      auto next = std::upper_bound(known.begin(), known.end(), *expected,
                                   [](int64_t revision, const State& state) {
                                     return revision < state.revision;
                                   });
      while (next != known.end() && next->by == &event) ++next;
      if (next == known.end() || next->revision >= *own) continue;
      return Finding{"lost update",
                     author_text(history_[event.id]) + " had a write accepted on condition that " +
                         "revision " + token_text(event.expected) + " was current, over revision " +
                         std::to_string(next->revision) + " of " +
                         author_text(history_[next->by->id]),
                     {*next->by, event},
                     {}};
    }
    return std::nullopt;
  }

  int64_t lost_by_order() const {
    const std::vector<State> known = states();
    int64_t lost = 0;
    for (size_t i = 1; i < known.size(); ++i) {
      const KeyEvent& write = *known[i].by;
      const auto expected = number_of(write.expected);
      if (!write.accepted() || !expected || known[i - 1].revision == known[i].revision) continue;
      const bool absent = known[i - 1].by->deletes();
      lost += known[i - 1].revision > *expected && !(absent && *expected == 0);
    }
    return lost;
  }
  int64_t lost_by_forks() const {
    std::unordered_map<Token, int64_t, TokenHasher> over;
    int64_t lost = 0;
    for (const KeyEvent& event : track_.events)
      if (compared_token(event)) lost += over[event.expected]++ > 0;
    return lost;
  }

  // A token that no acknowledged write gave.
  struct Orphan {
    Token token;
    const KeyEvent* by;  // the accepted write that compared it and returned first
    const Value* value = nullptr;
  };
  std::vector<Orphan> orphans() const {
    std::unordered_map<Token, Position, TokenHasher> given;  // from when on
    Position first_write = kOpen;
    for (const KeyEvent& event : track_.events) {
      if (event.did == Did::kWrite && event.may_have_happened())
        first_write = std::min(first_write, event.call);
    }
    for (const KeyEvent& event : track_.events) {
      const bool initial = event.ok() && event.did == Did::kRead && event.ret < first_write;
      if ((!event.accepted() && !initial) || event.revision.none()) continue;
      const auto [at, fresh] = given.try_emplace(event.revision, event.call);
      if (!fresh) at->second = std::min(at->second, event.call);
    }
    std::unordered_map<Token, Orphan, TokenHasher> orphans;
    for (const KeyEvent& event : track_.events) {
      if (!compared_token(event)) continue;
      const auto at = given.find(event.expected);
      if (at != given.end() && at->second < event.ret) continue;
      const auto [orphan, fresh] = orphans.try_emplace(event.expected, Orphan{event.expected, &event});
      if (!fresh && event.ret < orphan->second.by->ret) orphan->second.by = &event;
    }
    std::vector<Orphan> all;
    if (orphans.empty()) return all;
    for (const KeyEvent& event : track_.events) {
      if (!event.ok() || event.did != Did::kRead) continue;
      const auto at = orphans.find(event.revision);
      if (at != orphans.end()) at->second.value = &event.value;
    }
    for (const auto& [token, orphan] : orphans) all.push_back(orphan);
    std::sort(all.begin(), all.end(),
              [](const Orphan& a, const Orphan& b) { return a.by->ret < b.by->ret; });
    return all;
  }
  // Gives each orphan a write whose token nobody knows and that was invoked before it was compared:
  // first those of which the value is known, each the latest that will do, so that the early ones are
  // left for the others.
  std::optional<Finding> origin() {
    if (!scope_.origins_known || !history_.header().initial_of(track_.key).is_null())
      return std::nullopt;
    const std::vector<Orphan> missing = orphans();
    if (missing.empty()) return std::nullopt;
    std::unordered_map<Value, std::vector<const KeyEvent*>, ValueHasher> of_value;
    std::vector<const KeyEvent*> unknown;
    for (const KeyEvent& event : track_.events) {
      const bool untold = event.type == OpType::kInfo || (event.accepted() && event.revision.none());
      if (event.did != Did::kWrite || !untold || event.deletes()) continue;
      unknown.push_back(&event);
      of_value[event.value].push_back(&event);
    }
    std::unordered_map<const KeyEvent*, bool> used;
    struct Stack {
      size_t next = 0;
      std::vector<const KeyEvent*> candidates;
    };
    std::unordered_map<Value, Stack, ValueHasher> stacks;
    const auto take = [&](Stack& stack, const std::vector<const KeyEvent*>& from, Position before) {
      for (; stack.next < from.size() && from[stack.next]->call < before; ++stack.next)
        if (!used[from[stack.next]]) stack.candidates.push_back(from[stack.next]);
      if (stack.candidates.empty()) return false;
      used[stack.candidates.back()] = true;
      stack.candidates.pop_back();
      return true;
    };
    for (const Orphan& orphan : missing) {
      if (orphan.value && !take(stacks[*orphan.value], of_value[*orphan.value], orphan.by->ret))
        return nobodys(orphan);
    }
    Stack rest;
    for (const Orphan& orphan : missing) {
      if (!orphan.value && !take(rest, unknown, orphan.by->ret)) return nobodys(orphan);
    }
    return std::nullopt;
  }
  Finding nobodys(const Orphan& orphan) const {
    Finding finding{"guard on a state that nobody made",
                    author_text(history_[orphan.by->id]) + " had a write accepted on condition that " +
                        "revision " + token_text(orphan.token) +
                        " was current, which no write had made",
                    {*orphan.by},
                    {}};
    for (const KeyEvent& event : track_.events) {
      if (!event.accepted() || event.revision != orphan.token) continue;
      finding.events.push_back(event);  // only later
      break;
    }
    // A write that is recorded as failed may be behind it all the same.
    for (const KeyEvent& event : track_.events) {
      const bool fits = !orphan.value || event.value == *orphan.value;
      if (event.did != Did::kWrite || event.type != OpType::kFail || !fits) continue;
      finding.events.push_back(event);
      break;
    }
    return finding;
  }

  // Who writes; null where the operation does not say what its author knew.
  Value author(const Operation& operation) const {
    const Value extra = operation.invoke_extra();
    if (!extra["intent"].is_null()) return extra["intent"];
    if (extra["saw"].is_null() && operation.f() != f::read && operation.f() != f::list) return {};
    return Value::pair("process", operation.process().id);
  }
  struct Unguarded {
    const KeyEvent* write;
    KeyEvent basis;
    Value author;
  };
  std::vector<Unguarded> unguarded() const {
    std::vector<Unguarded> all;
    const bool any = std::any_of(track_.events.begin(), track_.events.end(), [&](const KeyEvent& e) {
      return e.accepted() && !e.guarded() && !author(history_[e.id]).is_null();
    });
    if (!any) return all;
    std::unordered_map<Value, const KeyEvent*, ValueHasher> known;  // by author: what it read last
    for (const KeyEvent& event : track_.events) {
      if (!event.ok() || event.did == Did::kGuard) continue;
      const Value by = author(history_[event.id]);
      if (by.is_null()) continue;
      const auto basis = known.find(by);
      if (event.accepted() && !event.guarded() && basis != known.end() &&
          basis->second->ret < event.call)
        all.push_back({&event, *basis->second, by});
      known[by] = &event;
    }
    return all;
  }
  std::optional<Finding> basis() {
    std::vector<Unguarded> judged = unguarded();
    std::optional<Finding> found;
    by_basis_ += static_cast<int64_t>(judged.size());
    if (judged.empty()) return std::nullopt;
    std::vector<const KeyEvent*> writes;  // by return
    for (const KeyEvent& event : track_.events)
      if (event.accepted()) writes.push_back(&event);
    std::sort(writes.begin(), writes.end(),
              [](const KeyEvent* a, const KeyEvent* b) { return a->ret < b->ret; });
    // Of those that have returned: the one invoked last, and the last one of another author.
    const KeyEvent *latest = nullptr, *other = nullptr;
    Value latest_author;
    size_t next = 0;
    for (const Unguarded& one : judged) {
      for (; next < writes.size() && writes[next]->ret < one.write->call; ++next) {
        const KeyEvent* write = writes[next];
        const Value by = author(history_[write->id]);
        const bool same = latest && !by.is_null() && by == latest_author;
        if (!latest || write->call > latest->call) {
          if (latest && !same) other = latest;
          latest = write;
          latest_author = by;
        } else if (!same && (!other || write->call > other->call)) {
          other = write;
        }
      }
      const KeyEvent* replaced = latest && latest_author == one.author ? other : latest;
      if (!replaced || replaced->call <= one.basis.ret) continue;
      if (++lost_by_basis_ > 1) continue;
      found = Finding{"lost update",
                      author_text(history_[one.write->id]) + " wrote " +
                          one.write->value.to_json() + " over what " +
                          author_text(history_[replaced->id]) +
                          " had written since it read: stale basis accepted",
                      {one.basis, *replaced, *one.write},
                      {}};
    }
    return found;
  }

  const History& history_;
  const KeyTrack& track_;
  const Scope& scope_;
  int64_t guarded_ = 0;
  int64_t by_basis_ = 0;
  int64_t lost_by_basis_ = 0;
};

class UpdateChain : public Checker {
 public:
  std::string_view name() const override { return "update-chain"; }
  std::string_view summary() const override {
    return "accepted guarded writes of a key form one path: no update is lost";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (!op.expected().none()) return true;
      const Value extra = op.invoke_extra();
      if (extra.is_null() || op.f() == f::read || op.f() == f::list) continue;
      if (!extra["guards"].is_null() || !extra["intent"].is_null() || !extra["saw"].is_null())
        return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  // A fork stays one, whatever follows. Not the rest: the scale of revisions may still show, and the
  // tokens of a prefix may be of writes that have not returned.
  bool refutes(const History& prefix, const Budget& budget) const override {
    const Scope scope{.orderable = false, .one_scale = false, .origins_known = false};
    Verdict ignored;
    bool found = false;
    each_key(KeyEvents(prefix), budget, ignored, [&](const KeyTrack& track) {
      found = found || Chain(prefix, track, scope).judge();
    });
    return found;
  }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "update-chain"};
    const Scope scope = scope_of(history);
    Findings findings(history, verdict);
    int64_t guarded = 0, by_basis = 0, lost = 0;
    const KeyEvents events(history);
    each_key(events, budget, verdict, [&](const KeyTrack& track) {
      Chain chain(history, track, scope);
      if (auto found = chain.judge()) findings.add(track.key, std::move(*found));
      guarded += chain.guarded();
      by_basis += chain.by_basis();
      lost += chain.lost();
    });
    findings.conclude();
    verdict.counts = {{"guarded writes accepted", guarded}, {"judged by what they read", by_basis}, {"updates lost", lost}};
    if (guarded + by_basis == 0)
      nothing_judged("no guarded write was accepted: there is no chain to judge",
                     "guarded writes that were accepted", "longer: `--time-limit 60s`", verdict);
    if (!scope.orderable && guarded > 0)
      verdict.facts.emplace_back(fact::kConvention, "tokens are compared for equality only");
    if (verdict.reason.empty())
      verdict.reason = "each of " +
                       counted(static_cast<size_t>(guarded + by_basis), "accepted write",
                               "accepted writes") +
                       " saw the state that it replaced";
    return verdict;
  }
};

}  // namespace

Scope scope_of(const History& history) {
  return {.orderable = history.header().token_orderable,
          .one_scale = one_scale(history),
          .origins_known = !changes_in_other_words(history)};
}

std::optional<Finding> accepted_on_an_old_token(const History& history, const KeyTrack& track,
                                                const Scope& scope) {
  return Chain(history, track, scope).old_token();
}

}  // namespace assay::update_chain

namespace assay {

const Checker& update_chain_checker() {
  static const update_chain::UpdateChain checker;
  return checker;
}

}  // namespace assay
