#include "harness/certify/token_kinds.h"

#include <algorithm>
#include <tuple>

#include "checkers/words.h"
#include "harness/certify/records.h"

namespace assay {
namespace {

bool was_played(const CertificateCell* cell) {
  return cell && cell->word != "not played" && cell->word != "failed" && cell->word != "interrupted";
}

class Comparison {
 public:
  Comparison(const Clause& clause, const Suite& suite, const std::vector<CertificateCell>& cells)
      : clause_(clause), kinds_(suite.token_kinds) {
    for (const SuiteCell& cell : suite.cells) {
      const bool recorded = std::any_of(cells.begin(), cells.end(), [&](const CertificateCell& record) {
        return record.id == cell.cell.id;
      });
      if (!recorded) unplayed_.push_back(blank_record(cell));
    }
    for (const CertificateCell& cell : cells) take(cell);
    for (const CertificateCell& cell : unplayed_) take(cell);
    // Played with the usual kind alone: nothing in it compares tokens.
    std::erase_if(pairs_, [](const auto& pair) {
      const auto& of = pair.second;
      return std::all_of(of.begin() + 1, of.end(), [](const auto* cell) { return cell == nullptr; });
    });
  }

  void run(CertificateClause& out) {
    out.check = "kinds of token";
    out.checks = {out.check};
    out.word = "vacuous";
    count(out);
    std::vector<std::string> broken, undecided, unheard;
    for (std::string_view id : clause_.same_verdicts) {
      const std::string compared(id);
      const auto words = words_of(compared);
      if (differ(compared, words, out)) return;
      const bool invalid = std::any_of(words.begin(), words.end(), [](const Word& w) { return w.word == "invalid"; });
      if (invalid) broken.push_back(compared);
      for (size_t kind = 0; kind < kinds_.size(); ++kind) {
        const std::string& word = words[kind].word;
        if (word != "blocked" && word != "unknown") continue;
        if (out.word != "blocked") out.word = word;
        undecided.push_back(compared + " (" + word + " with " + kinds_[kind] + ")");
      }
      if (!invalid && pairs_that_say(compared) == 0) unheard.push_back(compared);
    }
    conclude(broken, undecided, unheard, out);
  }

 private:
  using Pair = std::vector<const CertificateCell*>;  // by kind; nullptr: none
  struct Word {
    std::string word;  // the worst; empty: nothing was said
    const CertificateCell* cell = nullptr;
    std::string reason;
  };

  void take(const CertificateCell& cell) {
    unsound_convicted_ |= cell.target == kUnsoundTokens && is_convicted(cell);
    const auto kind = std::find(kinds_.begin(), kinds_.end(), cell.token_kind);
    if (!cell.canary_of.empty() || kind == kinds_.end()) return;
    Pair& pair = pairs_[{cell.workload, cell.faults, cell.seed}];
    pair.resize(kinds_.size());
    pair[static_cast<size_t>(kind - kinds_.begin())] = &cell;
  }

  bool says(const CertificateCell* cell, const std::string& clause) const {
    return cell && cell->clauses.contains(clause);
  }
  bool all_say(const Pair& pair, const std::string& clause) const {
    return std::all_of(pair.begin(), pair.end(), [&](const auto* cell) { return says(cell, clause); });
  }
  bool counts(const Pair& pair) const {
    return std::any_of(clause_.same_verdicts.begin(), clause_.same_verdicts.end(),
                       [&](std::string_view clause) { return all_say(pair, std::string(clause)); });
  }
  size_t pairs_that_say(const std::string& clause) const {
    return static_cast<size_t>(std::count_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) {
      return all_say(pair.second, clause);
    }));
  }

  void count(CertificateClause& out) {
    for (const auto& [name, pair] : pairs_) {
      if (!counts(pair)) {
        out.not_exercised.push_back(std::get<0>(name) + " under " + std::get<1>(name) + ", seed " +
                                    std::to_string(std::get<2>(name)) +
                                    ": no verdict with each kind of token");
        continue;
      }
      ++told_;
      for (const CertificateCell* cell : pair) {
        ++out.cells;
        out.operations += cell->ok;
        for (const auto& [fault, bit] : cell->bit) out.faults_bit += bit;
        for (const auto& [fault, healed] : cell->healed) out.recoveries += healed;
      }
      for (CertificateThreat& threat : out.threats) {
        int64_t least = INT64_MAX;
        for (const CertificateCell* cell : pair) {
          const auto bit = cell->bit.find(threat.fault);
          least = std::min(least, bit == cell->bit.end() ? 0 : bit->second);
        }
        threat.bit += least;
      }
    }
  }

  std::vector<Word> words_of(const std::string& clause) const {
    std::vector<Word> words(kinds_.size());
    for (const auto& [name, pair] : pairs_) {
      for (size_t kind = 0; kind < kinds_.size(); ++kind) {
        if (!says(pair[kind], clause)) continue;
        const auto& said = pair[kind]->clauses.at(clause);
        if (weight_of(said.word) > weight_of(words[kind].word))
          words[kind] = {said.word, pair[kind], said.reason};
      }
    }
    return words;
  }

  // Broken with one kind, and not with another that had something to say.
  bool differ(const std::string& clause, const std::vector<Word>& words, CertificateClause& out) const {
    const auto broken = std::find_if(words.begin(), words.end(), [](const Word& w) { return w.word == "invalid"; });
    const auto whole = std::find_if(words.begin(), words.end(), [](const Word& w) {
      return !w.word.empty() && w.word != "invalid";
    });
    if (broken == words.end() || whole == words.end()) return false;
    out.word = "invalid";
    out.cell = broken->cell->id;
    out.reason = clause + " is broken with " + kind_at(broken - words.begin()) + " (" + out.cell + ") and " +
                 whole->word + " with " + kind_at(whole - words.begin()) + ": " + broken->reason;
    return true;
  }
  std::string kind_at(std::ptrdiff_t at) const { return "tokens of the kind " + kinds_[static_cast<size_t>(at)]; }

  void conclude(const std::vector<std::string>& broken, const std::vector<std::string>& undecided,
                const std::vector<std::string>& unheard, CertificateClause& out) const {
    std::vector<std::string> missing;
    for (const auto& [name, pair] : pairs_)
      for (size_t kind = 0; kind < kinds_.size(); ++kind)
        if (!was_played(pair[kind])) missing.push_back(std::get<0>(name) + " with " + kinds_[kind]);
    if (!broken.empty()) {
      out.reason = "nothing sound to compare: " + listed(broken) + " broken with every kind of token";
    } else if (!undecided.empty()) {
      out.reason = "not decided: " + listed(undecided);
    } else if (!missing.empty()) {
      out.reason = "a run of a pair is missing: " + listed(missing);
    } else if (!unheard.empty()) {
      out.reason = "no pair of runs has a verdict of " + listed(unheard) + " with each kind of token";
    } else if (!unsound_convicted_) {
      out.reason = std::string(kUnsoundTokens) + " was not convicted: tokens that are not sound could pass";
    } else {
      out.word = "valid";
      out.reason = counted(kinds_.size(), "kind", "kinds") + " of token (" + listed(kinds_) +
                   "), the same verdicts of " +
                   listed({clause_.same_verdicts.begin(), clause_.same_verdicts.end()}) + " over " +
                   counted(told_, "pair", "pairs") + " of runs; " + std::string(kUnsoundTokens) +
                   " was convicted";
    }
  }

  static int weight_of(const std::string& word) {
    static const std::vector<std::string> order = {"", "valid", "unknown", "blocked", "invalid"};
    return static_cast<int>(std::find(order.begin(), order.end(), word) - order.begin());
  }

  const Clause& clause_;
  const std::vector<std::string>& kinds_;
  std::vector<CertificateCell> unplayed_;
  std::map<std::tuple<std::string, std::string, uint64_t>, Pair> pairs_;
  size_t told_ = 0;  // pairs with a verdict of each
  bool unsound_convicted_ = false;
};

}  // namespace

void compare_token_kinds(const Clause& clause, const Suite& suite,
                         const std::vector<CertificateCell>& cells, CertificateClause& out) {
  Comparison(clause, suite, cells).run(out);
}

bool is_convicted(const CertificateCell& canary) {
  const auto said = canary.clauses.find(canary.canary_of);
  return said != canary.clauses.end() && said->second.word == "invalid";
}

}  // namespace assay
