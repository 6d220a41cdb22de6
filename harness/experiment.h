// Experiments: the catalogue of what INV-008 (consensus) and INV-009 (versioned truth) argue, each as
// runs whose verdicts are expected: the naive design is convicted, its twin on the bundled store,
// with the same spec and seed, is not. Files: harness/experiments/*.json, which the program carries.
//
// {"name", "title", "source": "INV-008", "passage": "…", "spec": {members of a spec.json},
//  "runs": [{"name", "with": {members over the spec}, "expect": word, "any", or "sound" (whatever but invalid),
//            "clauses": {"V4": "invalid", "H1": "valid"}, "note"}],
//  "sweep": {"label", "values": [text …]}    every run once per value, "$x" in it replaced
//  "figure": {"y": [{"label", "checker", "count", "per", "times"}], "trend": "rising|falling"}
//  "pending": "why it cannot be run yet"}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cells.h"

namespace assay {

struct ExperimentRun {
  std::string name;
  Value with;
  std::string expect = "valid";
  std::vector<std::pair<std::string, std::string>> clauses;  // clause -> valid, invalid, blocked
};

struct FigureLine {
  std::string label;
  std::string checker;  // whose count it is; "stats" …
  std::string count;
  std::string per;        // a count of the same checker; empty: the number itself
  int64_t times = 1;      // of the quotient
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
  std::string trend;    // of the figure's first line: rising, falling; empty: none is claimed
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

// A number of a figure; nothing where the run has no such count.
std::optional<double> figure_value(const FigureLine& line, const CellResult& result);

}  // namespace assay
