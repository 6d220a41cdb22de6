// Checker: reads a History, gives a Verdict. Nothing else enters: no files, no plots, no clock, no
// knowledge of how the run was made. Stateless; any thread.
//
// A verdict is a tree: the run, its checkers, their parts (per key, per clause). Safety and
// progress are apart. Merging takes the worst: invalid > unknown > vacuous > valid, and
// blocked > unknown > ok > not-due.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/history.h"

namespace assay {

enum class Safety : uint8_t { kValid, kVacuous, kUnknown, kInvalid };  // in order of merging
enum class Progress : uint8_t { kNotDue, kOk, kUnknown, kBlocked };    // in order of merging
enum class Word : uint8_t { kValid, kVacuous, kUnknown, kBlocked, kInvalid };
std::string_view to_string(Safety safety);      // "valid", "vacuous", "unknown", "invalid"
std::string_view to_string(Progress progress);  // "not-due", "ok", "unknown", "blocked"
std::string_view to_string(Word word);

struct OrderStep {
  size_t operation = 0;  // id in the history
  std::string state;     // that it leaves, in the model's words; empty where it has none
};

// An order of the longest beginning of the history that can be explained: its last few steps, and
// the operation with which no order explains it any more.
struct LastOrder {
  std::string of;                // what it is an order of, where that is not the whole key
  size_t before = 0;             // steps before those shown
  std::string start;             // the state before those shown
  std::vector<OrderStep> steps;
  std::optional<size_t> breaks;  // id in the history
};

// The smallest set of operations that shows an anomaly.
struct Witness {
  std::vector<size_t> operations;  // ids in the history, in order of invocation
  std::vector<std::string> lines;  // the story in words, a sentence each; the first says it all
  std::optional<LastOrder> order;  // where one was found
};

struct Verdict {
  std::string name;  // "linearizable", "k7", "availability": the last part of its path
  Safety safety = Safety::kValid;
  Progress progress = Progress::kNotDue;
  std::string reason;                                      // a sentence, without final stop
  std::vector<std::pair<std::string, int64_t>> counts;     // in the order to print
  std::vector<std::pair<std::string, std::string>> facts;  // further figures in words
  std::optional<Witness> witness;                          // of an invalid one
  std::vector<Verdict> children;

  Word word() const;  // invalid, else blocked, else unknown (of either), else vacuous, else valid
  // Adds a child and takes over its safety and progress where they are worse, with its reason.
  void add(Verdict child);
  const Verdict* find(std::string_view path) const;  // "linearizable/k7"; nullptr when absent
  const Verdict* worst() const;  // the deepest node that decides the word; itself for valid
};

struct Budget {
  // True when the time is up or the user has interrupted; polled often, from any of the checker's
  // threads at once. The clock is the caller's.
  std::function<bool()> exhausted = [] { return false; };
  uint64_t memory_bytes = 4ull << 30;
  int jobs = 1;  // threads that a checker may use
};

struct Proof;  // checkers/linearizable/proof.h

class Checker {
 public:
  virtual ~Checker() = default;
  virtual std::string_view name() const = 0;     // as `assay list checkers` shows it
  virtual std::string_view summary() const = 0;  // one line
  // Has this history anything for it to judge? check_history() asks only those that do: a target
  // without members has no members that could disagree.
  virtual bool applies(const History&) const { return true; }
  // An input error when it cannot judge this history at all (operations that it does not know).
  // check() may count on it.
  virtual Result<void> accepts(const History&) const { return {}; }
  virtual Verdict check(const History& history, const Budget& budget) const = 0;
  // The same, and keeps the orders that it finds, where it is one that finds any.
  virtual Verdict check_and_prove(const History& history, const Budget& budget,
                                  Proof& /*proof*/) const {
    return check(history, budget);
  }
  // Is this prefix of a history proven invalid, so that whatever comes after it changes nothing?
  // For those who follow a run: no witness, nothing for people. Of each key it holds every line so
  // far, or none. False also means: not known, not within the budget, this checker does not tell.
  virtual bool refutes(const History& /*prefix*/, const Budget&) const { return false; }
};

// The checkers by name, in the order in which they run and are shown (checkers/registry.cc).
const std::vector<const Checker*>& all_checkers();
const Checker* find_checker(std::string_view name);  // nullptr when there is none

// Runs the checkers named (those of the header; all when the header names none), as far as they
// apply, and returns the tree whose root is named "run". A name that is not there, and a history
// that one of them does not accept, are input errors. The proof, where one is asked for, is of what
// they judge: without parts where none of them finds orders.
Result<Verdict> check_history(const History& history, const std::vector<std::string>& checkers,
                              const Budget& budget, Proof* proof = nullptr);

// The first of the checkers of the header that refutes the prefix, as far as they apply and accept
// it; nullptr when none does.
const Checker* refuting_checker(const History& prefix, const Budget& budget);

}  // namespace assay
