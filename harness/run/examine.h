// Asks machines what they can do (harness/doctor.h), through agents as a run would have them.
// Blocking, on a loop of their own; on the program's main thread.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor.h"
#include "targets/node/hosts.h"

namespace assay {

struct ExamineOptions {
  std::string bin_dir;  // where assay-agent and assay-raft are
  std::string run_id;
};

// This machine: in the private world of a run, or in the host's network, where nothing is said
// about links.
Diagnosis examine_here(const ExamineOptions& options, bool in_private_world);

// All at once; one that cannot be reached has that as its last found. Of what is left on a host,
// the cache folder with the programs is all.
std::vector<Diagnosis> examine_hosts(const ExamineOptions& options, const std::vector<Host>& hosts);

}  // namespace assay
