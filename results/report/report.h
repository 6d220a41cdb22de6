// Report: what every form of a report is made from: (History, Verdict, RunInfo) and what is counted
// and found in them once. The forms are html.h, text.h, json.h, junit.h and markdown.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "checkers/checker.h"
#include "results/report/digest.h"
#include "results/report/headline.h"
#include "results/run_info.h"

namespace assay {

// Refers to what it was made of, which must outlive it. Immutable: any number of threads may
// render.
struct Report {
  Report(const History& history, const Verdict& verdict, const RunInfo& info);
  Report(History&&, const Verdict&, const RunInfo&) = delete;

  const History& history;
  const Verdict& verdict;
  const RunInfo& info;
  const report::Digest digest;
  const report::Headline headline;
  const report::Evidence evidence;
  const std::vector<std::pair<std::string, std::string>> scope;
  const report::Found witness;
  const std::vector<Operation> witness_operations;  // those of the witness that are there
};

}  // namespace assay
