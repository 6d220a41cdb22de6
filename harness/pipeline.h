// The whole way of one run: plan -> run -> check -> render. harness/pipeline.cc tells it on one
// screen.
#pragma once

#include <string>

#include "harness/console.h"
#include "harness/exit_code.h"
#include "harness/plan.h"

namespace assay {

// Leaves a run folder behind, whatever happens: the history before it is checked, the verdict
// before it is rendered. Enters the private network where the plan says so: call it before any
// thread is started.
ExitCode run_pipeline(Plan& plan, const std::string& command_line, Console& console);

}  // namespace assay
