// The hosts of a run: where each node is, and the way to it. From a file (--hosts): JSON,
//   {"format":"assay-hosts","version":1,
//    "defaults":{"user":"root","key":"id_ed25519","known_hosts":"known_hosts","sudo":false},
//    "hosts":[{"name":"n1","address":"10.0.0.1"},
//             {"ssh":"db2"},
//             {"address":"10.0.0.3","via":["kubectl","exec","-i","db-3","--"]}]}
// A host may say all that "defaults" may, and more: below. Relative paths are relative to the file.
// {"ssh":ALIAS}, or just "ALIAS", is a host of the user's OpenSSH configuration (~/.ssh/config, or
// the file that "ssh_config" names): HostName, Port, User, IdentityFile, UserKnownHostsFile.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"

namespace assay {

struct Host {
  std::string name;     // "n1" where none is given, in the file's order
  std::string address;  // numeric: where its servers are reached by clients and by each other
  // The way in: SSH …
  std::string ssh_address;  // numeric; that of the servers where none is given
  int port = 22;
  std::string user;               // the driver's own where none is given
  std::vector<std::string> keys;  // private key files, ed25519 or ecdsa; then the agent's keys
  std::string known_hosts;        // ~/.ssh/known_hosts where none is given
  // … or a command that runs another one there, with its standard streams: not empty, it is used.
  std::vector<std::string> via;
  bool sudo = false;                       // the agent is run by `sudo -n`
  std::map<std::string, std::string> env;  // for the agent and the servers there
  std::string cache;  // the folder on the host that holds all of ours; ~/.cache/assay by default
};

// Errors are the user's input: file:line:column, what was expected, what was found. A name that
// resolves to no address is an error of the environment. May ask `ssh -G` and the resolver: blocks.
Result<std::vector<Host>> read_hosts(const std::string& path);
std::string_view hosts_schema();

}  // namespace assay
