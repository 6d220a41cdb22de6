// Plan: a spec with everything looked up and decided, before any process is started: what is
// missing is said here. Running a plan needs no further choice but the draws of its seed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/spec.h"
#include "nemesis/nemesis.h"
#include "targets/node/hosts.h"
#include "targets/target.h"
#include "workloads/workload.h"

namespace assay {

struct PlannedFault {
  const Nemesis* nemesis = nullptr;
  std::vector<std::string> shapes;
  std::map<std::string, std::string> settings;
};

struct Plan {
  TestSpec spec;  // as used: what was left open is filled in
  uint64_t seed = 0;
  const Workload* workload = nullptr;
  std::unique_ptr<WorkloadRun> load;  // of this run
  TargetInfo::Settings settings;      // every option of the target
  std::vector<std::string> canaries;  // switches in `settings` that make the target wrong
  std::unique_ptr<Target> target;
  std::vector<std::unique_ptr<Nemesis>> own_faults;  // of the target, in use or not
  std::vector<PlannedFault> faults;
  bool starts_nodes = true;  // else there are no agents, and no network of ours
  bool in_process = false;   // nor nodes anywhere
  std::vector<Host> hosts;   // where the nodes are; empty: on this machine
  Layout layout;             // addresses and ports are those of the chosen network
  int concurrency = 20;
  int group_size = 10;
  bool contends = true;  // two writers meet on a key
  Nanos lead_in;
  Nanos interval;
  Nanos duration;
  std::vector<std::string> not_claimed;  // sentences: what is not asked of the target
  std::vector<std::string> not_tested;   // sentences: powers that are absent, …

  bool in_private_net() const { return hosts.empty() && spec.net == NetMode::kPrivate; }
  // There are links between its nodes that can be cut.
  bool has_links() const { return !hosts.empty() || spec.net == NetMode::kPrivate; }
  // Those of the workload, as far as the contract asks for them.
  std::vector<std::string> checkers() const;
  // The history's header: what the checkers must know.
  Value header() const;
  // "partition+pause+kill", "none": for names of folders and for people.
  std::string faults_name() const;
};

// Decides. Errors are the user's input (254): unknown names, an option that the target lacks, a
// workload that needs what the target does not serve, faults that it has no power for here.
Result<Plan> make_plan(const TestSpec& spec);
// The same without load and faults, for the target's clients alone (harness/trial).
Result<Plan> make_trial_plan(const TestSpec& spec);

// Whether the weak contract asks for what that checker judges: what is accepted is not lost and not
// invented, everybody comes to see it, and nobody sees it go back.
bool of_weak_contract(std::string_view checker);

}  // namespace assay
