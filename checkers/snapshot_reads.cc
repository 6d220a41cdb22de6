// snapshot-reads: is a read that need not be of the latest state at least of one state? (K10) Judged
// are reads and lists that are labelled stale: where the header claims no more of reads, or the
// operation says `stale`.
//
//   state     what it found is what its own revision (`at`) has: the last accepted write at or before
//             it, in the order of tokens, and nothing newer. A state that a write of unknown outcome
//             may have made excuses another token; nothing excuses an older one
//   committed what it found had been tried to be written before it returned
//   monotone  of one session (extra `session`, else the process) on one node the revision of the store,
//             and that of a key, never goes back
//
// Where each node counts revisions of its own (claims.own-revisions, as under the weak contract), only
// `monotone` is asked.
//
// Needs ordered tokens on the store's scale: the key's revision is that of the change that made it.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::snapshot_reads {
namespace {

bool labelled(const KeyEvent& event) {
  return event.did == Did::kRead && event.ok() && !event.latest;
}

class Key {
 public:
  Key(const History& history, const KeyTrack& track) : history_(history), track_(track) {
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite || !event.may_have_happened()) continue;
      const auto placed = place(event);
      if (placed) {
        states_.push_back({*placed, &event});
      } else {
        unplaced_.push_back(&event);
      }
    }
    std::sort(states_.begin(), states_.end(), [](const State& a, const State& b) {
      return std::tuple(a.revision, a.event->deletes(), a.event->call) <
             std::tuple(b.revision, b.event->deletes(), b.event->call);
    });
  }
  std::optional<Finding> judge() {
    for (const KeyEvent& event : track_.events) {
      if (!labelled(event)) continue;
      if (shares_revisions(history_.header()))
        if (auto found = state(event)) return found;
      if (auto found = monotone(event)) return found;
    }
    return std::nullopt;
  }
  int64_t judged() const { return judged_; }

 private:
  struct State {
    int64_t revision;
    const KeyEvent* event;
  };
  static std::optional<int64_t> place(const KeyEvent& write) {
    if (!write.accepted()) return std::nullopt;
    const auto revision = number_of(write.revision);
    if (revision && *revision > 0) return revision;
    return write.deletes() ? number_of(write.at) : std::nullopt;
  }
  // The last known state at or before a revision.
  const State* at(int64_t revision) const {
    auto next = std::upper_bound(states_.begin(), states_.end(), revision,
                                 [](int64_t r, const State& s) { return r < s.revision; });
    return next == states_.begin() ? nullptr : &*std::prev(next);
  }
  bool may_be_of(bool absent, const KeyEvent& read) const {
    return std::any_of(unplaced_.begin(), unplaced_.end(), [&](const KeyEvent* write) {
      return write->call < read.ret && (absent ? write->deletes() : write->value == read.value);
    });
  }

  std::optional<Finding> state(const KeyEvent& read) {
    const auto own = number_of(read.at), found = number_of(read.revision);
    const bool absent = read.value.is_null() && (!found || *found == 0);
    if (!own || (!absent && !found)) return std::nullopt;
    ++judged_;
    const std::string reader = who(history_[read.id]);
    if (!absent && *found > *own)
      return Finding{"a read newer than its own revision",
                     reader + " found revision " + std::to_string(*found) +
                         " in an answer that is of revision " + std::to_string(*own),
                     {read},
                     {}};
    const State* should = at(*own);
    if (!should) {
      if (absent || may_be_of(false, read) || !history_.header().initial_of(track_.key).is_null() ||
          (states_.empty() && unplaced_.empty()))
        return std::nullopt;
      return Finding{"a state that was not yet", reader + " found " + read.value.to_json() +
                                                    " at revision " + std::to_string(*own) +
                                                    ", before any write of the key",
                     {read}, {}};
    }
    const bool gone = should->event->deletes();
    // A delete may have found the key gone already; not one that compared a token.
    const bool may_be_older = absent && gone && number_of(should->event->expected).value_or(0) == 0;
    if (should->event->call > read.ret && !may_be_older)
      return Finding{"a state that was not yet",
                     reader + " was answered at revision " + std::to_string(*own) + " before " +
                         author_text(history_[should->event->id]) + " tried to make it",
                     {read, *should->event},
                     {}};
    if (absent ? gone : !gone && *found == should->revision && read.value == should->event->value)
      return std::nullopt;
    const bool newer = !absent && *found > should->revision;
    if ((absent || newer) && may_be_of(absent, read)) return std::nullopt;
    return Finding{"a read of no state of its revision",
                   reader + " found " + (absent ? "nothing" : read.value.to_json()) +
                       " at revision " + std::to_string(*own) + " of the store, where the key " +
                       (gone ? "is gone" : "has " + should->event->value.to_json()) +
                       " since revision " + std::to_string(should->revision),
                   {*should->event, read},
                   {}};
  }

  std::optional<Finding> monotone(const KeyEvent& read) {
    const auto found = number_of(read.revision);
    if (!found || *found == 0) return std::nullopt;
    if (!shares_revisions(history_.header())) ++judged_;
    const Operation op = history_[read.id];
    const Value session = op.invoke_extra()["session"];
    const Value name = session.is_null() ? Value(op.process().id) : session;
    const auto [last, fresh] = sessions_.try_emplace(std::pair(name, op.node()), &read);
    if (fresh) return std::nullopt;
    const KeyEvent& before = *last->second;
    if (before.ret < read.call && *number_of(before.revision) > *found)
      return Finding{"a session that goes back",
                     who(op) + " found revision " + std::to_string(*found) + " after revision " +
                         token_text(before.revision),
                     {before, read},
                     {}};
    if (*number_of(before.revision) <= *found) last->second = &read;
    return std::nullopt;
  }

  struct Hasher {
    size_t operator()(const std::pair<Value, Symbol>& of) const {
      return of.first.hash() * 31 + of.second.id();
    }
  };
  const History& history_;
  const KeyTrack& track_;
  std::vector<State> states_;              // accepted changes by revision
  std::vector<const KeyEvent*> unplaced_;  // may have happened, nobody knows at which
  std::unordered_map<std::pair<Value, Symbol>, const KeyEvent*, Hasher> sessions_;
  int64_t judged_ = 0;
};

// The store's revision in a session's answers; per session and node.
std::optional<std::pair<uint32_t, uint32_t>> session_going_back(const History& history) {
  std::map<std::pair<std::string, Symbol>, uint32_t> last;
  const bool all = read_claim(history.header()) != "linearizable";
  for (uint32_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if ((op.f() != f::read && op.f() != f::list) || op.type() != OpType::kOk || !op.at().is_number())
      continue;
    const Value extra = op.invoke_extra();
    if (!all && !extra.bool_or("stale", false)) continue;
    const std::string session = extra["session"].is_null() ? std::to_string(op.process().id)
                                                           : extra["session"].to_json();
    const auto [at, fresh] = last.try_emplace({session, op.node()}, id);
    if (fresh) continue;
    const Operation before = history[at->second];
    if (before.return_position() > op.invoke_position()) continue;
    if (before.at().number() > op.at().number()) return std::pair(at->second, id);
    at->second = id;
  }
  return std::nullopt;
}

class SnapshotReads : public Checker {
 public:
  std::string_view name() const override { return "snapshot-reads"; }
  std::string_view summary() const override {
    return "a read that may be old is of one state, that of its own revision, and never goes back in "
           "a session";
  }
  bool applies(const History& history) const override {
    if (!history.header().token_orderable) return false;
    const bool all = read_claim(history.header()) != "linearizable";
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if ((op.f() == f::read || op.f() == f::list) &&
          (all || op.invoke_extra().bool_or("stale", false)))
        return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "snapshot-reads"};
    Findings findings(history, verdict);
    int64_t judged = 0;
    const bool shared = shares_revisions(history.header());
    const bool comparable = !shared || one_scale(history);
    const KeyEvents events(history, Absence::kRead);
    if (comparable) {
      each_key(events, budget, verdict, [&](const KeyTrack& track) {
        Key key(history, track);
        if (auto found = key.judge()) findings.add(track.key, std::move(*found));
        judged += key.judged();
      });
    }
    if (const auto back = session_going_back(history)) tell(history, *back, verdict);
    findings.conclude();
    verdict.counts = {{shared ? "reads compared with the state of their revision"
                              : "reads compared with those before in their session",
                       judged}};
    if (judged == 0)
      nothing_judged(comparable ? "no read that may be old carries its revision"
                                : "the revisions of keys cannot be compared with the store's",
                     "reads that carry the revisions of the key and of the store",
                     "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = (shared ? "each of " : "none of ") +
                       counted(static_cast<size_t>(judged), "read", "reads") +
                       (shared ? " that may be old is of the state of its revision"
                               : " that may be old goes back behind one before in its session");
    return verdict;
  }

 private:
  static void tell(const History& history, const std::pair<uint32_t, uint32_t>& back,
                   Verdict& verdict) {
    const Operation before = history[back.first], after = history[back.second];
    Verdict child{.name = "session", .safety = Safety::kInvalid};
    child.reason = "a session that goes back";
    child.witness =
        Witness{.operations = {back.first, back.second},
                .lines = {who(after) + " was answered at revision " + token_text(after.at()) +
                              " of the store, after revision " + token_text(before.at()),
                          who(before) + ": revision " + token_text(before.at()) + " (" + when(before) + ")",
                          who(after) + ": revision " + token_text(after.at()) + " (" + when(after) + ")"}};
    verdict.add(std::move(child));
  }
};

}  // namespace
}  // namespace assay::snapshot_reads

namespace assay {

const Checker& snapshot_reads_checker() {
  static const snapshot_reads::SnapshotReads checker;
  return checker;
}

}  // namespace assay
