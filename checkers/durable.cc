// durable: is what was acknowledged still there in the end? (K6)
//
// Judged of the last final read (phase "final") of each node and key, lists included; a key that a
// final list lacks is read as absent. What a key holds decides the form:
//   register  the final value is of a write that may have happened and that no acknowledged write
//             replaced, by real time and, where tokens are ordered, by token. Keys that are written
//             once (a set) are the simplest case
//   array     intents append to it: it has every element of every acknowledged value, none that no
//             write that may have happened had, and none twice that was not appended twice
//   counter   where the header says "counter": true or names that workload: every write with an intent
//             adds `by` (1 where it does not say), `add` its argument; ok <= final <= ok + unknown
//
// Where reads of the latest state are not claimed, a key is lost only when no node has it: that they
// all have it is convergence's matter. That order of unacknowledged writes which nobody saw is free.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkers/attempts.h"
#include "checkers/findings.h"
#include "checkers/final_reads.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::durable {
namespace {

std::string place(const Operation& op) {
  return op.node().empty() ? "the store" : std::string(op.node().text());
}
std::string shown(const Value& value) { return value.is_null() ? "nothing" : value.to_json(); }

class Register {
 public:
  // scale: revisions of keys are the store's, so that a deleted key goes on where it was.
  Register(const History& history, const KeyTrack& track, bool scale)
      : history_(history), ordered_(history.header().token_orderable),
        attempts_(history.header().initial_of(track.key)) {
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite || !event.may_have_happened()) continue;
      ordered_ = ordered_ && (scale || !event.deletes());
      const Position ret = event.ok() ? event.ret : kOpen;
      attempts_.add({.value = event.value, .call = event.call, .ret = ret, .id = event.id,
                     .event = &event});
      const auto token = number_of(event.revision);
      if (event.accepted() && token && (!highest_ || *token > *number_of(highest_->revision)))
        highest_ = &event;
    }
    attempts_.seal();
  }
  std::optional<Finding> judge(const KeyEvent& read) const {
    const Operation op = history_[read.id];
    switch (attempts_.sight(read.value, read.call, read.ret)) {
      case Sight::kFine:
        return lower_token(read);
      case Sight::kTooEarly:
      case Sight::kNobodys:
        return Finding{"a value that nobody wrote",
                       place(op) + " has " + read.value.to_json() +
                           " in the end, which no write that may have happened had",
                       {read},
                       {}};
      case Sight::kReplaced:
        return lost(read, *attempts_.newest_before(read.call)->event);
    }
    return std::nullopt;
  }

 private:
  std::optional<Finding> lower_token(const KeyEvent& read) const {
    const auto token = number_of(read.revision);
    if (!ordered_ || !highest_ || !token || *token == 0 || highest_->ret > read.call) return {};
    if (*token >= *number_of(highest_->revision)) return std::nullopt;
    return lost(read, *highest_);
  }
  Finding lost(const KeyEvent& read, const KeyEvent& write) const {
    const Operation op = history_[read.id];
    const std::string what = write.deletes() ? "the delete" : write.value.to_json();
    return {"lost acknowledged write",
            place(op) + " has " + shown(read.value) + " in the end, though " + what + " of " +
                author_text(history_[write.id]) + " was acknowledged" +
                (read.value.is_null() ? "" : " after it"),
            {write, read},
            {}};
  }

  const History& history_;
  bool ordered_;  // by tokens
  Attempts attempts_;
  const KeyEvent* highest_ = nullptr;  // the accepted write of the highest token
};

bool holds_arrays(const KeyTrack& track) {
  bool any = false;
  for (const KeyEvent& event : track.events) {
    if (event.did != Did::kWrite) continue;
    if (!event.value.is_array()) return false;
    any |= event.may_have_happened();
  }
  return any;
}

class AppendList {
 public:
  explicit AppendList(const History& history, const KeyTrack& track) : history_(history) {
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kWrite || !event.may_have_happened()) continue;
      const Value::Array& items = event.value.as_array();
      for (const Value& item : items) {
        Item& of = items_[item];
        if (event.accepted() && !of.acknowledged) of.acknowledged = &event;
      }
      if (!items.empty()) ++items_[items.back()].appended;
    }
  }
  std::optional<Finding> judge(const KeyEvent& read) const {
    const std::string where = place(history_[read.id]);
    std::unordered_map<Value, int, ValueHasher> found;
    const Value::Array none;
    for (const Value& item : read.value.is_array() ? read.value.as_array() : none) ++found[item];
    for (const auto& [item, count] : found) {
      const auto at = items_.find(item);
      if (at == items_.end())
        return Finding{"an element that nobody appended",
                       where + " has " + item.to_json() +
                           " in the end, which no write that may have happened had",
                       {read},
                       {}};
      if (count <= std::max(1, at->second.appended)) continue;
      return Finding{"an element twice",
                     where + " has " + item.to_json() + " " + std::to_string(count) +
                         " times in the end, though it was appended " +
                         (at->second.appended <= 1 ? "once"
                                                   : std::to_string(at->second.appended) + " times"),
                     {read},
                     {}};
    }
    const KeyEvent* first = nullptr;
    const Value* lost = nullptr;
    size_t missing = 0;
    for (const auto& [item, of] : items_) {
      if (!of.acknowledged || of.acknowledged->ret > read.call || found.contains(item)) continue;
      ++missing;
      if (!first || of.acknowledged->call < first->call) first = of.acknowledged, lost = &item;
    }
    if (!first) return std::nullopt;
    return Finding{"lost acknowledged write",
                   where + " lacks " + lost->to_json() + " in the end, which " +
                       author_text(history_[first->id]) + " had appended and was acknowledged" +
                       (missing > 1 ? "; " + std::to_string(missing) + " are missing in all" : ""),
                   {*first, read},
                   {}};
  }

 private:
  struct Item {
    const KeyEvent* acknowledged = nullptr;  // the first accepted write with it
    int appended = 0;                        // writes that may have happened and end with it
  };
  const History& history_;
  std::unordered_map<Value, Item, ValueHasher> items_;
};

bool counts(const HistoryHeader& header) {
  return header.workload == "counter" || header.raw.bool_or("counter", false);
}

// Of every key: what is sure to be in it, and what may be.
class Counters {
 public:
  explicit Counters(const History& history) : history_(history) {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (op.f() == f::add) {
        if (op.argument().is_int()) count(op.key(), op, op.argument().as_int());
      } else if (op.f() == f::write || op.f() == f::cas) {
        const Value extra = op.invoke_extra();
        if (!extra["intent"].is_null()) {
          count(op.key(), op, extra.int_or("by", 1));
        } else if (op.type() == OpType::kOk && op.argument().is_int()) {
          of_[op.key()].base = op.argument().as_int();  // who sets it up
        }
      }
    }
  }
  std::optional<Finding> judge(Symbol key, const KeyEvent& read) const {
    const auto at = of_.find(key);
    if (at == of_.end() || !(read.value.is_int() || read.value.is_null())) return std::nullopt;
    const Value initial = history_.header().initial_of(key);
    const int64_t base = at->second.base + (initial.is_int() ? initial.as_int() : 0);
    const int64_t value = read.value.is_int() ? read.value.as_int() : 0;
    const int64_t low = base + at->second.sure, high = low + at->second.possible;
    if (low <= value && value <= high) return std::nullopt;
    const std::string where = place(history_[read.id]);
    if (value < low)
      return Finding{"lost increments",
                     where + " counts " + std::to_string(value) + " in the end, though " +
                         std::to_string(low) + " were acknowledged",
                     {read},
                     {}};
    return Finding{"increments that nobody made",
                   where + " counts " + std::to_string(value) + " in the end, though only " +
                       std::to_string(low) + " were acknowledged and " +
                       std::to_string(at->second.possible) + " more may have happened",
                   {read},
                   {}};
  }

 private:
  struct Sum {
    int64_t base = 0, sure = 0, possible = 0;
  };
  void count(Symbol key, const Operation& op, int64_t by) {
    if (op.type() == OpType::kOk) of_[key].sure += by;
    if (op.type() == OpType::kInfo) of_[key].possible += by;
  }
  const History& history_;
  std::unordered_map<Symbol, Sum> of_;
};

class Durable : public Checker {
 public:
  std::string_view name() const override { return "durable"; }
  std::string_view summary() const override {
    return "what was acknowledged is in the final reads of every node, and nothing else is";
  }
  bool applies(const History& history) const override {
    if (changes_in_other_words(history) && !counts(history.header())) return false;
    return has_final_reads(history);
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "durable"};
    const bool counters = counts(history.header());
    const bool latest = read_claim(history.header()) == "linearizable";
    const std::optional<Counters> sums =
        counters ? std::optional<Counters>(history) : std::nullopt;
    const bool scale = one_scale(history);
    const KeyEvents events(history);
    const FinalReads finals(history, events);
    Findings findings(history, verdict);
    int64_t keys = 0, acknowledged = 0;
    each_key(events, budget, verdict, [&](const KeyTrack& track) {
      const std::vector<KeyEvent> reads = finals.of(track.key);
      if (reads.empty()) return;
      ++keys;
      for (const KeyEvent& event : track.events) acknowledged += event.accepted();
      auto found = counters ? first_bad(reads, latest, [&](const KeyEvent& read) {
        return sums->judge(track.key, read);
      })
                   : holds_arrays(track) ? judge_by(AppendList(history, track), reads, latest)
                                         : judge_by(Register(history, track, scale), reads, latest);
      if (found) findings.add(track.key, std::move(*found));
    });
    findings.conclude();
    verdict.counts = {{"keys read in the end", keys},
                      {"acknowledged writes", acknowledged},
                      {"nodes", static_cast<int64_t>(finals.nodes().size())}};
    if (keys == 0)
      nothing_judged("no final read was answered: nobody looked at what is left",
                     "final reads that were answered", "see the verdict of availability", verdict);
    if (verdict.reason.empty())
      verdict.reason = counted(static_cast<size_t>(acknowledged), "acknowledged write is",
                               "acknowledged writes are") +
                       " in the final reads of " +
                       counted(static_cast<size_t>(keys), "key", "keys") + ", or replaced by later ones";
    return verdict;
  }

 private:
  // Reads of copies that may be old are bad only together.
  template <typename Judge>
  static std::optional<Finding> first_bad(const std::vector<KeyEvent>& reads, bool latest,
                                          const Judge& judge) {
    std::optional<Finding> first;
    for (const KeyEvent& read : reads) {
      auto found = judge(read);
      if (!found && !latest) return std::nullopt;
      if (found && !first) first = std::move(found);
    }
    return first;
  }
  template <typename Form>
  static std::optional<Finding> judge_by(const Form& form, const std::vector<KeyEvent>& reads,
                                         bool latest) {
    return first_bad(reads, latest, [&](const KeyEvent& read) { return form.judge(read); });
  }
};

}  // namespace
}  // namespace assay::durable

namespace assay {

const Checker& durable_checker() {
  static const durable::Durable checker;
  return checker;
}

}  // namespace assay
