// A node on this machine: an assay-agent as a child process, spoken to through two pipes.
//
// On the Loop's thread, which must be the program's main thread or live as long: the agent is
// forked from it (child_carrier.h).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "targets/loop.h"
#include "targets/node/node.h"

namespace boost::asio {
class io_context;
}

namespace assay {

struct LocalNodeOptions {
  int index = 0;                // from 0; decides the address in the private network
  std::string name;             // "n1"
  std::string run_id;           // marks every process: ASSAY_RUN
  std::string agent_path;       // of the program assay-agent
  std::string data_folder;      // where make_folder and remove_folder work; need not exist yet
  std::string agent_log;        // what the agent says about itself; empty: nowhere
  bool private_network = true;  // false: --net host, 127.0.0.1, no cuts
  bool beat = true;             // false: the agent waits for ever (debuggers)
  std::map<std::string, std::string> env;  // for the agent and its daemons
};

// `io` is what runs the loop. Done when the agent has greeted and its network is up. Private nodes
// are for after enter_private_world.
void start_local_node(boost::asio::io_context& io, Loop& loop, const LocalNodeOptions& options,
                      Node::Done<std::unique_ptr<Node>> done);

}  // namespace assay
