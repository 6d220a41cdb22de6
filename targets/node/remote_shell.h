// RemoteShell: the way into a host: it runs commands there, one after the other, and in the end
// carries the agent. Over SSH (libssh2, one session) or over a command that runs another one ("via").
//
// On the Loop's thread. Scripts are for a POSIX shell. Errors are one line that says what to do.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "targets/loop.h"
#include "targets/node/agent_node.h"
#include "targets/node/hosts.h"

namespace boost::asio {
class io_context;
}

namespace assay {

class RemoteShell {
 public:
  struct Output {
    ProcessEnd end;
    std::string text;  // what it wrote, errors among it
  };
  virtual ~RemoteShell() = default;
  // With `input` on its standard input. An error where nothing moves for `patience`.
  virtual void run(const std::string& script, std::shared_ptr<const std::string> input,
                   Nanos patience, Node::Done<Output> done) = 0;
  // The last thing that is asked of it: the carrier owns what is needed. What the script says on its
  // standard error is appended to the file `log`.
  virtual Result<std::unique_ptr<AgentCarrier>> carry(const std::string& script,
                                                      const std::string& log) = 0;
};

// Logged in; both within about ten seconds.
void open_ssh_shell(boost::asio::io_context& io, Loop& loop, const Host& host,
                    Node::Done<std::shared_ptr<RemoteShell>> done);
void open_via_shell(boost::asio::io_context& io, Loop& loop, const Host& host,
                    Node::Done<std::shared_ptr<RemoteShell>> done);

}  // namespace assay
