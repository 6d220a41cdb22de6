// Description: the file that makes a store a target (`--target ./mystore.json`): how its daemon is
// started on a node, which program speaks for its clients (protocol.h), and what it claims.
// `assay schema target` prints its form; texts in commands and paths hold placeholders
// (placeholders.h). Paths without {bin} or {folder} are relative to the node's folder, and a
// program without a slash is looked for in PATH.
//
//   {"format": "assay-target", "version": 1,
//    "name": "mystore",
//    "start": ["{bin}/mystored", "--listen", "{address}:{client_port}",
//              "--cluster", "{peers:{node}={address}:{peer_port}}", "--data", "{folder}/data"],
//    "client": ["{bin}/client.py"],
//    "claims": {"read": "linearizable", "durable": "sync"},
//    "errors": {"no-leader": {"definite": true, "class": "unavailable"}}}
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "targets/exec/protocol.h"
#include "targets/target.h"

namespace assay::exec {

using Command = std::vector<std::string>;  // a program and its arguments; empty: there is none

// A fault of the store's own (FaultCommands), each command in the node's folder.
struct DescribedFault {
  std::string kind;
  std::string summary;
  Command begin, end, verify;  // end is empty where the fault does not last
  Nanos within = seconds(10);  // that each of them may take
};

struct Description {
  std::string name;
  std::string summary;
  std::string file;    // as it was named
  std::string folder;  // of it, absolute: {bin}

  Command start;  // stays in the foreground; in the node's folder
  std::map<std::string, std::string> env;
  Command install, wipe;  // before the first start: wipe, then install
  Command stop;           // at the end of the run; SIGTERM follows
  struct Ready {
    bool tcp = true;  // the client port accepts
    Command command;  // and this exits 0
    Nanos within = seconds(10);
  } ready;
  std::vector<std::string> logs;      // files besides what the daemon prints
  std::vector<std::string> binaries;  // files whose hashes name the version
  std::vector<std::pair<std::string, std::string>> findings;  // a log line's text, and its meaning

  Command client;
  // Where its status comes from: a command that prints it, or the client program's operation
  // "status"; neither: only whether it answers is known, and no leader.
  Command status;
  bool client_status = false;
  Command diagnose;  // at the end of the run; what it prints goes to diagnose.log of the node
  std::vector<Symbol> ops{f::read, f::write, f::cas};
  ErrorTable errors;
  Claims claims;

  std::vector<TargetOption> options;
  std::vector<DescribedFault> faults;
};

// Input errors name the place: "mystore.json:3:14: claims.read: expected …, found …".
Result<Description> parse_description(std::string_view text, const std::string& file);
Result<Description> read_description(const std::string& file);

// The JSON Schema by which a description is judged.
std::string_view description_schema();

}  // namespace assay::exec
