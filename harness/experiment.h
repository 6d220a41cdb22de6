// Experiments: the catalogue of what INV-008 (consensus) and INV-009 (versioned truth) argue, each as
// runs whose verdicts are expected: the naive design is convicted, its twin on the bundled store,
// with the same spec and seed, is not. Files: harness/experiments/*.json, which the program carries.
//
// {"name", "title", "source": "INV-008", "passage": "…", "spec": {members of a spec.json},
//  "runs": [{"name", "with": {members over the spec}, "expect": word, "any", or "sound" (whatever but invalid),
//            "clauses": {"V4": "invalid", "H1": "valid"},
//            "answers": {step: word}    of a script's named steps, in the words of answer_word()
//            "values": [text …]         of the sweep; without: all
//            "quorum": "the rule" or "otherwise"}],
//  "sweep": {"label", "values": [text …]}    every run once per value, "$x" in it replaced
//  "figure": {"y": [{"label", "run", "checker", "count", "per", "times",
//                    "trend": "rising|falling", "margin", "zero": [value …] or "everywhere"}]}
//            one figure per run, or where lines name their runs, one of all
//  "quorum": {"patience": "2s"}    the script is that of harness/quorum.h, by the number of nodes
//  "pending": "why it cannot be run yet"}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/time.h"
#include "harness/cells.h"

namespace assay {

struct ExperimentRun {
  std::string name;
  Value with;
  std::string expect = "valid";
  std::vector<std::pair<std::string, std::string>> clauses;  // clause -> valid, invalid, blocked
  std::vector<std::pair<std::string, std::string>> answers;  // step -> word
  std::vector<std::string> x_values;  // of the sweep
  std::string quorum;                 // what its matrix is to be; empty: it has none
};

struct FigureLine {
  std::string label;
  std::string run;  // of which it is; empty: each run has it in a figure of its own
  std::string checker;  // whose count it is; "stats" …
  std::string count;
  std::string per;        // a count of the same checker; empty: the number itself
  int64_t times = 1;      // of the quotient
  std::string trend;      // claimed from the first value to the last: rising, falling; empty: none
  std::optional<double> margin;   // so far, in its own unit, may it go against the trend on the way
  std::vector<std::string> zero;  // at these values of the sweep it is exactly 0
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  std::string passage;
  Value spec;
  std::vector<ExperimentRun> runs;
  std::string x_label;                // of the sweep
  std::vector<std::string> x_values;  // empty: there is none
  std::vector<FigureLine> figure;
  std::optional<Nanos> quorum_patience;  // of a matrix
  std::string pending;  // why it cannot be run; empty: it can
};

// In the order of the catalogue. A file that is not as it should be aborts: they are ours.
const std::vector<Experiment>& all_experiments();
const Experiment* find_experiment(std::string_view name);  // nullptr when there is none

// From the text of a file; `name` stands for it in the error.
Result<Experiment> parse_experiment(const std::string& text, const std::string& name);

// One run of an experiment at one value of its sweep.
struct PlannedRun {
  const Experiment* experiment = nullptr;
  const ExperimentRun* run = nullptr;
  std::string x;  // empty: no sweep
  Cell cell;
};
// Errors are those of the specs: programmer's mistakes that tests find.
Result<std::vector<PlannedRun>> plan_experiment(const Experiment& experiment, uint64_t seed,
                                                const std::string& bin_dir);

// Whether it came out as expected; else in which way not, as a sentence.
std::string mismatch_of(const PlannedRun& planned, const CellResult& result);

// The answer to an operation in a word: "ok", "unknown", or of a refusal: "conflict" (another version is
// there), "already exists" (it was to be absent), "not found" (it is absent), "compacted" (of a watch: what
// it asks for is forgotten), else its error class.
std::string answer_word(const Operation& operation);
// How the named steps of the run's script were answered otherwise, as a sentence; empty: they were not.
std::string answers_mismatch(const ExperimentRun& run, const History& history);

// How a line of a figure, over its values of the sweep, is not as claimed, as a sentence; empty: it is.
std::string line_mismatch(const FigureLine& line, const std::vector<std::string>& x,
                          const std::vector<std::optional<double>>& y);

// A number of a figure; nothing where the run has no such count.
std::optional<double> figure_value(const FigureLine& line, const CellResult& result);

}  // namespace assay
