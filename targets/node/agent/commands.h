// Commands: programs that run to their end and whose output is the answer. Several at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "targets/node/agent/child.h"
#include "targets/node/agent/poll_loop.h"

namespace assay::agent {

struct CommandResult {
  ExitStatus exit;
  bool timed_out = false;  // killed at its deadline
  std::string out, err;
  bool out_cut = false, err_cut = false;  // there was more than the limit
};

struct CommandLimits {
  Nanos deadline = seconds(60);
  size_t out_bytes = 0, err_bytes = 0;
};

class Commands {
 public:
  explicit Commands(PollLoop& loop) : loop_(loop) {}

  // An error where the program cannot be started; else `done` once, when it has ended.
  Result<void> run(ChildSpec spec, const CommandLimits& limits,
                   std::function<void(CommandResult)> done);

  // Called when a child has ended but its number still belongs to it: kills the rest of a
  // command's process group, so that nothing keeps its output open.
  void ending(pid_t pid);
  void reaped(pid_t pid, const ExitStatus& exit);

  void kill_all();

 private:
  struct Running {
    int out = -1, err = -1;
    CommandLimits limits;
    CommandResult result;
    std::function<void(CommandResult)> done;
  };

  void read_some(int& fd, std::string& text, size_t limit, bool& cut);

  PollLoop& loop_;
  std::map<pid_t, std::shared_ptr<Running>> running_;
};

}  // namespace assay::agent
