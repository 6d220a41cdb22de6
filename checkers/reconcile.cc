// reconcile: does who was refused look again before it writes again, and come to an end? (K12)
// Judged per intent: the operations that carry one name (extra `intent`), a read-decide-write loop.
//
//   re-read    after a conflict on a key the intent's next write of that key compares a token that it
//              read (or listed) after the answer, or the one that the answer named as current; where
//              it compares none, it has read the key after the answer
//   bounded    at most attempts_max writes of a key (header: thresholds.attempts_max, or retry: a
//              number, or its member attempts or steps); without a bound: counted
//   ends       it ends acknowledged, or with an unknown outcome, or with a refusal that it said it
//              would give up at (`gives_up`): an intent that was refused, and whose process went on to
//              another one without a word, was dropped. One that the end of the run cut off is not, nor
//              one that looked again, and found nothing left to do
//   once       it is not applied twice: no two acknowledged writes of one key (records of locks apart),
//              nor one, and a state that only an earlier write of unknown outcome can have made
//
// That a writer takes the token alone from the answer and keeps its old content is field-ownership's
// matter: it is counted here. Operations without an intent are not judged.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::reconcile {
namespace {

const Symbol kConflict{"conflict"}, kMismatch{"mismatch"};

bool looks(const Operation& op) { return op.f() == f::read || op.f() == f::list; }
bool conflicts(const Operation& op) {
  return op.type() == OpType::kFail && (op.error_class() == kConflict || op.error_class() == kMismatch);
}
bool of_a_lock(const Operation& op) {
  const Value value = op.argument();
  if (!value.is_object()) return false;
  for (const auto& [name, member] : value.as_object())
    if (name.text() == "holder") return true;
  return false;
}

// What an intent knows of a key.
struct OfKey {
  Symbol key;
  std::optional<uint32_t> refused;  // the last conflict, not yet answered by a write
  std::vector<Token> read_since;    // … and the tokens of the ok reads since
  std::optional<uint32_t> ok;       // the acknowledged write
  std::optional<uint32_t> unknown;  // the last write of unknown outcome
  int64_t writes = 0;
};
struct Intent {
  std::vector<OfKey> keys;
  std::vector<uint32_t> lists;
  uint32_t last = 0;  // its last operation
  bool applied = false;
  bool unknown = false;
  bool refused = false;  // by its last write
  OfKey& of(Symbol key) {
    for (OfKey& known : keys)
      if (known.key == key) return known;
    keys.push_back({.key = key});
    return keys.back();
  }
};

// Values that one write alone carries, and whether anybody saw them.
class Uniques {
 public:
  Uniques(const History& history, const std::unordered_set<Symbol>& keys) {
    if (keys.empty()) return;
    const KeyEvents events(history, keys);
    for (const KeyTrack& track : events.keys()) {
      for (const KeyEvent& event : track.events) {
        if (event.did == Did::kWrite && event.may_have_happened() && !event.value.is_null()) {
          ++written_[{track.key, event.value}];
        }
      }
      for (const KeyEvent& event : track.events) {
        if (event.did != Did::kRead || !event.ok() || event.value.is_null()) continue;
        const auto at = written_.find({track.key, event.value});
        if (at != written_.end() && at->second == 1) seen_.emplace(at->first, event.id);
      }
    }
  }
  // Who saw the state of that write, where nobody else can have made it.
  std::optional<uint32_t> seen(Symbol key, const Value& value) const {
    const auto at = seen_.find({key, value});
    return at == seen_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  struct Hasher {
    size_t operator()(const std::pair<Symbol, Value>& of) const {
      return of.second.hash() * 31 + of.first.id();
    }
  };
  std::unordered_map<std::pair<Symbol, Value>, int, Hasher> written_;
  std::unordered_map<std::pair<Symbol, Value>, uint32_t, Hasher> seen_;
};

int64_t bound_of(const HistoryHeader& header) {
  const int64_t bound = threshold_of(header, "attempts_max", 0);
  if (bound > 0) return bound;
  const Value& retry = header.raw["retry"];
  return retry.is_int() ? retry.as_int() : retry.int_or("attempts", retry.int_or("steps", 0));
}

class Loops {
 public:
  explicit Loops(const History& history)
      : history_(history), bound_(bound_of(history.header())), verdict_{.name = "reconcile"} {}

  Verdict run(const Budget& budget) {
    for (uint32_t id = 0; id < history_.size(); ++id) {
      if (id % 4096 == 0 && budget.exhausted()) {
        verdict_.safety = Safety::kUnknown;
        verdict_.reason = "not decided within its budget";
        return std::move(verdict_);
      }
      const Operation op = history_[id];
      const Value name = intent_of(op);
      if (name.is_null()) continue;
      const auto [at, fresh] = numbers_.try_emplace(name, intents_.size());
      if (fresh) intents_.emplace_back();
      Intent& intent = intents_[at->second];
      take(op, intent);
      intent.last = id;
      last_of_[op.process().id] = at->second;
    }
    numbers_ = {};
    for (size_t i = 0; i < intents_.size(); ++i) conclude(i);
    twice_by_unknowns();
    return tell();
  }

 private:
  void take(const Operation& op, Intent& intent) {
    if (looks(op)) return look(op, intent);
    if (op.f() == f::txn) {
      const auto guards = guards_of_txn(op);
      for (const auto& [key, token] : guards) before_write(op, intent.of(key), token, intent);
      for (const auto& [key, value] : writes_of_txn(op.argument())) count_write(op, intent.of(key));
      for (const auto& [key, token] : guards) after_write(op, intent.of(key));
    } else if (has_key_events(op.f())) {
      OfKey& of = intent.of(op.key());
      before_write(op, of, op.expected(), intent);
      count_write(op, of);
      after_write(op, of);
    } else {
      return;
    }
    intent.applied |= op.type() == OpType::kOk;
    intent.unknown |= op.type() == OpType::kInfo;
    intent.refused = op.type() == OpType::kFail;
  }
  void look(const Operation& op, Intent& intent) {
    if (op.type() != OpType::kOk) return;
    const auto id = static_cast<uint32_t>(op.id());
    if (op.f() == f::list) {
      intent.lists.push_back(id);
      return;
    }
    OfKey& of = intent.of(op.key());
    if (of.refused) of.read_since.push_back(op.revision());
  }
  // Whether the intent has read the key after its refusal, and found that token (none: any).
  bool has_read(const OfKey& of, const Intent& intent, Token token) const {
    const auto fits = [&](Token found) {
      return token.none() || found == token || (token == Token(int64_t{0}) && found.none());
    };
    if (std::any_of(of.read_since.begin(), of.read_since.end(), fits)) return true;
    const Position refusal = history_[*of.refused].return_position();
    for (uint32_t id : intent.lists) {
      const Operation list = history_[id];
      if (list.invoke_position() < refusal || !of.key.text().starts_with(list.key().text())) continue;
      if (fits(token_in(list, of.key))) return true;
    }
    return false;
  }
  static Token token_in(const Operation& list, Symbol key) {
    const Value result = list.result();
    if (result.is_array()) {
      for (const Value& entry : result.as_array())
        if (entry.is_array() && entry.as_array().size() == 3 && entry.as_array()[0] == Value(key))
          return token_of(entry.as_array()[2]);
    }
    return Token(int64_t{0});
  }
  void before_write(const Operation& op, OfKey& of, Token token, const Intent& intent) {
    if (!of.refused) return;
    if (of_a_lock(op)) return of.refused.reset();  // who lets go compares what it took
    const Operation refusal = history_[*of.refused];
    const bool has = has_read(of, intent, token);
    of.refused.reset();
    of.read_since.clear();
    ++retries_;
    if (has) return;
    if (!token.none() && token == refusal.error_current()) {
      ++token_alone_;
      return;
    }
    find(of.key, "wrote again without looking",
         author_text(op) + " was refused to write " + std::string(of.key.text()) +
             ", and wrote again " +
             (token.none() ? "without reading it first"
                           : "on condition that revision " + token_text(token) +
                                 " was current, which it had not read since"),
         {refusal, op});
  }
  void count_write(const Operation& op, OfKey& of) {
    ++of.writes;
    most_ = std::max(most_, of.writes);
    if (bound_ > 0 && of.writes == bound_ + 1)
      find(of.key, "too many attempts",
           author_text(op) + " tried more often than " + std::to_string(bound_) + " times to write " +
               std::string(of.key.text()),
           {op});
    if (op.type() == OpType::kOk && of.ok && !of_a_lock(op))
      find(of.key, "an intent applied twice",
           author_text(op) + " had two writes of " + std::string(of.key.text()) + " acknowledged",
           {history_[*of.ok], op});
  }
  void after_write(const Operation& op, OfKey& of) {
    const auto id = static_cast<uint32_t>(op.id());
    if (conflicts(op)) of.refused = id;
    if (op.type() == OpType::kOk) of.ok = id;
    if (op.type() == OpType::kInfo) of.unknown = id;
  }

  void conclude(size_t i) {
    const Intent& intent = intents_[i];
    const Operation last = history_[intent.last];
    if (intent.applied) return void(++ok_);
    if (intent.unknown) return void(++unknown_);
    if (!intent.refused) return void(++idle_);
    if (last.invoke_extra().bool_or("gives_up", false)) return void(++given_up_);
    if (last_of_[last.process().id] == i) return void(++cut_off_);
    if (looks(last) && last.type() == OpType::kOk) return void(++looked_and_left_);
    find(last.key(), "an intent dropped in silence",
         author_text(last) + " was refused and went on to something else, without a word", {last});
  }
  bool may_be_twice(const OfKey& of) const {
    return of.ok && of.unknown && !of_a_lock(history_[*of.ok]);
  }
  void twice_by_unknowns() {
    std::unordered_set<Symbol> keys;
    for (const Intent& intent : intents_)
      for (const OfKey& of : intent.keys)
        if (may_be_twice(of)) keys.insert(of.key);
    const Uniques uniques(history_, keys);
    for (const Intent& intent : intents_) {
      for (const OfKey& of : intent.keys) {
        if (!may_be_twice(of)) continue;
        const Operation unknown = history_[*of.unknown];
        if (unknown.f() == f::txn) continue;
        const Value value = unknown.f() == f::cas && unknown.argument().is_array()
                                ? unknown.argument().as_array().back()
                                : unknown.argument();
        const auto seen = uniques.seen(of.key, value);
        if (!seen) continue;
        find(of.key, "an intent applied twice",
             author_text(unknown) + " had a write of unknown outcome, which took effect, and another "
                                    "one acknowledged",
             {unknown, history_[*of.ok], history_[*seen]});
      }
    }
  }

  void find(Symbol key, std::string anomaly, std::string headline, const std::vector<Operation>& ops) {
    ++found_;
    if (verdict_.children.size() >= 5) {
      verdict_.safety = Safety::kInvalid;
      return;
    }
    Verdict child{.name = key.empty() ? "intent" : std::string(key.text()), .safety = Safety::kInvalid};
    child.reason = std::move(anomaly);
    Witness witness;
    witness.lines.push_back(std::move(headline));
    for (const Operation& op : ops) {
      witness.operations.push_back(op.id());
      std::string line = author_text(op) + ": " + std::string(op.f().text()) + " " +
                         std::string(op.key().text());
      if (!op.expected().none()) line += ", comparing revision " + token_text(op.expected());
      line += op.type() == OpType::kOk     ? ": ok"
              : op.type() == OpType::kFail ? ": refused"
                                           : ": unknown";
      if (!op.error_current().none()) line += ", current " + token_text(op.error_current());
      if (op.type() == OpType::kOk && !op.revision().none())
        line += ", revision " + token_text(op.revision());
      witness.lines.push_back(line + " (" + when(op) + ")");
    }
    child.witness = std::move(witness);
    verdict_.add(std::move(child));
  }

  Verdict tell() {
    verdict_.counts = {{"intents", static_cast<int64_t>(intents_.size())},
                       {"ended ok", ok_},
                       {"ended unknown", unknown_},
                       {"given up", given_up_},
                       {"cut off by the end", cut_off_},
                       {"looked again and left it", looked_and_left_},
                       {"without a write", idle_},
                       {"retries after a conflict", retries_},
                       {"retries with the token alone", token_alone_},
                       {"most attempts", most_}};
    if (found_ > 1) verdict_.facts.emplace_back("invalid intents", std::to_string(found_));
    if (bound_ > 0)
      verdict_.facts.emplace_back("threshold attempts_max", std::to_string(bound_));
    else
      verdict_.facts.emplace_back(fact::kNotTested, "a bound of attempts: the header gives none");
    if (retries_ == 0)
      verdict_.facts.emplace_back(fact::kNotTested,
                                  "what writers do after a conflict: none tried again");
    if (ok_ + unknown_ + given_up_ == 0)
      nothing_judged("no intent came to an end", "intents that ended", "longer: `--time-limit 60s`",
                     verdict_);
    if (verdict_.reason.empty())
      verdict_.reason = counted(intents_.size(), "intent", "intents") + ": " + std::to_string(ok_) +
                        " ended acknowledged, " + std::to_string(unknown_) + " unknown, " +
                        std::to_string(given_up_) + " given up";
    return std::move(verdict_);
  }

  const History& history_;
  const int64_t bound_;
  Verdict verdict_;
  std::unordered_map<Value, size_t, ValueHasher> numbers_;
  std::vector<Intent> intents_;
  std::unordered_map<int64_t, size_t> last_of_;  // the last intent of each process
  int64_t ok_ = 0, unknown_ = 0, given_up_ = 0, cut_off_ = 0, idle_ = 0, looked_and_left_ = 0;
  int64_t retries_ = 0, token_alone_ = 0, most_ = 0, found_ = 0;
};

class Reconcile : public Checker {
 public:
  std::string_view name() const override { return "reconcile"; }
  std::string_view summary() const override {
    return "who was refused looks again before it writes again, and every intent comes to an end, "
           "once";
  }
  bool applies(const History& history) const override {
    for (size_t id = 0; id < history.size(); ++id)
      if (!intent_of(history[id]).is_null()) return true;
    return false;
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    return Loops(history).run(budget);
  }
};

}  // namespace
}  // namespace assay::reconcile

namespace assay {

const Checker& reconcile_checker() {
  static const reconcile::Reconcile checker;
  return checker;
}

}  // namespace assay
