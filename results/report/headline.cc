#include "results/report/headline.h"

#include <algorithm>

#include "checkers/facts.h"
#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr size_t kReasonsMax = 6;
constexpr Nanos kLogMargin = seconds(1);
constexpr Nanos kLogWindowMax = seconds(20);

void add_once(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(std::move(text));
  }
}

std::vector<std::string>* place_of(Evidence& evidence, std::string_view name) {
  if (name == fact::kCouldHaveBeenCaught) return &evidence.could_have_been_caught;
  if (name == fact::kNotClaimed) return &evidence.not_claimed;
  if (name == fact::kNotTested) return &evidence.not_tested;
  if (name == fact::kMissing) return &evidence.missing;
  if (name == fact::kRemedy) return &evidence.remedies;
  if (name == fact::kConvention) return &evidence.conventions;
  if (name == fact::kWeaker) return &evidence.weaker;
  return nullptr;
}

void gather(const Verdict& verdict, Evidence& evidence) {
  for (const auto& [name, text] : verdict.facts) {
    if (auto* place = place_of(evidence, name)) add_once(*place, text);
  }
  for (const Verdict& child : verdict.children) gather(child, evidence);
}

// On whose word the witness that is shown rests: said by its verdict or one above it. Others of the
// tree speak of witnesses of their own.
void gather_rests_on(const Verdict& root, const Found& witness, Evidence& evidence) {
  const auto take = [&](const Verdict& verdict) {
    for (const auto& [name, text] : verdict.facts) {
      if (name == fact::kRestsOn) add_once(evidence.rests_on, text);
    }
  };
  for (const Verdict* verdict : witness.line) take(*verdict);
  if (witness.verdict == nullptr) take(root);
}

// The reasons of the innermost nodes that have the run's word.
void gather_reasons(const Verdict& verdict, Word word, std::vector<std::string>& reasons) {
  if (reasons.size() >= kReasonsMax || verdict.word() != word) return;
  const bool inner = std::none_of(verdict.children.begin(), verdict.children.end(),
                                  [&](const Verdict& child) { return child.word() == word; });
  if (inner) add_once(reasons, verdict.reason);
  for (const Verdict& child : verdict.children) gather_reasons(child, word, reasons);
}

void say_what_happened(const Digest& digest, std::vector<std::string>& lines) {
  for (const FaultCount& fault : digest.faults) {
    if (fault.bit > 0) {
      lines.push_back(counted(fault.bit, fault.kind, fault.kind + "s") + " that bit");
    }
  }
  if (digest.elections > 0) {
    lines.push_back(counted(digest.elections, "change", "changes") + " of leader");
  }
  if (digest.unknown_updates > 0) {
    lines.push_back(counted(digest.unknown_updates, "update", "updates") + " of unknown outcome");
  }
}

std::vector<std::string> usual_remedies(Word word) {
  switch (word) {
    case Word::kUnknown:
      return {"more time or memory for the check: `--budget 10m`, `--memory 16G`",
              "shorter histories per key: `--ops-per-key 100`"};
    case Word::kVacuous:
      return {"a longer run: `--time-limit 60s`", "more load: `--rate 2000`",
              "faults that last: `--fault-duration 5s`"};
    case Word::kBlocked:
      return {"the logs of the nodes in nodes/ say what they were waiting for",
              "the same faults one at a time: `--nemesis kill`"};
    default:
      return {};
  }
}

// "p3 read 4" begins with a name, and stays as it is.
std::string capitalised_story(const std::string& line) {
  const bool process = line.size() > 1 && line[0] == 'p' && line[1] >= '0' && line[1] <= '9';
  return process ? line : capitalised(line);
}

bool find_witness_of(const Verdict& verdict, const std::string& path, bool decisive, Word word,
                     Found& found) {
  found.line.push_back(&verdict);
  if (verdict.witness && (!decisive || verdict.word() == word)) {
    found.verdict = &verdict;
    found.path = path;
    return true;
  }
  for (const Verdict& child : verdict.children) {
    const std::string child_path = path.empty() ? child.name : path + "/" + child.name;
    if (find_witness_of(child, child_path, decisive, word, found)) return true;
  }
  found.line.pop_back();
  return false;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

std::string binaries_text(const RunInfo& info) {
  constexpr size_t kHashShown = 12;
  std::string out;
  for (const Binary& binary : info.binaries) {
    const size_t colon = binary.hash.find(':');
    const std::string digits = binary.hash.substr(colon == std::string::npos ? 0 : colon + 1);
    out += (out.empty() ? "" : ", ") + binary.name + " " + digits.substr(0, kHashShown);
  }
  return out;
}

std::string faults_of(const Digest& digest) {
  std::string out;
  for (const FaultCount& fault : digest.faults) {
    out += (out.empty() ? "" : ", ") + fault_text(fault);
  }
  return out.empty() ? "none" : out;
}

}  // namespace

Outcome outcome_of(const Verdict& verdict, const RunInfo& info) {
  const Word word = verdict.word();
  if (word == Word::kInvalid) return Outcome::kInvalid;  // nothing hides an anomaly
  if (!info.failure.empty()) return Outcome::kFailed;
  if (info.interrupted) return Outcome::kInterrupted;
  switch (word) {
    case Word::kUnknown:
      return Outcome::kUnknown;
    case Word::kBlocked:
      return Outcome::kBlocked;
    case Word::kVacuous:
      return Outcome::kVacuous;
    default:
      return Outcome::kValid;
  }
}

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"valid",   "invalid", "unknown",    "blocked",
                                         "vacuous", "failed",  "interrupted"};
  return kNames[static_cast<size_t>(outcome)];
}

Found find_witness(const Verdict& verdict) {
  Found found;
  if (!find_witness_of(verdict, "", true, verdict.word(), found)) {
    find_witness_of(verdict, "", false, verdict.word(), found);
  }
  return found;
}

Headline headline_of(const Verdict& verdict, const RunInfo& info) {
  Headline headline;
  headline.outcome = outcome_of(verdict, info);
  headline.word = upper(to_string(headline.outcome));
  std::string reason = verdict.reason;
  if (headline.outcome == Outcome::kFailed) {
    reason = info.failure;
  } else if (headline.outcome == Outcome::kInterrupted) {
    reason = "stopped by a signal; the part that was recorded: " +
             std::string(assay::to_string(verdict.word())) +
             (verdict.reason.empty() ? "" : ", " + verdict.reason);
  }
  headline.sentence = sentence(capitalised(reason));
  if (headline.outcome == Outcome::kInvalid) {
    if (!info.failure.empty())
      headline.note = sentence("The harness failed as well: " + info.failure);
    if (info.interrupted) headline.note = "The run was interrupted by a signal.";
  }
  const Found witness = find_witness(verdict);
  if (witness.verdict == nullptr || headline.outcome != Outcome::kInvalid) return headline;
  const auto& lines = witness.verdict->witness->lines;
  if (lines.empty()) return headline;
  // The first line says it all, and may be the reason itself.
  if (headline.sentence.find(capitalised(lines[0])) == std::string::npos &&
      headline.sentence.find(lines[0]) == std::string::npos) {
    headline.sentence += (headline.sentence.empty() ? "" : " ") + sentence(capitalised_story(lines[0]));
  }
  headline.lines.assign(lines.begin() + 1, lines.end());
  return headline;
}

Evidence evidence_of(const Verdict& verdict, const Digest& digest, const RunInfo& info) {
  Evidence evidence;
  gather(verdict, evidence);
  gather_rests_on(verdict, find_witness(verdict), evidence);
  if (evidence.could_have_been_caught.empty()) {
    say_what_happened(digest, evidence.could_have_been_caught);
  }
  for (const std::string& line : info.not_claimed) add_once(evidence.not_claimed, line);
  for (const std::string& line : info.not_tested) add_once(evidence.not_tested, line);
  for (const FaultCount& fault : digest.faults) {
    if (fault.bit == 0) add_once(evidence.not_tested, fault.kind + ": none of them bit");
  }
  const Word word = verdict.word();
  if (evidence.missing.empty() && word != Word::kValid && word != Word::kInvalid) {
    gather_reasons(verdict, word, evidence.missing);
  }
  // What failed says itself what would help.
  if (evidence.remedies.empty() && info.failure.empty()) evidence.remedies = usual_remedies(word);
  return evidence;
}

std::vector<std::pair<std::string, std::string>> scope_of(const History& history,
                                                          const Digest& digest,
                                                          const RunInfo& info) {
  std::vector<std::pair<std::string, std::string>> scope;
  const auto put = [&](const char* name, std::string text) {
    if (!text.empty()) scope.emplace_back(name, std::move(text));
  };
  const std::string binaries = binaries_text(info);
  put("target",
      history.header().target + (binaries.empty() ? "" : " (" + shortened(binaries, 80) + ")"));
  put("nodes", digest.nodes.empty() ? "" : std::to_string(digest.nodes.size()));
  put("workload", history.header().workload);
  put("faults", faults_of(digest));
  put("seed", info.seed ? std::to_string(*info.seed) : "");
  std::string operations = outcomes_text(digest.all);
  if (digest.keys > 0) operations += " over " + counted(digest.keys, "key", "keys");
  if (digest.timed && digest.end > Nanos{0}) operations += " in " + format_duration(digest.end);
  put("operations", operations);
  put("environment", info.environment);
  put("started", info.started);
  return scope;
}

std::pair<Nanos, Nanos> log_window(const History& history, const Verdict& verdict) {
  const Nanos end = history.end_time();
  const Found witness = find_witness(verdict);
  Nanos from = kNever;
  Nanos to{0};
  if (witness.verdict != nullptr) {
    for (size_t id : witness.verdict->witness->operations) {
      if (id >= history.size()) continue;
      const Operation operation = history[id];
      from = std::min(from, operation.invoke_time());
      to = std::max(to, is_open(operation) ? operation.invoke_time() : operation.return_time());
    }
  }
  if (from == kNever) return {std::max(Nanos{0}, end - kLogWindowMax / 2), end};
  from = std::max(Nanos{0}, from - kLogMargin);
  to = std::min(std::max(to, from) + kLogMargin, end);
  if (to - from > kLogWindowMax) from = to - kLogWindowMax;  // what came last tells most
  return {from, to};
}

}  // namespace assay::report
