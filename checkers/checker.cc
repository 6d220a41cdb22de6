#include "checkers/checker.h"

#include <algorithm>

#include "checkers/history/vocabulary.h"

namespace assay {

std::string_view to_string(Safety safety) {
  switch (safety) {
    case Safety::kValid:
      return "valid";
    case Safety::kVacuous:
      return "vacuous";
    case Safety::kUnknown:
      return "unknown";
    case Safety::kInvalid:
      return "invalid";
  }
  return "";
}

std::string_view to_string(Progress progress) {
  switch (progress) {
    case Progress::kNotDue:
      return "not-due";
    case Progress::kOk:
      return "ok";
    case Progress::kUnknown:
      return "unknown";
    case Progress::kBlocked:
      return "blocked";
  }
  return "";
}

std::string_view to_string(Word word) {
  switch (word) {
    case Word::kValid:
      return "valid";
    case Word::kVacuous:
      return "vacuous";
    case Word::kUnknown:
      return "unknown";
    case Word::kBlocked:
      return "blocked";
    case Word::kInvalid:
      return "invalid";
  }
  return "";
}

namespace {

Word word_of(Safety safety, Progress progress) {
  if (safety == Safety::kInvalid) return Word::kInvalid;
  if (progress == Progress::kBlocked) return Word::kBlocked;
  if (safety == Safety::kUnknown || progress == Progress::kUnknown) return Word::kUnknown;
  return safety == Safety::kVacuous ? Word::kVacuous : Word::kValid;
}

}  // namespace

Word Verdict::word() const { return word_of(safety, progress); }

void Verdict::add(Verdict child) {
  const Word before = word();
  safety = std::max(safety, child.safety);
  progress = std::max(progress, child.progress);
  // The reason is that of whoever decides the word.
  if (word() > before) reason = child.reason;
  children.push_back(std::move(child));
}

const Verdict* Verdict::find(std::string_view path) const {
  if (path.empty()) return this;
  for (const Verdict& child : children) {
    // Names may hold slashes themselves (keys of a store).
    if (!path.starts_with(child.name)) continue;
    const std::string_view rest = path.substr(child.name.size());
    if (rest.empty()) return &child;
    if (rest.front() != '/') continue;
    if (const Verdict* found = child.find(rest.substr(1))) return found;
  }
  return nullptr;
}

const Verdict* Verdict::worst() const {
  const Verdict* at = this;
  while (at->word() != Word::kValid) {
    const auto decisive =
        std::find_if(at->children.begin(), at->children.end(),
                     [&](const Verdict& child) { return child.word() == at->word(); });
    if (decisive == at->children.end()) break;
    at = &*decisive;
  }
  return at;
}

Result<Verdict> check_history(const History& history, const std::vector<std::string>& checkers,
                              const Budget& budget, Proof* proof) {
  std::vector<const Checker*> chosen;
  const auto& named = checkers.empty() ? history.header().checkers : checkers;
  for (const std::string& name : named) {
    const Checker* checker = find_checker(name);
    if (checker == nullptr) {
      std::string known;
      for (const Checker* c : all_checkers()) {
        known += (known.empty() ? "" : ", ") + std::string(c->name());
      }
      return input_error("there is no checker " + name + ": expected one of " + known);
    }
    if (std::find(chosen.begin(), chosen.end(), checker) == chosen.end()) {
      chosen.push_back(checker);
    }
  }
  if (named.empty()) chosen = all_checkers();
  std::erase_if(chosen, [&](const Checker* checker) { return !checker->applies(history); });
  for (const Checker* checker : chosen) {
    if (auto accepted = checker->accepts(history); !accepted) return accepted.error();
  }
  Verdict run{.name = "run"};
  if (const std::string why = ended_early(history); !why.empty()) {
    run.add({.name = "end", .safety = Safety::kUnknown, .reason = why});
  }
  for (const Checker* checker : chosen) {
    run.add(proof ? checker->check_and_prove(history, budget, *proof)
                  : checker->check(history, budget));
  }
  if (run.children.empty()) {
    run.safety = Safety::kVacuous;
    run.reason = "there is nothing in this history for the checkers to judge";
  } else if (run.word() == Word::kValid) {
    run.reason = run.children.front().reason;
  }
  return run;
}

const Checker* refuting_checker(const History& prefix, const Budget& budget) {
  for (const std::string& name : prefix.header().checkers) {
    const Checker* checker = find_checker(name);
    if (checker != nullptr && checker->applies(prefix) && checker->accepts(prefix) &&
        checker->refutes(prefix, budget))
      return checker;
  }
  return nullptr;
}

}  // namespace assay
