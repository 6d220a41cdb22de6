// A node on another machine: an assay-agent that is uploaded once and spoken to over SSH, or over
// the standard streams of a command ("via").
//
// On the Loop's thread. When the driver dies or the connection breaks, the agent heals and stops
// everything by itself: at once at the end of its input, else after five seconds without a beat.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "targets/loop.h"
#include "targets/node/hosts.h"
#include "targets/node/node.h"

namespace boost::asio {
class io_context;
}

namespace assay {

struct RemoteNodeOptions {
  Host host;
  std::string run_id;                 // marks every process: ASSAY_RUN
  std::vector<std::string> programs;  // files here that are to be there; assay-agent is one of them
  std::string agent_log;              // what the agent says on standard error; a file here
  bool beat = true;                   // false: the agent waits for ever (debuggers)
};

// A node, and where on its machine things are.
struct RemoteNode {
  std::unique_ptr<Node> node;
  std::string bin_dir;  // the programs, under their names
  std::string folder;   // of this run and node; data and logs go below it
};

// Done when the agent has greeted. An error is one line that says what to do about it, within 15
// seconds, whatever the host does.
void start_remote_node(boost::asio::io_context& io, Loop& loop, const RemoteNodeOptions& options,
                       Node::Done<RemoteNode> done);

// Removes the cache folder of a host: all that Assay ever left there.
void clean_host(boost::asio::io_context& io, Loop& loop, const Host& host,
                Node::Done<std::string> done);  // what was removed, in words

}  // namespace assay
