// IntentWorkload: a workload whose writers are intents (intents.h) on many keys, each worked on by one
// group of workers of which the others only look.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/intents.h"
#include "workloads/keyed_run.h"

namespace assay {

class IntentWorkload : public Workload {
 public:
  bool guarded() const override { return true; }
  std::vector<WorkloadOption> options() const override;
  int group_min(const std::map<std::string, std::string>& settings) const override;
  bool contends(const std::map<std::string, std::string>& settings) const override {
    return group_min(settings) != 1;
  }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override;

 protected:
  // What the writers of one run are about; called once per run, so that they can share what it holds.
  // A writer is a place from 0 among those of its key.
  using MakeChange = std::function<std::unique_ptr<Change>(Symbol key, int writer, Rng rng)>;
  virtual MakeChange changes() const = 0;
  virtual int writers_max() const { return 64; }
  // How those look that only look, and everybody in the end.
  virtual Op look(Symbol key) const;
};

// The guard of one of several keys of a list, and what it holds: 0 and null where it is not there.
struct Listed {
  Value value;
  Token token{int64_t{0}};
};
Listed listed_at(const Op& list, Symbol key);
// All of them, with their keys.
std::vector<std::pair<Symbol, Listed>> listed_all(const Op& list);

Op list_of_prefix(const std::string& prefix);

}  // namespace assay
