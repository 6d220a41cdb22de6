// Program: a child process on the driver's side that is spoken to in lines: a client program, a
// command that prints a status.
//
// On the Loop's thread, which must be the process's main thread (agent/child.h). The child leads a
// process group of its own and dies with the driver; destroying a Program kills the group. Whatever
// it writes, it neither blocks the Loop nor makes it grow: a line has at most a megabyte, and what
// comes too fast on standard error waits in its pipe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "targets/loop.h"
#include "targets/node/agent/child.h"

namespace boost::asio {
class io_context;
}

namespace assay::exec {

// Where the standard error of the programs of one node goes: the file grows to a megabyte.
struct Complaints {
  std::string path;  // empty: nowhere
  int64_t bytes_left = 1 << 20;
};

struct ProgramSpec {
  agent::ChildSpec child;  // its descriptors are set by start()
  std::shared_ptr<Complaints> complaints;
};

class Program {
 public:
  // Called on the Loop; either may destroy the Program.
  struct Events {
    std::function<void(std::string_view line)> on_line;  // of its standard output
    // Its output has ended: "exited with 3: <its last line on standard error>". Once; then nothing
    // more comes.
    std::function<void(const std::string& how, const agent::ExitStatus* exit)> on_end;
  };

  // An error where it could not be executed.
  static Result<std::unique_ptr<Program>> start(boost::asio::io_context& io, Loop& loop,
                                                ProgramSpec spec, Events events);
  ~Program();

  // To its standard input; dropped where it has ended.
  void write(std::string_view bytes);
  void end_input();
  int pid() const;

 private:
  struct State;
  explicit Program(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

inline constexpr size_t kLineMax = 1 << 20;

}  // namespace assay::exec
