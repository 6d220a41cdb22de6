// A carrier over a child process of the driver: an agent on this machine, or a command that leads to
// one somewhere else.
//
// On the Loop's thread, which must be the program's main thread or live as long: children are forked
// from it. SIGPIPE is ignored from the first start on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "targets/node/agent_node.h"

namespace boost::asio {
class io_context;
}

namespace assay {

struct ChildOptions {
  std::string program;  // a path, or looked up in PATH
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // over the driver's own
  std::string log;                         // its standard error is appended; empty: nowhere
  // Before the sink hears of its end.
  std::function<void(ProcessEnd)> exited = [](ProcessEnd) {};
};

// It is not killed when the carrier lets go of it: its input ends.
Result<std::unique_ptr<AgentCarrier>> start_child(boost::asio::io_context& io,
                                                  ChildOptions options);

}  // namespace assay
