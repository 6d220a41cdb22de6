// Daemons: the servers of this node, each a process group in a session of its own, and the process
// faults on them. A fault is answered when it was seen to work, not when it was sent.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "targets/node/agent/child.h"
#include "targets/node/agent/poll_loop.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/responder.h"

namespace assay::agent {

class Daemons {
 public:
  struct Options {
    std::string run, node;      // the mark of all processes
    bool skip_signals = false;  // self-test: faults send nothing
    std::function<void(nlohmann::json)> emit;
    std::function<void()> before_exit_event;  // log lines come before the exit that they explain
    std::function<void(const std::string& name, pid_t pid)> started = [](const auto&, pid_t) {};
  };
  Daemons(PollLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

  void start(const std::string& name, const ChildSpec& spec, const std::string& log_path,
             Responder responder);
  void kill(const std::string& name, Responder responder);
  void stop(const std::string& name, Nanos grace, Responder responder);
  void pause(const std::string& name, Responder responder);
  void resume(const std::string& name, Responder responder);
  nlohmann::json observe() const;

  // For faults of a node. All processes of a daemon, descendants in sessions of their own included.
  std::vector<pid_t> tree(const std::string& name) const;
  // Its end will be what we asked for. Its leader's pid; 0: it does not run.
  pid_t expect_end(const std::string& name);
  pid_t leader(const std::string& name) const;  // 0: it does not run

  void reaped(pid_t pid, const ExitStatus& exit);  // called for every child of the agent

  // SIGCONT to every group that was paused.
  void wake_all();
  // SIGKILL to every group that is left, whatever the self-test switches say; how many there were.
  int kill_all();

 private:
  struct Daemon {
    std::string name;
    pid_t group = 0;
    bool leader_runs = false;
    bool group_gone = true;  // never signalled again: the number may belong to others by now
    bool asked = false;      // to end, by us
    ExitStatus exit;
    bool paused = false;
    int pauses = 0;                   // so far: tells the watch of one pause from that of the next
    std::vector<ThreadState> frozen;  // as verified when the pause began
    std::string broken;               // why the pause did not hold
  };
  using DaemonPtr = std::shared_ptr<Daemon>;

  DaemonPtr find(const std::string& name) const;
  void send(const Daemon& daemon, int signal) const;
  bool gone(Daemon& daemon) const;
  void launch(const std::string& name, const ChildSpec& spec, const std::string& log_path,
              const Responder& responder);
  void end_with_kill(const DaemonPtr& daemon, bool was_running, bool forced, const Responder& r);
  void watch_pause(const DaemonPtr& daemon, int pause);
  void check_pause(Daemon& daemon) const;

  PollLoop& loop_;
  Options options_;
  std::map<std::string, DaemonPtr> daemons_;
};

// {"code":3} or {"signal":9}.
nlohmann::json to_json(const ExitStatus& exit);

}  // namespace assay::agent
