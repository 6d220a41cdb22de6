// TestSpec: what the user asks for, before anything is looked up or decided. Plain data; its file
// form is spec.json (keys are the long option names with `_`).
//
// A flag overrides the spec file, the spec file overrides the default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/time.h"
#include "checkers/history/value.h"

namespace assay {

struct FaultSpec {
  std::string kind;                 // "kill"
  std::vector<std::string> shapes;  // "leader"; empty: all of the kind
};

enum class NetMode { kPrivate, kHost };

struct TestSpec {
  std::string target = "raft";
  std::string workload;  // empty: the only one of the target, or register
  // Unset: partition, pause and kill, of these what the target's powers allow.
  std::optional<std::vector<FaultSpec>> nemesis;
  std::optional<int> nodes;  // unset: as many as the target runs on already, else 5
  Nanos time_limit = seconds(30);
  int64_t rate = 1000;                 // operations/s over all workers; 0: as fast as answers come
  std::optional<int> concurrency;      // workers
  int concurrency_per_node = 0;        // of "--concurrency 4n"
  int64_t keys = 0;                    // 0: unlimited
  std::optional<int64_t> ops_per_key;  // exactly; unset: drawn
  std::optional<Nanos> nemesis_interval;
  std::optional<Nanos> fault_duration;
  Nanos op_timeout = seconds(1);
  std::optional<uint64_t> seed;  // unset: drawn, and printed first
  std::string out = "results/runs";
  Nanos deadline = seconds(600);
  std::map<std::string, std::string> set;     // "target.option" -> value
  std::map<std::string, std::string> expect;  // verdict path ("" the run) -> word
  std::map<std::string, int64_t> thresholds;  // K17's counters
  NetMode net = NetMode::kPrivate;
  std::string hosts;  // the file of the machines to run on; empty: this one
  std::optional<int> base_port;  // the first port: two per node with --net host, two with --hosts
  bool leave_running = false;
  bool keep_data = false;
  bool weak_contract = false;  // asked for: convergence, and reads that never go back
  bool swarm = false;      // the seed draws the faults and the store's settings (swarm.h)
  bool fail_fast = false;  // the load ends at the first anomaly that is proven
  std::string bin_dir;  // empty: beside the binary
  Value script;         // steps of the workload `script`
};

// One option's value in its spelling on the command line, put into the spec: the only parser of
// option values, shared by flags and spec files. The name is the long one, without dashes.
Result<void> set_option(TestSpec& spec, const std::string& name, const std::string& value);
bool is_option(const std::string& name);
std::vector<std::string> option_names();

// Reads a spec file over what is in `spec`. Errors carry file:line:column.
Result<void> read_spec(const std::string& path, TestSpec& spec);
Result<void> parse_spec(const std::string& text, const std::string& name, TestSpec& spec);

// The file form, but for format and version; read_spec of it gives the same spec. Without
// leave_running: that was a wish for one session.
Value spec_to_value(const TestSpec& spec);

}  // namespace assay
