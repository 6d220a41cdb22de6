// What assay-naive is told on its command line: a design, and the rest as assay-raft is told it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "targets/naive/design.h"
#include "targets/raft/server/options.h"

namespace assay::naive {

struct ServerOptions {
  DesignName design{};
  bool guards = true;
  int64_t failover_ms = 500;
  Merge merge = Merge::kLongest;
  raft::ServerOptions common;  // name, data, client, peer, cluster; the rest plays no part
};

using Parsed = std::variant<ServerOptions, raft::HelpWanted, raft::BadOption>;
// The arguments without the program's name, as "--name=value".
Parsed parse_options(const std::vector<std::string>& arguments);

}  // namespace assay::naive
