// A versioned store in small, with mistakes planted, and what its histories are by definition: slow,
// and obviously right. For tests alone.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/rng.h"

namespace assay::versioned_oracle {

enum class What : uint8_t { kRead, kWrite, kDelete };
enum class End : uint8_t { kOk, kConflict, kUnknown };

// One operation, by a process of its own. 0 is absence, as a value and as a token.
struct Act {
  int key = 0;
  What what = What::kRead;
  End end = End::kOk;
  bool guarded = false;
  int64_t expected = 0;
  int64_t value = 0;     // written (each once), or read
  int64_t revision = 0;  // ok: of the state; conflict: current, -1: not said
  int64_t at = 0;
  int call = 0;
  int ret = 0;

  bool writes() const { return what != What::kRead; }
  bool accepted() const { return writes() && end == End::kOk; }
  bool unknown() const { return end == End::kUnknown; }
  bool deletes() const { return what == What::kDelete; }
};

struct Wrongs {  // one in so many; 0: never
  uint64_t guard_ignored = 12, refused = 12, stale_read = 12, token_reused = 20, spoilt = 6;
};

class Simulation {
 public:
  Simulation(Rng& rng, const Wrongs& wrongs) : rng_(rng), wrongs_(wrongs) {}
  std::vector<Act> run() {
    const size_t wanted = 4 + rng_.below(5);
    const int keys = 1 + static_cast<int>(rng_.below(2));
    std::vector<int> open(1 + rng_.below(3), -1);
    std::vector<bool> done(open.size());
    int time = 0;
    for (size_t busy = 0; acts_.size() < wanted || busy > 0;) {
      const size_t p = rng_.below(open.size());
      if (open[p] < 0) {
        if (acts_.size() == wanted) continue;
        open[p] = static_cast<int>(acts_.size());
        done[p] = false;
        acts_.push_back(invoke(keys, time++));
        ++busy;
      } else if (!done[p]) {
        effect(acts_[static_cast<size_t>(open[p])]);
        done[p] = true;
      } else {
        acts_[static_cast<size_t>(open[p])].ret = time++;
        open[p] = -1;
        --busy;
      }
    }
    for (Act& act : acts_) spoil(act);
    return std::move(acts_);
  }

 private:
  struct State {
    int64_t value = 0, revision = 0, was = 0;  // was: the last token that the key ever had
  };
  bool one_in(uint64_t n) { return n > 0 && rng_.chance(1, n); }
  Act invoke(int keys, int time) {
    Act act{.key = static_cast<int>(rng_.below(static_cast<uint64_t>(keys))), .call = time};
    const uint64_t draw = rng_.below(10);
    act.what = draw < 4 ? What::kRead : draw < 9 ? What::kWrite : What::kDelete;
    const State& now = keys_[act.key].back();
    act.guarded = act.writes() && rng_.chance(2, 3);
    if (act.guarded) {
      const auto& all = keys_[act.key];
      act.expected = rng_.chance(2, 3) ? now.revision : all[rng_.below(all.size())].revision;
    }
    if (act.what == What::kWrite) act.value = ++values_;
    if (act.writes() && rng_.chance(1, 6)) act.end = End::kUnknown;
    return act;
  }
  void effect(Act& act) {
    auto& states = keys_[act.key];
    const State now = states.back();
    if (!act.writes()) {
      const size_t seen = one_in(wrongs_.stale_read) ? rng_.below(states.size()) : states.size() - 1;
      act.value = states[seen].value;
      act.revision = states[seen].revision;
      act.at = revision_;
      return;
    }
    if (act.unknown() && rng_.chance(1, 2)) return;  // it never happened
    const bool holds = !act.guarded || act.expected == now.revision || one_in(wrongs_.guard_ignored);
    if (!holds || (act.guarded && one_in(wrongs_.refused))) {
      if (!act.unknown()) {
        act.end = End::kConflict;
        act.revision = rng_.chance(1, 3) ? -1 : now.revision;
        act.at = revision_;
      }
      return;
    }
    if (!act.deletes() || now.revision != 0) ++revision_;
    State next{.value = act.value, .revision = act.deletes() ? 0 : revision_, .was = revision_};
    if (!act.deletes() && now.was > 0 && one_in(wrongs_.token_reused)) next.revision = now.was;
    states.push_back(next);
    if (act.unknown()) return;
    act.revision = next.revision;
    act.at = revision_;
  }
  void spoil(Act& act) {
    if (!one_in(wrongs_.spoilt)) return;
    const uint64_t draw = rng_.below(4);
    const auto any = [&] { return 1 + static_cast<int64_t>(rng_.below(5)); };
    if (draw == 0 && act.guarded) act.expected = any();
    if (draw == 1 && act.end == End::kConflict) act.revision = any();
    if (draw == 2 && act.what == What::kWrite && act.end == End::kOk) act.revision = any();
    if (draw == 3 && act.what == What::kRead && act.revision != 0) act.revision = any();
    act.at = std::max(act.at, act.revision);
  }

  Rng& rng_;
  const Wrongs wrongs_;
  std::vector<Act> acts_;
  std::vector<State> keys_[2] = {{State{}}, {State{}}};
  int64_t revision_ = 1;
  int64_t values_ = 0;
};

inline History history_of(const std::vector<Act>& acts, bool orderable) {
  static const Symbol keys[2] = {Symbol("a"), Symbol("b")}, conflict("conflict"), timeout("timeout");
  std::vector<std::pair<int, size_t>> lines;
  for (size_t i = 0; i < acts.size(); ++i) {
    lines.emplace_back(acts[i].call, i);
    lines.emplace_back(acts[i].ret, i);
  }
  std::sort(lines.begin(), lines.end());
  HistoryBuilder builder;
  HistoryHeader header;
  header.present = true;
  header.token_orderable = orderable;
  builder.set_header(header);
  std::vector<Op> open(acts.size());
  for (const auto& [time, i] : lines) {
    const Act& act = acts[i];
    Op& op = open[i];
    if (time == act.call) {
      op.process = {static_cast<int64_t>(i)};
      op.f = act.what == What::kRead ? f::read : act.what == What::kWrite ? f::write : f::delete_;
      op.key = keys[act.key];
      if (act.what == What::kWrite) op.value = act.value;
      if (act.guarded) op.expected = Token(act.expected);
    } else {
      op = complete(op, act.end == End::kOk         ? OpType::kOk
                        : act.end == End::kConflict ? OpType::kFail
                                                    : OpType::kInfo);
      if (act.what == What::kRead) op.value = act.value ? Value(act.value) : Value();
      if (act.end == End::kOk) op.revision = Token(act.revision);
      if (act.end == End::kConflict)
        op.error = OpError{conflict, "", act.revision < 0 ? Token() : Token(act.revision), {}};
      if (act.end == End::kUnknown) op.error = OpError{timeout, "", Token(), {}};
      if (act.end != End::kUnknown) op.at = Token(act.at);
    }
    (void)builder.add(op).ok();
  }
  return builder.build();
}

inline std::string text_of(const std::vector<Act>& acts) {
  std::string text;
  for (size_t i = 0; i < acts.size(); ++i) {
    const Act& a = acts[i];
    text += "p" + std::to_string(i) + " " + (a.key ? "b" : "a") + " [" + std::to_string(a.call) + "," +
            std::to_string(a.ret) + "] " +
            (a.what == What::kRead ? "read" : a.deletes() ? "delete" : "write") + " " +
            std::to_string(a.value) + (a.guarded ? " if " + std::to_string(a.expected) : "") +
            (a.end == End::kOk ? " ok" : a.end == End::kConflict ? " conflict" : " unknown") + " r" +
            std::to_string(a.revision) + " at" + std::to_string(a.at) + "\n";
  }
  return text;
}

inline std::vector<Act> of_key(const std::vector<Act>& acts, int key) {
  std::vector<Act> own;
  for (const Act& act : acts)
    if (act.key == key) own.push_back(act);
  return own;
}

// --- Every order of the operations of one key.

// How the search reads the operations.
struct Reading {
  bool guards = false;  // an accepted guard holds where it takes effect
  // A state that was seen and that nobody acknowledged may be anybody's, at any time (else: of one of
  // the unknown writes, after its call).
  bool ghosts = false;
  int conflict = -1;  // this one stands in the order where the token is not the one compared
};

class Orders {
 public:
  Orders(const std::vector<Act>& acts, const Reading& reading) : acts_(acts), reading_(reading) {
    for (const Act& act : acts) {
      if (act.accepted() && !act.deletes()) made_.insert(act.revision);
      unknown_delete_ |= act.unknown() && act.deletes();
    }
  }
  bool any() { return place({}, 0); }

 private:
  struct State {
    int64_t value = 0;
    int64_t token = 0;     // 0: absent; -1: of an unknown write, not known yet
    int64_t highest = 0;   // no later state has a token as low
    int64_t is_not = 0;    // of a token that is not known yet
  };
  // Whether it must stand in the order; what need not may be left out for good.
  bool must(size_t i) const {
    const Act& act = acts_[i];
    if (act.unknown()) return false;
    if (act.end == End::kConflict) return act.revision >= 0 || static_cast<int>(i) == reading_.conflict;
    return true;
  }
  bool place(State state, uint32_t placed) {
    bool complete = true;
    for (size_t i = 0; i < acts_.size(); ++i) complete &= (placed >> i & 1) || !must(i);
    if (complete) return true;
    for (size_t i = 0; i < acts_.size(); ++i) {
      if (placed >> i & 1) continue;
      if (!must(i) && !(acts_[i].unknown() && !reading_.ghosts && acts_[i].writes())) continue;
      bool may = true;
      for (size_t j = 0; j < acts_.size() && may; ++j)
        may = (placed >> j & 1) || !must(j) || acts_[j].ret > acts_[i].call;
      if (!may) continue;
      State next = state;
      if (step(static_cast<int>(i), next) && place(next, placed | 1u << i)) return true;
    }
    return false;
  }
  // Is the token of the state this one? Makes it so where it may be.
  bool is(State& state, int64_t token) const {
    if (state.token == token) return true;
    if (token <= 0 || made_.contains(token) || token <= state.highest) return false;
    if (state.token == -1 && token == state.is_not) return false;
    if (reading_.ghosts) {
      state.value = -1;
    } else if (state.token != -1) {
      return false;
    }
    state.token = state.highest = token;
    return true;
  }
  bool absent(State& state, int64_t at) const {
    if (at < state.highest) return false;
    if (state.token != 0 && !(reading_.ghosts && unknown_delete_)) return false;
    state = {.value = 0, .token = 0, .highest = at};
    return true;
  }
  bool step(int i, State& state) const {
    const Act& act = acts_[static_cast<size_t>(i)];
    if (act.end == End::kConflict) {
      if (act.revision == 0 ? !absent(state, act.at) : act.revision > 0 && !is(state, act.revision))
        return false;
      if (i != reading_.conflict) return true;
      if (state.token == -1) state.is_not = act.expected;
      return state.token != act.expected;
    }
    if (!act.writes()) {
      if (act.revision == 0) return absent(state, act.at);
      const bool known = state.token == act.revision;
      if (!is(state, act.revision)) return false;
      if (!known && reading_.ghosts) state.value = act.value;
      if (state.value == -1) state.value = act.value;
      return state.value == act.value;
    }
    if (reading_.guards && act.guarded && act.end == End::kOk && !is(state, act.expected)) return false;
    if (act.unknown()) {
      state.value = act.value;  // whether its guard held is not known either
      state.token = act.deletes() ? 0 : -1;
      state.is_not = 0;
      return true;
    }
    if (act.deletes()) {
      if (act.at < state.highest) return false;
      state = {.value = 0, .token = 0, .highest = act.at};
      return true;
    }
    if (act.revision <= state.highest) return false;
    state = {.value = act.value, .token = act.revision, .highest = act.revision};
    return true;
  }

  const std::vector<Act>& acts_;
  const Reading reading_;
  std::set<int64_t> made_;  // tokens of accepted writes
  bool unknown_delete_ = false;
};

// --- The definitions.

// K1: the acknowledged operations of the key fit one order.
inline bool one_order(const std::vector<Act>& key) {
  return Orders(key, {.ghosts = true}).any();
}

// Whether the revisions of keys are the store's.
inline bool one_scale(const std::vector<Act>& acts) {
  bool any = false;
  for (const Act& a : acts) {
    if (!a.accepted() || a.revision == 0) continue;
    if (a.revision != a.at) return false;
    any = true;
  }
  return any;
}

// K3: one path.
inline bool one_path(const std::vector<Act>& key, bool orderable, bool scale) {
  std::vector<const Act*> guarded, unknown;
  for (const Act& act : key) {
    if (act.accepted() && act.guarded && act.expected != 0) guarded.push_back(&act);
    if (act.unknown() && act.what == What::kWrite) unknown.push_back(&act);
  }
  for (const Act* a : guarded)
    for (const Act* b : guarded)
      if (a != b && a->expected == b->expected) return false;
  if (orderable) {
    for (const Act* a : guarded) {
      if (a->deletes() && !scale) continue;
      const int64_t own = a->deletes() ? a->at : a->revision;
      if (a->deletes() ? a->expected > own : a->expected >= own) return false;
      for (const Act& b : key) {
        if (&b == a || b.unknown()) continue;
        const int64_t state = b.accepted() && b.deletes() && scale ? b.at : b.revision;
        if (state > 0 && a->expected < state && state < own) return false;
      }
    }
  }
  // Every token that was compared is given a maker.
  struct Orphan {
    int64_t token;
    int by;
    std::set<int64_t> values;
  };
  std::vector<Orphan> orphans;
  int first_write = INT32_MAX;
  for (const Act& act : key)
    if (act.writes() && act.end != End::kConflict) first_write = std::min(first_write, act.call);
  for (const Act* a : guarded) {
    bool made = false;
    Orphan orphan{a->expected, a->ret, {}};
    for (const Act& b : key) {
      made |= b.accepted() && b.revision == a->expected && b.call < a->ret;
      const bool read = b.what == What::kRead && b.revision == a->expected;
      made |= read && b.ret < first_write;
      if (read) orphan.values = {b.value};
    }
    if (!made) orphans.push_back(orphan);
  }
  const std::function<bool(size_t, uint32_t)> assign = [&](size_t i, uint32_t used) {
    if (i == orphans.size()) return true;
    for (size_t u = 0; u < unknown.size(); ++u) {
      if (used >> u & 1 || unknown[u]->call > orphans[i].by) continue;
      if (!orphans[i].values.empty() && !orphans[i].values.contains(unknown[u]->value)) continue;
      if (assign(i + 1, used | 1u << u)) return true;
    }
    return false;
  };
  return assign(0, 0);
}

// K4, tokens: over all keys.
inline bool sound_tokens(const std::vector<Act>& acts, bool orderable) {
  const bool scale = one_scale(acts);
  for (const Act& a : acts) {
    for (const Act& b : acts) {
      if (&a == &b || a.end != End::kOk || b.end != End::kOk || a.revision == 0 || b.revision == 0)
        continue;
      const bool writes = a.accepted() && b.accepted();
      if (a.key == b.key && a.revision == b.revision && (writes || a.value != b.value)) return false;
      if (!orderable || !writes) continue;
      if (a.key == b.key && a.ret < b.call && a.revision > b.revision) return false;
      if (scale && a.revision == b.revision) return false;
    }
  }
  return true;
}
// K4, the revision in the header.
inline bool rising_header(const std::vector<Act>& acts) {
  for (const Act& a : acts) {
    for (const Act& b : acts) {
      const auto counts = [](const Act& x) {
        return x.end == End::kOk || (x.end == End::kConflict && x.revision >= 0);
      };
      if (counts(a) && counts(b) && a.ret < b.call && a.at > b.at) return false;
    }
  }
  return true;
}

// K11: guards hold where they were accepted, and each conflict, by itself, has a place where the token
// is another. Nothing where the history has no order without that anyway.
inline std::optional<bool> true_conflicts(const std::vector<Act>& key) {
  if (!Orders(key, {}).any()) return std::nullopt;
  if (!Orders(key, {.guards = true}).any()) return false;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i].end != End::kConflict || !key[i].guarded) continue;
    if (!Orders(key, {.guards = true, .conflict = static_cast<int>(i)}).any()) return false;
  }
  return true;
}

}  // namespace assay::versioned_oracle
