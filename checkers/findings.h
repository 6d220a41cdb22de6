// Findings: what checkers that judge key by key have found, as verdicts with witnesses.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "checkers/checker.h"
#include "checkers/facts.h"
#include "checkers/key_events.h"

namespace assay {

// An anomaly of one key (or account, name, node): the events that show it.
struct Finding {
  std::string anomaly;   // "lost update"
  std::string headline;  // the first line of the witness: says it all
  std::vector<KeyEvent> events;
  std::vector<std::string> more;  // further lines of the witness
};

// Adds a child per invalid key to the verdict; the first few are told.
class Findings {
 public:
  Findings(const History& history, Verdict& verdict) : history_(history), verdict_(verdict) {}
  void add(Symbol key, Finding finding);
  // After the last: how many keys are invalid.
  void conclude();
  size_t size() const { return count_; }

 private:
  const History& history_;
  Verdict& verdict_;
  size_t count_ = 0;
};

// Calls fn(track) for each key; false, and the verdict is unknown, when the budget ends before.
template <typename Fn>
bool each_key(const KeyEvents& events, const Budget& budget, Verdict& verdict, const Fn& fn) {
  for (const KeyTrack& track : events.keys()) {
    if (budget.exhausted()) {
      verdict.safety = std::max(verdict.safety, Safety::kUnknown);
      if (verdict.reason.empty()) verdict.reason = "not decided within its budget";
      verdict.facts.emplace_back(fact::kMissing, "not decided within its budget");
      verdict.facts.emplace_back(fact::kRemedy, "more time: `--budget 600s`");
      return false;
    }
    fn(track);
  }
  return true;
}

// A verdict that nothing could be judged for lack of `missing`.
void nothing_judged(std::string reason, std::string missing, std::string remedy, Verdict& verdict);

struct ValueHasher {
  size_t operator()(const Value& value) const { return value.hash(); }
};
struct TokenHasher {
  size_t operator()(Token token) const {
    const auto bits = token.is_number() ? static_cast<uint64_t>(token.number())
                                        : token.none() ? ~0ull : token.text().id() + 0x51ull;
    return bits * 0x9e3779b97f4a7c15ull >> 7;
  }
};

// Whose read-decide-write loop an operation is part of (extra `intent`); null where it says none.
inline Value intent_of(const Operation& operation) { return operation.invoke_extra()["intent"]; }
// "intent 7 (p3)", "p3".
std::string author_text(const Operation& operation);

// Whether anything changes keys by operations that key events do not show (add, append, …).
bool changes_in_other_words(const History& history);
// Whether the revisions of keys are those of the store: some accepted write carries both, and in all
// that do they are equal. Then states of different keys, and absences, have one order.
bool one_scale(const History& history);

}  // namespace assay
