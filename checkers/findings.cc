#include "checkers/findings.h"

#include <algorithm>

#include "checkers/history/vocabulary.h"

namespace assay {
namespace {

constexpr size_t kTold = 5;

std::string whose_word(const History& history, const std::vector<KeyEvent>& events) {
  const auto refused = std::find_if(events.begin(), events.end(), [](const KeyEvent& event) {
    return event.type == OpType::kFail;
  });
  if (refused == events.end())
    return "independent of your error mapping: it rests on what was acknowledged and read";
  return "rests on the operation at index " +
         std::to_string(history[refused->id].invoke_index()) + " being a definite failure";
}

}  // namespace

void Findings::add(Symbol key, Finding finding) {
  if (++count_ > kTold) {
    verdict_.safety = std::max(verdict_.safety, Safety::kInvalid);
    return;
  }
  Verdict child{.name = key.empty() ? "register" : std::string(key.text()),
                .safety = Safety::kInvalid};
  child.reason = finding.anomaly + (key.empty() ? "" : " of " + std::string(key.text()));
  Witness witness;
  std::stable_sort(finding.events.begin(), finding.events.end(),
                   [](const KeyEvent& a, const KeyEvent& b) { return a.call < b.call; });
  witness.lines.push_back(finding.headline);
  for (const KeyEvent& event : finding.events) {
    if (std::find(witness.operations.begin(), witness.operations.end(), event.id) ==
        witness.operations.end())
      witness.operations.push_back(event.id);
    witness.lines.push_back(sentence_of(history_, event));
  }
  for (std::string& line : finding.more) witness.lines.push_back(std::move(line));
  const std::string word = whose_word(history_, finding.events);
  witness.lines.push_back(word);
  child.facts.emplace_back(fact::kRestsOn, word);
  child.witness = std::move(witness);
  verdict_.add(std::move(child));
}

void Findings::conclude() {
  if (count_ > 1) verdict_.facts.emplace_back("invalid keys", std::to_string(count_));
}

void nothing_judged(std::string reason, std::string missing, std::string remedy,
                    Verdict& verdict) {
  if (verdict.safety != Safety::kValid) return;
  verdict.safety = Safety::kVacuous;
  verdict.reason = std::move(reason);
  verdict.facts.emplace_back(fact::kMissing, std::move(missing));
  verdict.facts.emplace_back(fact::kRemedy, std::move(remedy));
}

std::string author_text(const Operation& operation) {
  const std::string process = "p" + std::to_string(operation.process().id);
  const Value intent = intent_of(operation);
  if (intent.is_null()) return process;
  return process + " (intent " +
         (intent.is_string() ? std::string(intent.as_text()) : intent.to_json()) + ")";
}

bool changes_in_other_words(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Symbol f = history[id].f();
    if (!has_key_events(f) && !leaves_keys_alone(f)) return true;
  }
  return false;
}

bool one_scale(const History& history) {
  bool any = false;
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (op.type() != OpType::kOk || op.f() == f::read || op.f() == f::list) continue;
    const auto revision = number_of(op.revision()), at = number_of(op.at());
    if (!revision || !at || *revision == 0) continue;
    if (*revision != *at) return false;
    any = true;
  }
  return any;
}

}  // namespace assay
