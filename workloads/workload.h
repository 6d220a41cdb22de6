// Workload: what the clients do, and what the outcome is judged by. It knows no target: the two
// meet in the op vocabulary (which f it needs), and Plan compares.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/rng.h"
#include "workloads/gen/generator.h"

namespace assay {

struct WorkloadOptions {
  explicit WorkloadOptions(Rng rng) : rng(rng) {}
  Rng rng;                            // this run's stream for the workload
  std::vector<std::string> nodes;
  int concurrency = 20;               // client workers
  int group_size = 10;                // workers on one key at a time; divides concurrency
  int64_t keys = 0;                   // 0: a new key whenever one is used up
  int64_t ops_per_key_min = 100;      // drawn per key in [min, max]
  int64_t ops_per_key_max = 300;
  int processes_per_key = 20;         // distinct processes; then the key is retired
  Value script;                       // of the workload `script`: its steps
};

// One workload of one run: its generators share what they know (the keys in use), and live as
// long as it. Single-threaded.
class WorkloadRun {
 public:
  virtual ~WorkloadRun() = default;
  // The load without rate and time limit, over clients [0, concurrency): never done by itself
  // unless the workload is finite (script, --keys).
  virtual Gen load() = 0;
  // After the recovery: every worker of one group reads every key still in use, each on its node.
  virtual Gen final_reads() = 0;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;         // one line
  virtual std::vector<Symbol> ops() const = 0;          // each f that it needs
  virtual bool guarded() const { return false; }        // needs guarded writes (expected token)
  virtual std::vector<std::string> checkers() const = 0;
  // Members for the history's header: model, initial, failed_cas, null_read.
  virtual Value header() const = 0;
  virtual Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const = 0;
};

// The workloads, in the order in which they are shown (workloads/registry.cc).
const std::vector<const Workload*>& all_workloads();
const Workload* find_workload(std::string_view name);  // nullptr when there is none

}  // namespace assay
