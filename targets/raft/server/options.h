// What assay-raft is told on its command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "targets/raft/core/types.h"
#include "targets/raft/replica/replica.h"

namespace assay::raft {

struct Endpoint {
  std::string address;  // numeric
  int port = 0;

  std::string to_string() const;
};

struct MemberAddress {
  NodeId id;  // its place, from 1, when the members are sorted by name
  std::string name;
  Endpoint peer;
};

struct ServerOptions {
  std::string name;
  std::string data;  // folder
  Endpoint client;
  Endpoint peer;
  std::vector<MemberAddress> cluster;  // sorted by name; this node is one of them
  int heartbeat_ms = 50;
  int election_ms_min = 300;
  int election_ms_max = 600;
  uint64_t seed = 0;  // of the election time-outs; 0: drawn at the start
  size_t segment_bytes = 16 << 20;
  uint64_t snapshot_entries = 10'000;
  uint64_t snapshot_keep = 5'000;
  size_t pending_requests_max = 10'000;
  int watch_progress_ms = 500;
  Canary canary;
  int64_t clock_offset_ms = 0;  // of this node's wall clock, for tokens that are times

  NodeId id() const;
  // The same for all nodes that were given the same names.
  uint64_t cluster_id() const;
};

struct HelpWanted {
  std::string text;  // what --help or --version prints
};
struct BadOption {
  std::string message;  // one line
};
// The arguments without the program's name. They are "--name value" or "--name=value".
std::variant<ServerOptions, HelpWanted, BadOption> parse_options(
    const std::vector<std::string>& arguments);

}  // namespace assay::raft
