#include "results/report/report.h"

namespace assay {
namespace {

std::vector<Operation> operations_of(const History& history, const report::Found& witness) {
  std::vector<Operation> operations;
  if (witness.verdict == nullptr) return operations;
  for (size_t id : witness.verdict->witness->operations) {
    if (id < history.size()) operations.push_back(history[id]);
  }
  return operations;
}

}  // namespace

Report::Report(const History& history, const Verdict& verdict, const RunInfo& info)
    : history(history),
      verdict(verdict),
      info(info),
      digest(report::digest_of(history)),
      headline(report::headline_of(verdict, info)),
      evidence(report::evidence_of(verdict, digest, info)),
      scope(report::scope_of(history, digest, info)),
      witness(report::find_witness(verdict)),
      witness_operations(operations_of(history, witness)) {}

}  // namespace assay
