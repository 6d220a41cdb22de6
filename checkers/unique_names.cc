// unique-names: has a name one owner at a time? A name is a key, taken by a write on condition that it
// is absent (expected 0) and given back by a delete. Between two such writes that were both accepted
// there must have been room for a delete that happened or may have happened: by real time, and, on the
// store's scale of revisions, between theirs; and there are no more owners, but for the first, than
// such deletes. A name that was there before the history has no owner here.
//
// Which of several unplaced deletes stood between which owners is not searched: it says less there.
#include <algorithm>
#include <optional>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::unique_names {
namespace {

class Name {
 public:
  Name(const History& history, const KeyTrack& track, bool ordered)
      : history_(history), ordered_(ordered) {
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite || !event.may_have_happened()) continue;
      if (event.deletes()) {
        deletes_.push_back(&event);
      } else if (event.ok() && event.creates()) {
        owners_.push_back(&event);
      }
    }
    std::sort(owners_.begin(), owners_.end(), [&](const KeyEvent* a, const KeyEvent* b) {
      const auto x = number_of(a->revision), y = number_of(b->revision);
      return ordered_ && x && y ? *x < *y : a->ret < b->ret;
    });
    // Of the deletes by return, the latest call: none before that position is in vain.
    std::sort(deletes_.begin(), deletes_.end(),
              [](const KeyEvent* a, const KeyEvent* b) { return a->call < b->call; });
    Position latest = 0;
    for (const KeyEvent* event : deletes_) latest_.push_back(latest = std::max(latest, event->ret));
    for (const KeyEvent* event : deletes_) {
      if (event->accepted() && number_of(event->at)) {
        placed_.push_back(*number_of(event->at));
      } else {
        unplaced_.push_back(event);
      }
    }
    std::sort(placed_.begin(), placed_.end());
  }

  size_t owners() const { return owners_.size(); }
  std::optional<Finding> judge() const {
    for (size_t i = 1; i < owners_.size(); ++i)
      if (!room_between(*owners_[i - 1], *owners_[i])) return two(*owners_[i - 1], *owners_[i]);
    if (owners_.size() > deletes_.size() + 1)
      return two(*owners_[owners_.size() - 2], *owners_.back());
    return std::nullopt;
  }

 private:
  // A delete that was invoked before the second owner was answered, and not over before the first
  // one began.
  bool room_between(const KeyEvent& a, const KeyEvent& b) const {
    const auto low = number_of(a.revision), high = number_of(b.revision);
    if (ordered_ && low && high) {
      const auto next = std::upper_bound(placed_.begin(), placed_.end(), *low);
      if (next != placed_.end() && *next < *high) return true;
      return std::any_of(unplaced_.begin(), unplaced_.end(), [&](const KeyEvent* event) {
        return event->call < b.ret && event->ret > a.call;
      });
    }
    const Position from = std::min(a.call, b.call), to = std::max(a.ret, b.ret);
    const auto end = std::lower_bound(deletes_.begin(), deletes_.end(), to,
                                      [](const KeyEvent* e, Position p) { return e->call < p; });
    return end != deletes_.begin() && latest_[static_cast<size_t>(end - deletes_.begin()) - 1] > from;
  }
  Finding two(const KeyEvent& a, const KeyEvent& b) const {
    return {"one name, two owners",
            author_text(history_[a.id]) + " and " + author_text(history_[b.id]) +
                " were both given the name, and nobody gave it back between",
            {a, b},
            {}};
  }

  const History& history_;
  const bool ordered_;
  std::vector<const KeyEvent*> owners_;    // in the order in which they were accepted
  std::vector<const KeyEvent*> deletes_;   // that may have happened, by call
  std::vector<Position> latest_;           // of the first so many of them, the last return
  std::vector<int64_t> placed_;            // revisions of those that are known to have one
  std::vector<const KeyEvent*> unplaced_;  // the others
};

class UniqueNames : public Checker {
 public:
  std::string_view name() const override { return "unique-names"; }
  std::string_view summary() const override {
    return "a name that is taken while it is free has one owner at a time";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (op.expected() == Token(int64_t{0})) return true;
      if (op.f() != f::txn) continue;
      for (const auto& [key, token] : guards_of_txn(op))
        if (token == Token(int64_t{0})) return true;
    }
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "unique-names"};
    const bool ordered = history.header().token_orderable && one_scale(history);
    Findings findings(history, verdict);
    int64_t names = 0, owners = 0;
    each_key(KeyEvents(history), budget, verdict, [&](const KeyTrack& track) {
      const Name name(history, track, ordered);
      names += name.owners() > 0;
      owners += static_cast<int64_t>(name.owners());
      if (auto found = name.judge()) findings.add(track.key, std::move(*found));
    });
    findings.conclude();
    verdict.counts = {{"names", names}, {"owners", owners}};
    if (owners == 0)
      nothing_judged("no name was given to anybody", "accepted writes on condition of absence",
                     "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = "each of " + counted(static_cast<size_t>(names), "name", "names") +
                       " had one owner at a time, " + std::to_string(owners) + " in all";
    return verdict;
  }
};

}  // namespace
}  // namespace assay::unique_names

namespace assay {

const Checker& unique_names_checker() {
  static const unique_names::UniqueNames checker;
  return checker;
}

}  // namespace assay
