// A store with watchers in small, with mistakes planted, and what its histories are by the rules of
// `watch`, each in its own words: slow, and obviously right. For tests alone.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/rng.h"
#include "checkers/history/vocabulary.h"
#include "checkers/history/watch_value.h"

namespace assay::watch_oracle {

enum class What : uint8_t { kWrite, kRead, kList, kCompact, kWatch };
enum class End : uint8_t { kOk, kFail, kUnknown };

// One change of a key; value 0: it is deleted.
struct Fact {
  int64_t revision = 0;
  int key = 0;
  int64_t value = 0;
  bool same_place(const Fact& other) const { return revision == other.revision && key == other.key; }
};
struct Told : Fact {
  std::optional<Fact> before;  // of revision 0: there was nothing
};

struct Act {
  What what = What::kWrite;
  End end = End::kOk;
  int session = -1;  // of watches and lists
  int call = 0;
  int ret = 0;
  std::vector<Fact> facts;  // written (revision 0: not said), read, or the rows of a list
  int64_t at = 0;           // of a list; of a compaction, what is forgotten
  // A watch.
  int64_t from = 0, start = 0, next = 0;
  std::vector<Told> told;
  std::vector<WatchMark> marks;
  bool split = false;
  WatchEnd why = WatchEnd::kDone;
  int64_t compact = 0;

  bool watched() const { return what == What::kWatch && end == End::kOk; }
};

inline const Symbol& key_name(int key) {
  static const Symbol names[] = {Symbol("w/a"), Symbol("w/b"), Symbol("x")};
  return names[key];
}
inline bool watched_key(int key) { return key < 2; }

class Simulation {
 public:
  explicit Simulation(Rng& rng) : rng_(rng), spoilt_(rng.chance(2, 3)) {}
  std::vector<Act> run() {
    const size_t wanted = 5 + rng_.below(7);
    std::vector<size_t> open;
    for (int time = 0; acts_.size() < wanted || !open.empty();) {
      if (acts_.size() < wanted && (open.empty() || (open.size() < 2 && rng_.chance(1, 3)))) {
        open.push_back(acts_.size());
        acts_.push_back({.call = time++});
        begin(acts_.back());
      } else {
        const size_t i = rng_.below(open.size());
        Act& act = acts_[open[i]];
        finish(act);
        act.ret = time++;
        if (act.session >= 0) busy_[act.session] = false;
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      }
    }
    return std::move(acts_);
  }

 private:
  bool strikes(uint64_t n) { return spoilt_ && rng_.chance(1, n); }
  void begin(Act& act) {
    const uint64_t draw = rng_.below(12);
    act.what = draw < 5 ? What::kWrite : draw < 6 ? What::kRead : draw < 7 ? What::kList
               : draw < 8 ? What::kCompact : What::kWatch;
    const uint64_t end = rng_.below(12);
    act.end = end < 10 ? End::kOk : end < 11 ? End::kUnknown : End::kFail;
    if (act.what == What::kList || act.what == What::kWatch) {
      act.session = static_cast<int>(rng_.below(2));
      if (busy_[act.session]) act.session = -1;
      else busy_[act.session] = true;
    }
    switch (act.what) {
      case What::kWrite: {
        const int key = static_cast<int>(rng_.below(3));
        act.facts.push_back({0, key, rng_.chance(1, 4) ? 0 : value()});
        if (key == 0 && act.facts[0].value && rng_.chance(1, 3)) act.facts.push_back({0, 1, value()});
        if (strikes(12)) happen(act);  // before it was asked, as far as others can see
        return;
      }
      case What::kRead:
        act.facts.push_back({0, static_cast<int>(rng_.below(3)), 0});
        return;
      case What::kCompact:
        act.at = 1 + static_cast<int64_t>(rng_.below(static_cast<uint64_t>(revision_) + 1));
        return;
      case What::kWatch:
        act.from = act.session < 0 || due_[act.session] == 0
                       ? static_cast<int64_t>(rng_.below(static_cast<uint64_t>(revision_) + 2))
                       : due_[act.session];
        if (strikes(10)) act.from += rng_.chance(1, 2) ? 1 : -act.from;
        if (act.from == 0 && rng_.chance(2, 3)) act.start = revision_ + 1;
        return;
      case What::kList:
        return;
    }
  }
  int64_t value() { return strikes(8) && values_ > 0 ? values_ : ++values_; }
  const Fact* last(int key) const {
    for (size_t i = log_.size(); i-- > 0;)
      if (log_[i].key == key) return &log_[i];
    return nullptr;
  }
  bool live(int key) const { return last(key) != nullptr && last(key)->value != 0; }
  void happen(Act& act) {
    if (act.facts[0].value == 0 && !live(act.facts[0].key)) return;
    if (!strikes(15) || revision_ == 1) ++revision_;  // else two changes have one revision
    for (Fact& fact : act.facts) {
      fact.revision = revision_;
      Told told{fact, std::nullopt};
      const Fact* before = last(fact.key);
      told.before = before && before->value ? *before : Fact{0, fact.key, 0};
      log_.push_back(told);
    }
  }
  void finish(Act& act) {
    if (act.what == What::kWrite) {
      const bool does = act.end == End::kOk || (act.end == End::kUnknown && rng_.chance(1, 2));
      if (act.facts[0].revision == 0 && (does || strikes(6))) happen(act);
      if (act.end != End::kOk || rng_.chance(1, 12))
        for (Fact& fact : act.facts) fact.revision = 0;
      if (strikes(20) && act.facts[0].revision > 0 && act.facts[0].value)
        for (Fact& fact : act.facts) ++fact.revision;
    }
    if (act.what == What::kRead && live(act.facts[0].key)) act.facts[0] = *last(act.facts[0].key);
    if (act.what == What::kList) {
      for (int key : {0, 1})
        if (live(key)) act.facts.push_back(*last(key));
      act.at = revision_;
      if (act.session >= 0 && act.end == End::kOk) due_[act.session] = revision_ + 1;
    }
    if (act.what == What::kCompact && act.end != End::kFail) forgotten_ = std::max(forgotten_, act.at);
    if (act.what == What::kWatch && act.end == End::kOk) answer(act);
  }
  void answer(Act& act) {
    const int64_t begin = act.from > 0 ? act.from : act.start > 0 ? act.start : revision_;
    if (act.from > 0 && (begin < forgotten_ || strikes(20))) {
      act.why = WatchEnd::kCompacted;
      act.next = act.from;
      act.compact = forgotten_ + (strikes(4) ? 1 : 0);
      if (act.session >= 0 && act.next > 0) due_[act.session] = act.next;
      return;
    }
    act.next = begin;
    const size_t most = 1 + rng_.below(5);
    int64_t since = begin - (strikes(15) ? 1 : 0);
    for (const Told& told : log_) {
      if (told.revision < since || (!watched_key(told.key) && !strikes(12))) continue;
      if (act.told.size() >= most && told.revision >= act.next) break;  // none is split
      act.told.push_back(told);
      act.next = told.revision + 1;
      if (rng_.chance(1, 2)) act.told.back().before.reset();
    }
    spoil(act.told);
    if (act.told.empty() || act.told.back().revision == revision_ || strikes(15)) {
      if (revision_ >= act.next && rng_.chance(1, 2)) {
        act.marks.push_back({revision_, act.told.size()});
        act.next = revision_ + 1;
      }
    }
    if (!act.told.empty() && rng_.chance(1, 4)) {
      const size_t at = rng_.below(act.told.size());
      act.marks.insert(act.marks.begin(), {act.told[at].revision - (strikes(4) ? 0 : 1), at});
    }
    act.split = strikes(25);
    if (rng_.chance(1, 4)) act.why = WatchEnd::kCut;
    if (rng_.chance(1, 12)) act.next = 0;
    if (act.session >= 0 && act.next > 0) due_[act.session] = act.next;
  }
  void spoil(std::vector<Told>& told) {
    if (told.empty() || !strikes(3)) return;
    const size_t i = rng_.below(told.size());
    switch (rng_.below(6)) {
      case 0: told.erase(told.begin() + static_cast<ptrdiff_t>(i)); return;
      case 1: told.insert(told.begin() + static_cast<ptrdiff_t>(i), Told(told[i])); return;
      case 2: std::swap(told[i], told.back()); return;
      case 3: told[i].value += told[i].value ? 1 : 0; return;
      case 4: told[i].before = Fact{told[i].revision, told[i].key, 1}; return;
      default:
        if (told[i].before && told[i].before->revision) ++told[i].before->value;
    }
  }

  Rng& rng_;
  const bool spoilt_;
  std::vector<Act> acts_;
  std::vector<Told> log_;
  int64_t revision_ = 1, values_ = 0, forgotten_ = 0;
  int64_t due_[2] = {0, 0};
  bool busy_[2] = {false, false};
};

inline Value value_of(int64_t value) { return value ? Value(value) : Value(); }

inline WatchSeen seen_by(const Act& act) {
  WatchSeen seen{.progress = act.marks, .start = act.start, .next = act.next, .end = act.why,
                 .compact_revision = act.compact};
  for (const Told& told : act.told) {
    WatchedEvent event{.revision = told.revision, .key = key_name(told.key),
                       .deleted = told.value == 0, .value = value_of(told.value)};
    if (told.before)
      event.before = WatchedEvent::Before{told.before->revision, value_of(told.before->value)};
    seen.events.push_back(event);
  }
  if (act.split) seen.split = {1};
  return seen;
}

inline Op invocation_of(const Act& act) {
  static const Symbol prefix("w/");
  static const Value sessions[] = {Value::object({{Symbol("session"), "s0"}}),
                                   Value::object({{Symbol("session"), "s1"}})};
  Op op;
  if (act.session >= 0) op.extra = sessions[act.session];
  switch (act.what) {
    case What::kWrite: {
      const Fact& fact = act.facts[0];
      if (act.facts.size() == 1) {
        op.f = fact.value ? f::write : f::delete_;
        op.key = key_name(fact.key);
        op.value = value_of(fact.value);
        return op;
      }
      Value::Array steps;
      for (const Fact& one : act.facts)
        steps.push_back(Value::array({"w", key_name(one.key), value_of(one.value)}));
      op.f = f::txn;
      op.value = Value::array(std::move(steps));
      return op;
    }
    case What::kRead: op.f = f::read, op.key = key_name(act.facts[0].key); return op;
    case What::kList: op.f = f::list, op.key = prefix; return op;
    case What::kCompact: op.f = f::compact, op.value = act.at; return op;
    case What::kWatch:
      op.f = f::watch, op.key = prefix;
      op.value = to_value(WatchWish{.prefix = prefix, .from = act.from, .span = seconds(1)});
  }
  return op;
}

inline Op completion_of(const Act& act, const Op& asked) {
  static const Symbol refused("refused"), timeout("timeout");
  static const Value deleted = Value::object({{Symbol("deleted"), 1}});
  Op op = complete(asked, act.end == End::kOk     ? OpType::kOk
                          : act.end == End::kFail ? OpType::kFail
                                                  : OpType::kInfo);
  op.extra = Value();
  if (act.end != End::kOk) {
    op.error = OpError{act.end == End::kFail ? refused : timeout, "", {}, {}};
    return op;
  }
  if (act.what == What::kWrite && act.facts[0].revision > 0) {
    const bool deletes = act.facts[0].value == 0;
    op.at = Token(act.facts[0].revision);
    op.revision = deletes ? Token(int64_t{0}) : op.at;
    if (deletes) op.extra = deleted;
  }
  if (act.what == What::kRead) {
    op.value = value_of(act.facts[0].value);
    op.revision = Token(act.facts[0].revision);
  }
  if (act.what == What::kList) {
    Value::Array rows;
    for (const Fact& row : act.facts)
      rows.push_back(Value::array({key_name(row.key), value_of(row.value), row.revision}));
    op.value = Value::array(std::move(rows));
    op.at = Token(act.at);
  }
  if (act.what == What::kWatch) op.value = to_value(seen_by(act));
  return op;
}

inline History history_of(const std::vector<Act>& acts, std::optional<bool> compacts) {
  std::vector<std::pair<int, size_t>> lines;
  for (size_t i = 0; i < acts.size(); ++i) {
    lines.emplace_back(acts[i].call, i);
    lines.emplace_back(acts[i].ret, i);
  }
  std::sort(lines.begin(), lines.end());
  HistoryHeader header;
  header.present = true;
  header.token_orderable = true;
  if (compacts)
    header.raw = Value::object({{Symbol("claims"), Value::object({{Symbol("compacts"), *compacts}})}});
  HistoryBuilder builder;
  builder.set_header(header);
  std::vector<Op> open(acts.size());
  for (const auto& [time, i] : lines) {
    Op& op = open[i];
    if (time == acts[i].call) op = invocation_of(acts[i]);
    else op = completion_of(acts[i], op);
    op.process = {static_cast<int64_t>(i)};
    (void)builder.add(op).ok();
  }
  return builder.build();
}

// --- The rules. Acts stand in the order of their invocations.

class Rules {
 public:
  Rules(const std::vector<Act>& acts, std::optional<bool> compacts) : acts_(acts), compacts_(compacts) {
    for (const Act& act : acts) {
      if (act.end != End::kOk) continue;
      for (const Fact& fact : act.facts)
        if (fact.revision > 0) happened_.push_back(fact);
      for (const Told& told : act.told) happened_.push_back(told);
    }
  }

  // From where on, and up to where, a watch is told everything; from 0: not known.
  static int64_t begin(const Act& watch) {
    if (watch.from > 0) return watch.from;
    if (watch.start > 0 || watch.told.empty()) return watch.start;
    return watch.told.front().revision;
  }
  static int64_t end(const Act& watch) {
    int64_t end = std::max(begin(watch), watch.next);
    if (!watch.told.empty()) end = std::max(end, watch.told.back().revision + 1);
    for (const WatchMark& mark : watch.marks) end = std::max(end, mark.revision + 1);
    return end;
  }

  bool filter() const {
    return each_event([](const Act&, const Told& told) { return watched_key(told.key); });
  }
  bool ordered() const {
    return each_pair([](const Told& a, const Told& b) { return a.revision <= b.revision; });
  }
  bool unique() const {
    return each_pair([](const Told& a, const Told& b) { return !a.same_place(b); });
  }
  bool atomic() const {
    return each_watch([](const Act& watch) { return !watch.split; });
  }
  bool resumable() const {
    const bool none_older = each_event(
        [](const Act& watch, const Told& told) { return told.revision >= begin(watch); });
    return none_older && each_resumed();
  }
  bool bookmarkable() const {
    return each_watch([](const Act& watch) {
      for (const WatchMark& mark : watch.marks)
        for (size_t i = mark.events; i < watch.told.size(); ++i)
          if (watch.told[i].revision <= mark.revision) return false;
      return true;
    });
  }
  bool reliable() const {
    return each_watch([&](const Act& watch) {
      for (const Fact& fact : happened_) {
        if (begin(watch) == 0 || fact.revision < begin(watch) || fact.revision >= end(watch)) continue;
        if (!watched_key(fact.key)) continue;
        if (std::none_of(watch.told.begin(), watch.told.end(),
                         [&](const Told& told) { return told.same_place(fact); }))
          return false;
      }
      return true;
    });
  }
  bool agreement() const {
    for (const Fact& a : happened_)
      for (const Fact& b : happened_)
        if (a.same_place(b) && a.value != b.value) return false;
    return true;
  }
  bool origin() const {
    return each_event([&](const Act& watch, const Told& told) {
      bool attempted = false;
      for (const Act& act : acts_) {
        if (act.what != What::kWrite) continue;
        attempted = true;
        for (const Fact& fact : act.facts) {
          const bool may_be_it = fact.key == told.key && fact.value == told.value &&
                                 (fact.revision == 0 || fact.revision == told.revision);
          if (may_be_it && act.end != End::kFail && act.call < watch.ret) return true;
        }
      }
      return !attempted;
    });
  }
  // Of histories in which all agree.
  bool predecessor() const {
    return each_event([&](const Act& watch, const Told& told) {
      if (!told.before) return true;
      const Fact& said = *told.before;
      if (said.revision >= told.revision) return false;
      Fact last;  // the last change before it that anybody knows
      for (const Fact& fact : happened_)
        if (fact.key == told.key && fact.revision < told.revision && fact.revision > last.revision)
          last = fact;
      if (last.revision == 0) return true;
      const bool vouched = begin(watch) > 0;
      if (said.revision == 0) return last.value == 0 || !vouched || last.revision < begin(watch);
      if (said.revision == last.revision) return last.value != 0 && said.value == last.value;
      return said.revision > last.revision && (!vouched || said.revision < begin(watch));
    });
  }
  bool compacted() const {
    bool asked = false;
    for (const Act& act : acts_) asked |= act.what == What::kCompact;
    const bool by_itself = compacts_ ? *compacts_ : !asked;
    return each_watch([&](const Act& watch) {
      if (watch.why != WatchEnd::kCompacted) return true;
      if (begin(watch) > 0 && watch.compact <= end(watch)) return false;
      if (by_itself) return true;
      int64_t wanted = 0;
      for (const Act& act : acts_)
        if (act.what == What::kCompact && act.end != End::kFail && act.call < watch.ret)
          wanted = std::max(wanted, act.at);
      return watch.compact <= wanted;
    });
  }

 private:
  template <typename Fn>
  bool each_watch(const Fn& holds) const {
    return std::all_of(acts_.begin(), acts_.end(),
                       [&](const Act& act) { return !act.watched() || holds(act); });
  }
  template <typename Fn>
  bool each_event(const Fn& holds) const {
    return each_watch([&](const Act& watch) {
      return std::all_of(watch.told.begin(), watch.told.end(),
                         [&](const Told& told) { return holds(watch, told); });
    });
  }
  template <typename Fn>
  bool each_pair(const Fn& holds) const {  // of one watch's, in the order in which they came
    return each_watch([&](const Act& watch) {
      for (size_t j = 0; j < watch.told.size(); ++j)
        for (size_t i = 0; i < j; ++i)
          if (!holds(watch.told[i], watch.told[j])) return false;
      return true;
    });
  }
  bool each_resumed() const {
    for (size_t i = 0; i < acts_.size(); ++i) {
      if (acts_[i].what != What::kWatch || acts_[i].session < 0) continue;
      for (size_t j = i; j-- > 0;) {
        const Act& before = acts_[j];
        if (before.session != acts_[i].session || before.end != End::kOk) continue;
        const int64_t due = before.what == What::kList ? before.at + 1 : before.next;
        if (due == 0) continue;
        if (acts_[i].from != due) return false;
        break;
      }
    }
    return true;
  }

  const std::vector<Act>& acts_;
  const std::optional<bool> compacts_;
  std::vector<Fact> happened_;
};

}  // namespace assay::watch_oracle
