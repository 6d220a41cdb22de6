// watch: was every watcher told what happened: all of it, once, in order? (K14)
//
// Judged over the history alone. What happened is what somebody was told: a write that was accepted
// with its revision, a row of a list, a read, and what any other watch was told. A watch vouches
// for the revisions from where it began up to where it says to resume; for these, and no others,
// it is judged:
//
//   filter       only keys with the prefix asked for
//   ordered      revisions never go down
//   unique       no change twice
//   atomic       all changes of one revision in one message
//   resumable    the first change is not older than the revision asked for; whoever resumes does so
//                where the watch before left off (operations of one `session`)
//   bookmarkable after a notification of progress nothing comes that it said was told
//   reliable     no change that happened is left out
//   predecessor  what it says was there before a change is what the change before left
//   compacted    "forgotten" is said only of what somebody asked to forget
//   agreement    all say the same about one key at one revision
//   origin       each change was attempted, before it was told, and not refused
//
// Linear but for the sorting. What watchers were not told *yet* is never held against a store.
// Source: the watch properties of etcd's robustness tests.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/key_events.h"
#include "checkers/registry.h"
#include "checkers/watch_evidence.h"
#include "checkers/words.h"

namespace assay::watching {
namespace {

constexpr size_t kShown = 10;   // changes that are missing, in words
constexpr size_t kWriters = 5;  // of them, those whose operations are shown too

std::string shown(const Value& value) {
  std::string text = value.to_json();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string said(int64_t revision, Symbol key, bool deleted, const Value& value) {
  std::string text = "revision " + std::to_string(revision);
  text += deleted ? " delete " : " put ";
  text += key.text();
  return deleted ? text : text + " = " + shown(value);
}
std::string said(const WatchedEvent& e) { return said(e.revision, e.key, e.deleted, e.value); }

// "p7, which watched w/ from revision 10 through n2 (13.9 s to 15.4 s)".
std::string watcher(const Operation& op, const Leg& leg) {
  std::string text =
      "p" + std::to_string(op.process().id) + ", which watched " +
      (leg.wish.prefix.empty() ? "everything" : std::string(leg.wish.prefix.text())) +
      (leg.wish.from > 0 ? " from revision " + std::to_string(leg.wish.from)
                         : std::string(" from now"));
  if (!op.node().empty()) text += " through " + std::string(op.node().text());
  if (op.invoke_time().count < 0) return text;
  return text + " (" + format_point(op.invoke_time()) + " to " + format_point(op.return_time()) +
         ")";
}

// One of the rules: how often it was broken, and the first case of it.
struct Rule {
  const char* name;
  const char* kept;  // what it means that it was
  int64_t broken = 0;
  Witness witness;

  // The witness of the first case; the others are counted.
  void breaks(const std::function<Witness()>& tell) {
    if (broken++ == 0) witness = tell();
  }
};

// What one watch was told.
struct Stream {
  uint32_t number;  // of its leg, from 1
  const Leg& leg;
  WatchSeen seen;
};

class Audit {
 public:
  explicit Audit(const History& history)
      : history_(history), evidence_(evidence_of(history)), told_(evidence_.changes.size()) {}

  Verdict run(const Budget& budget) {
    for (size_t i = 0; i < evidence_.legs.size(); ++i) {
      if (budget.exhausted()) return undecided();
      const Leg& leg = evidence_.legs[i];
      judge({.number = static_cast<uint32_t>(i + 1), .leg = leg, .seen = std::move(*watch_seen(op_of(leg).result()))});
    }
    judge_wrong_starts();
    judge_contradictions();
    return conclude();
  }

 private:
  void judge(const Stream& stream) {
    const Leg& leg = stream.leg;
    count(stream);
    judge_marks(stream);
    judge_split(stream);
    int64_t last = 0;
    for (const WatchedEvent& event : stream.seen.events) {
      const size_t change = evidence_.change_of(event);
      judge_place(leg, event, last);
      if (std::exchange(told_[change], stream.number) == stream.number)
        unique_.breaks([&] { return tell(leg, "was told twice: " + said(event)); });
      judge_origin(leg, event, evidence_.changes[change]);
      judge_predecessor(leg, event, evidence_.changes[change]);
      last = std::max(last, event.revision);
    }
    judge_missing(stream);
    judge_compacted(stream);
  }

  std::string said(const Change& c) const {
    return watching::said(c.revision, c.key, c.deleted, evidence_.value_of(c));
  }
  std::string said(const WatchedEvent& event) const { return watching::said(event); }
  Operation op_of(const Leg& leg) const { return history_[leg.id]; }
  Witness tell(const Leg& leg, const std::string& what) const {
    return {.operations = {leg.id}, .lines = {watcher(op_of(leg), leg) + ", " + what}, .order = {}};
  }

  // --- One stream by itself

  void judge_place(const Leg& leg, const WatchedEvent& event, int64_t last) {
    if (!wanted_by(leg, event.key))
      filter_.breaks([&] { return tell(leg, "was told of another key: " + said(event)); });
    if (event.revision < leg.begin)
      resumable_.breaks([&] { return tell(leg, "was told of something older: " + said(event)); });
    if (event.revision < last) {
      ordered_.breaks([&] {
        return tell(leg, "was told after revision " + std::to_string(last) + ": " + said(event));
      });
    }
  }
  static bool wanted_by(const Leg& leg, Symbol key) {
    return key.text().starts_with(leg.wish.prefix.text());
  }

  void judge_marks(const Stream& stream) {
    const auto& [number, leg, seen] = stream;
    int64_t mark = 0;
    size_t at = 0;
    for (size_t i = 0; i < seen.events.size(); ++i) {
      const WatchedEvent& event = seen.events[i];
      for (; at < seen.progress.size() && seen.progress[at].events <= i; ++at)
        mark = std::max(mark, seen.progress[at].revision);
      if (event.revision > mark) continue;
      bookmarkable_.breaks([&] {
        return tell(stream.leg, "was told that it knew all up to revision " + std::to_string(mark) +
                                    ", and after that: " + said(event));
      });
    }
  }

  void judge_split(const Stream& stream) {
    if (stream.seen.split.empty()) return;
    atomic_.breaks([&] {
      return tell(stream.leg, "was told of revision " + std::to_string(stream.seen.split.front()) +
                                  " in several messages");
    });
  }

  // --- Against what happened

  void judge_missing(const Stream& stream) {
    const Leg& leg = stream.leg;
    if (leg.begin == 0) return;
    const auto& changes = evidence_.changes;
    std::vector<const Change*> missing;
    auto change = std::lower_bound(changes.begin(), changes.end(), leg.begin,
                                   [](const Change& c, int64_t r) { return c.revision < r; });
    for (; change != changes.end() && change->revision < leg.end; ++change) {
      const bool told = told_[static_cast<size_t>(change - changes.begin())] == stream.number;
      if (!told && wanted_by(leg, change->key)) missing.push_back(&*change);
    }
    if (missing.empty()) return;
    missing_ += static_cast<int64_t>(missing.size());
    reliable_.breaks([&] { return tell_missing(leg, missing); });
  }

  Witness tell_missing(const Leg& leg, const std::vector<const Change*>& missing) const {
    Witness witness = tell(leg, "vouches for everything up to revision " +
                                    std::to_string(leg.end - 1) + ", and was not told of " +
                                    counted(missing.size(), "change", "changes") + " there");
    for (size_t i = 0; i < std::min(kShown, missing.size()); ++i) {
      const Change& change = *missing[i];
      const Operation by = history_[change.by];
      witness.lines.push_back("missing: " + said(change) +
                              (change.written ? " by " : ", seen by ") + who(by));
      if (i < kWriters) witness.operations.push_back(change.by);
    }
    if (missing.size() > kShown)
      witness.lines.push_back("... and " + std::to_string(missing.size() - kShown) + " more");
    std::sort(witness.operations.begin(), witness.operations.end());
    witness.operations.erase(std::unique(witness.operations.begin(), witness.operations.end()),
                             witness.operations.end());
    return witness;
  }

  void judge_origin(const Leg& leg, const WatchedEvent& event, const Change& known) {
    if (!evidence_.attempts_known) return;
    const Position told = op_of(leg).return_position();
    if (known.written && history_[known.by].invoke_position() <= told &&
        known.deleted == event.deleted && evidence_.value_of(known) == event.value)
      return;
    if (evidence_.attempted(event, told)) return;
    origin_.breaks([&] { return tell_origin(leg, event, told); });
  }
  Witness tell_origin(const Leg& leg, const WatchedEvent& event, Position told) const {
    std::optional<size_t> closest;
    for (size_t id = 0; id < history_.size(); ++id) {
      if (history_[id].invoke_position() > told) break;
      each_write(history_[id], [&](Symbol key, const Value& value, uint32_t) {
        if (key == event.key && value == event.value) closest = id;
      });
    }
    if (!closest) return tell(leg, "was told of " + said(event) + ", which nobody has written");
    const Operation write = history_[*closest];
    const bool failed = write.type() == OpType::kFail;
    Witness witness =
        tell(leg, "was told of " + said(event) + (failed ? ", a write that was refused"
                                                         : ", a write that was answered with another"));
    witness.operations.push_back(*closest);
    std::sort(witness.operations.begin(), witness.operations.end());
    witness.lines.push_back(
        who(write) + (failed ? " was refused it: " + std::string(write.error_class().text())
                             : " wrote it at revision " +
                                   std::to_string(happened_at(write, event.value))));
    return witness;
  }

  void judge_predecessor(const Leg& leg, const WatchedEvent& event, const Change& known) {
    if (!event.before) return;
    const auto& before = *event.before;
    const Change* last = known.before > 0 ? &evidence_.changes[known.before - 1] : nullptr;
    const auto broken = [&](const std::string& what) {
      predecessor_.breaks([&] {
        Witness witness = tell(leg, "was told of " + said(event) + ", and that " + what);
        if (last == nullptr) return witness;
        witness.operations.push_back(last->by);
        std::sort(witness.operations.begin(), witness.operations.end());
        witness.lines.push_back("the change before it is " + said(*last) +
                                (last->written ? " by " : ", seen by ") + who(history_[last->by]));
        return witness;
      });
    };
    const bool creation = before.revision == 0;
    const std::string claim = creation ? "nothing was there before"
                                       : "revision " + std::to_string(before.revision) +
                                             " was there before, " + shown(before.value);
    if (before.revision >= event.revision) return broken(claim);
    if (event.created > 0 && (event.created == event.revision) != creation)
      return broken(claim + ", but that it descends from a creation at revision " +
                    std::to_string(event.created));
    if (last == nullptr) return;
    // What the same watch vouches for it would have been told.
    const bool vouched = leg.begin > 0 && last->revision >= leg.begin;
    if (creation) return vouched && !last->deleted ? broken(claim) : void();
    if (before.revision < last->revision) return broken(claim);
    if (before.revision == last->revision && (last->deleted || evidence_.value_of(*last) != before.value))
      return broken(claim);
    if (before.revision > last->revision && before.revision >= leg.begin && leg.begin > 0)
      return broken(claim + ", which it was not told of");
  }

  void judge_compacted(const Stream& stream) {
    const Leg& leg = stream.leg;
    if (stream.seen.end != WatchEnd::kCompacted) return;
    const int64_t compact = stream.seen.compact_revision;
    if (compact <= leg.end && leg.begin > 0) {
      compacted_.breaks([&] {
        return tell(leg, "was told that revisions before " + std::to_string(compact) +
                             " are forgotten, and needed none of them: it stood at revision " +
                             std::to_string(leg.end));
      });
    }
    // A store that forgets by itself may have forgotten anything.
    const Value& claim = history_.header().raw["claims"]["compacts"];
    if (claim == Value(true) || (claim.is_null() && !evidence_.compactions_asked)) return;
    const int64_t asked = evidence_.compaction_asked(op_of(leg).return_position());
    if (compact <= asked) return;
    compacted_.breaks([&] {
      return tell(leg, "was told that revisions before " + std::to_string(compact) +
                           " are forgotten; nobody had asked to forget " +
                           (asked == 0 ? std::string("any")
                                       : "more than those before " + std::to_string(asked)));
    });
  }

  // --- Several of them

  void judge_wrong_starts() {
    for (const WrongStart& wrong : evidence_.wrong_starts) {
      resumable_.breaks([&] {
        const Operation op = history_[wrong.id];
        const int64_t from = watch_wish(op.argument())->from;
        return Witness{
            .operations = {wrong.before, wrong.id},
            .lines = {who(op) + " resumed a watch " +
                      (from == 0 ? "from now" : "from revision " + std::to_string(from)) +
                      ", which had come to revision " + std::to_string(wrong.due)},
            .order = {}};
      });
    }
  }

  void judge_contradictions() {
    for (const auto& pair : evidence_.contradictions) {
      const Change &one = pair.one, &other = pair.other;  // clang captures no structured binding
      agreement_.breaks([&] {
        Witness witness;
        witness.operations = {std::min(one.by, other.by), std::max(one.by, other.by)};
        witness.lines = {"two say different things about " + std::string(one.key.text()) +
                         " at revision " + std::to_string(one.revision)};
        for (const Change* change : {&one, &other})
          witness.lines.push_back(who(history_[change->by]) + ": " + said(*change));
        return witness;
      });
    }
  }

  // --- The verdict

  void count(const Stream& stream) {
    const Leg& leg = stream.leg;
    events_ += static_cast<int64_t>(stream.seen.events.size());
    marks_ += static_cast<int64_t>(stream.seen.progress.size());
    cut_ += stream.seen.end == WatchEnd::kCut;
    compactions_ += stream.seen.end == WatchEnd::kCompacted;
    if (leg.after == 0) return;
    ++resumed_;
    elsewhere_ += op_of(leg).node() != op_of(evidence_.legs[leg.after - 1]).node();
  }

  Verdict conclude() {
    Verdict verdict{.name = "watch"};
    verdict.counts = {{"watches", static_cast<int64_t>(evidence_.legs.size())},
                      {"changes known", static_cast<int64_t>(evidence_.changes.size())},
                      {"changes told", events_},
                      {"progress notifications", marks_},
                      {"cut", cut_},
                      {"compacted", compactions_},
                      {"resumed", resumed_},
                      {"resumed on another node", elsewhere_}};
    if (missing_ > 0) verdict.counts.emplace_back("changes missing", missing_);
    // In this order, since what was never written is missing elsewhere, and so on.
    for (Rule* rule : {&origin_, &agreement_, &reliable_, &unique_, &ordered_, &resumable_,
                       &bookmarkable_, &atomic_, &filter_, &predecessor_, &compacted_}) {
      verdict.add(child_of(*rule));
    }
    if (verdict.safety != Safety::kValid) return verdict;
    verdict.reason = counted(evidence_.legs.size(), "watch was", "watches were") + " told of " +
                     grouped(events_) + " changes: each that they vouch for, once and in order";
    if (events_ > 0) return verdict;
    verdict.safety = Safety::kVacuous;
    verdict.reason =
        evidence_.legs.empty() ? "no watch was answered" : "no watch was told of any change";
    verdict.facts.emplace_back(fact::kMissing, verdict.reason);
    verdict.facts.emplace_back(fact::kRemedy, "longer or faster: `--time-limit 60s`");
    return verdict;
  }

  static Verdict child_of(Rule& rule) {
    Verdict child{.name = rule.name, .reason = rule.kept};
    if (rule.broken == 0) return child;
    child.safety = Safety::kInvalid;
    child.reason = rule.witness.lines.front();
    child.counts = {{"cases", rule.broken}};
    child.witness = std::move(rule.witness);
    return child;
  }

  Verdict undecided() const {
    return {.name = "watch", .safety = Safety::kUnknown, .reason = "the budget is used up"};
  }

  const History& history_;
  const Evidence evidence_;
  std::vector<uint32_t> told_;  // of each change, the last stream that was told of it
  int64_t events_ = 0, marks_ = 0, cut_ = 0, compactions_ = 0, resumed_ = 0, elsewhere_ = 0;
  int64_t missing_ = 0;
  Rule filter_{"filter", "only keys with the prefix asked for"};
  Rule ordered_{"ordered", "revisions never go down"};
  Rule unique_{"unique", "no change was told twice"};
  Rule atomic_{"atomic", "no revision was split"};
  Rule resumable_{"resumable", "each went on where it had been left off"};
  Rule bookmarkable_{"bookmarkable", "nothing came that progress had said was told"};
  Rule reliable_{"reliable", "nothing that happened was left out"};
  Rule predecessor_{"predecessor", "what was there before is what the change before left"};
  Rule compacted_{"compacted", "forgotten was only what somebody asked to forget"};
  Rule agreement_{"agreement", "all say the same about one key at one revision"};
  Rule origin_{"origin", "each change was attempted before it was told, and not refused"};
};

class Watch : public Checker {
 public:
  std::string_view name() const override { return "watch"; }
  std::string_view summary() const override {
    return "every watcher was told of all changes, once and in order, over cuts and compactions";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      if (history[id].f() == f::watch) return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override {
    const auto bad = malformed_watch(history);
    if (!bad) return {};
    const Operation op = history[bad->first];
    return watch_wish(op.argument()) ? history.error_at_answer(op, bad->second)
                                     : history.error_at(op, bad->second);
  }
  Verdict check(const History& history, const Budget& budget) const override {
    return Audit(history).run(budget);
  }
};

}  // namespace
}  // namespace assay::watching

namespace assay {

const Checker& watch_checker() {
  static const watching::Watch checker;
  return checker;
}

}  // namespace assay
