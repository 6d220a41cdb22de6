// What a report says about where and with what a run was made.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "harness/plan.h"
#include "results/run_info.h"
#include "results/store.h"

namespace assay {

RunInfo describe(const Plan& plan, const RunFolder& folder, const std::string& command_line,
                 std::time_t now);

// spec.json of a run folder: the spec as used, and the member "run".
Value spec_file(const RunInfo& info);

// "sha256:…" of a file's content.
Result<std::string> hash_file(const std::string& path);
std::string hash_text(std::string_view text);

// "name, Linux 6.1, 2 cores".
std::string describe_host();

// The folder that holds this program: where assay-agent and assay-raft are looked for.
std::string own_folder();

}  // namespace assay
