// Workload: what the clients do, and what the outcome is judged by. It knows no target: the two
// meet in the op vocabulary (which f it needs), and Plan compares.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/rng.h"
#include "workloads/gen/generator.h"

namespace assay {

// An option, set by `--set workload.name=value`.
struct WorkloadOption {
  std::string name;
  std::string fallback;  // its default
  std::string summary;
};

struct WorkloadOptions {
  explicit WorkloadOptions(Rng rng) : rng(rng) {}
  Rng rng;  // this run's stream for the workload
  std::vector<std::string> nodes;
  int concurrency = 20;           // client workers
  int group_size = 10;            // workers on one key at a time; divides concurrency
  int64_t keys = 0;               // 0: a new key whenever one is used up
  int64_t ops_per_key_min = 100;  // drawn per key in [min, max]
  int64_t ops_per_key_max = 300;
  int processes_per_key = 20;  // distinct processes, at least group_size; then the key is
                               // retired
  Value script;                // of the workload `script`: its steps
  std::map<std::string, std::string> settings;  // options of the workload; absent: the default
};

// The node that a client worker is pinned to, as an index from 0: round-robin within each group of
// workers, so that every group is on every node; over all workers where groups are smaller than
// that. The runner connects by it, and `script` finds the worker of a node by it.
int node_of_worker(Worker worker, int group_size, int nodes);

// One workload of one run: its generators share what they know (the keys in use), and must not
// outlive it. Single-threaded.
class WorkloadRun {
 public:
  virtual ~WorkloadRun() = default;
  // The load without rate and time limit, over clients [0, concurrency) and the lanes below: never
  // done by itself unless the workload is finite (script, --keys). Called again (load during the
  // recovery), it goes on where the one before was left.
  virtual Gen load() = 0;
  // Nemesis lanes, from worker `concurrency` on, that load() uses itself.
  virtual int lanes() const { return 0; }
  // After the recovery: the workers of one group (all nodes are covered) read the keys still in
  // use, at most the kFinalKeysMax most recent ones. A read that was not answered ok is tried
  // again, for kFinalReadsSpan in all, or until its node has said ten times that another one leads
  // while some node does answer; then it is done. These reads come on top of the bounds per key.
  // Which keys it is about is asked when the first read is due, so it may be put behind load() in
  // one generator.
  virtual Gen final_reads() = 0;

  // Each f that this run needs, and whether it needs guarded writes.
  virtual std::vector<Symbol> ops() const = 0;
  virtual bool guarded() const = 0;
  // Sentences about what was asked and could not be done; they come while load() runs.
  virtual std::vector<std::string> remarks() const { return {}; }
};

inline constexpr size_t kFinalKeysMax = 16;
inline constexpr Nanos kFinalReadsSpan = seconds(5);

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // one line
  // What every run of it needs; WorkloadRun says what one run needs.
  virtual std::vector<Symbol> ops() const = 0;
  virtual bool guarded() const { return false; }  // guarded writes (expected token)
  virtual std::vector<std::string> checkers() const = 0;
  // Members for the history's header: model, initial, failed_cas, null_read; thresholds where it
  // sets its own.
  virtual Value header() const = 0;
  virtual std::vector<WorkloadOption> options() const { return {}; }
  // So many workers must be on one key for these settings to mean what they say.
  virtual int group_min(const std::map<std::string, std::string>& settings) const {
    (void)settings;
    return 1;
  }
  // Whether two writers meet on a key under these settings: else no conflict can be asked for.
  virtual bool contends(const std::map<std::string, std::string>& settings) const {
    (void)settings;
    return true;
  }
  // Errors are the user's input: options that do not fit together, a script that is not one.
  virtual Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const = 0;
};

// The workloads, in the order in which they are shown (workloads/registry.cc).
const std::vector<const Workload*>& all_workloads();
const Workload* find_workload(std::string_view name);  // nullptr when there is none

}  // namespace assay
