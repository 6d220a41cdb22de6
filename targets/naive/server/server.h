// The server of a naive store: a design on a real disk, a real network and real clocks, and the
// HTTP front for its clients.
#pragma once

#include "targets/naive/server/options.h"
#include "targets/raft/server/server.h"

namespace assay::naive {

// Serves until SIGTERM or SIGINT; logs what goes wrong. Once per process.
raft::ServerExit run_server(const ServerOptions& options);

}  // namespace assay::naive
