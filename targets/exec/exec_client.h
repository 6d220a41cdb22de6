// ExecClient: a Client whose operations are answered by a client program (protocol.h), one process
// per client. A program that hangs is its operation's time-out; one that dies, or writes what
// answers nothing, is killed with its group, and its operation is unknown: class "client-ended" or
// "client-lied", with a text that says what it did. Afterwards the client is not usable.
#pragma once

#include <memory>

#include "targets/exec/program.h"
#include "targets/exec/protocol.h"
#include "targets/target.h"

namespace assay::exec {

struct ExecClientOptions {
  ProgramSpec program;
  RequestTo to;
  std::shared_ptr<const ErrorTable> errors;  // set
};

// An error where the program cannot be executed. The loop must have sockets (asio_loop.h).
Result<std::unique_ptr<Client>> start_exec_client(Loop& loop, ExecClientOptions options);

}  // namespace assay::exec
