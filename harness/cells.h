// Cells: the runs of a suite (of experiments, of a certificate), each a spec file of its own, played
// by `assay run` in a process of its own with its own run folder and its own network.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkers/clauses.h"
#include "harness/console.h"
#include "harness/exit_code.h"
#include "harness/spec.h"

namespace assay {

struct Cell {
  std::string id;  // unique in its suite, and fit for a file's name
  TestSpec spec;   // its `out` is the suite's
};

// What became of a cell.
struct CellResult {
  size_t cell = 0;  // its place in the suite
  ExitCode code = kExitHarness;
  std::string reason;      // of the verdict, or why there is none
  std::string run_folder;  // absolute; empty where it made none
  Value printed;           // what `assay run --json` says
  std::optional<Verdict> verdict;
  Nanos took;

  std::string word() const;  // "valid", …, "failed", "interrupted"
  // The first line of its witness, else its reason.
  std::string witness() const;
};

// Plays the cells, at most `jobs` at a time, their spec files and run folders below `folder`;
// on_done is told of each as it ends, on this thread. 0: all were played, whatever came out; 130:
// interrupted; 255: they could not be played, and the console was told why.
ExitCode play_cells(const std::vector<Cell>& cells, const std::string& folder, int jobs,
                const std::function<void(const CellResult&)>& on_done, Console& console);

}  // namespace assay
