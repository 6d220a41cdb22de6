// The server: a replica on a real disk, a real network and a real clock, and the HTTP front for its
// clients.
#pragma once

#include <string>

#include "targets/raft/server/options.h"

namespace assay::raft {

// How the process ends; --help tells.
enum class ServerExit {
  kSignal = 0,
  kCannotStart = 1,
  kBadArguments = 2,
  kBadLog = 3,
  kDiskFailed = 4,  // by _exit, at once
};

// Serves until SIGTERM or SIGINT; logs what goes wrong. Once per process.
ServerExit run_server(const ServerOptions& options);

}  // namespace assay::raft
