// RunInfo: what a report says about a run beside its history and its verdict: where it ran, by
// which command, how to run it again, how long things took. Plain data, filled by the pipeline;
// most of it is kept in spec.json, member "run", and so comes back when a report is made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/history/time.h"
#include "checkers/history/value.h"
#include "results/node_log.h"

namespace assay {

struct Binary {
  std::string name;  // "assay-raft"
  std::string hash;  // "sha256:…"; shown shortened
};

struct RunInfo {
  Value spec;           // the spec as used, without "run"; null for a foreign history
  std::string command;  // as typed
  std::string assay_version;
  std::string started;                   // "2026-01-02T15:04:05Z"; empty: not known
  std::vector<Binary> binaries;          // under test
  std::string faults;                    // "partition+pause+kill"; "none"
  std::string environment;               // "private network, Linux 6.1, 2 cores"
  Value host;                            // name, kernel, cores, …: an object or null
  std::vector<std::string> not_claimed;  // by the target; sentences, from the plan
  std::vector<std::string> not_tested;   // the same
  std::optional<uint64_t> seed;
  std::string folder;  // of the run; empty: a history without one
  std::string rerun;   // "assay rerun results/runs/…": printed as it is

  std::optional<Nanos> read_time;  // of the history
  std::optional<Nanos> check_time;
  std::vector<std::pair<std::string, Nanos>> timings;  // further steps, in order: "start", "load"

  std::vector<NodeLog> logs;  // around the witness (node_log.h: logs_around)

  std::string expected;  // of --expect: "invalid"; empty: none was given
  bool as_expected = true;
  std::string failure;       // why the harness gave up (255); empty: it did not
  bool interrupted = false;  // by a signal (130)
};

// The member "run" of spec.json (schema "spec").
Value run_member(const RunInfo& info);
// Takes spec.json as read from a run folder into what it says: spec, the run member, seed.
void take_spec(const Value& spec_json, RunInfo& info);

}  // namespace assay
