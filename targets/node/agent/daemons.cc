#include "targets/node/agent/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

using nlohmann::json;

constexpr Nanos kPatience = seconds(4);          // for an exit after SIGKILL
constexpr Nanos kPausePatience = seconds(2);     // for all threads to stop, or to go on
constexpr Nanos kPauseLook = milliseconds(100);  // between looks at a paused daemon

bool all_stopped(const std::vector<ThreadState>& threads) {
  return std::all_of(threads.begin(), threads.end(), is_stopped);
}

std::vector<pid_t> processes_in(const std::vector<ThreadState>& threads) {
  std::vector<pid_t> processes;
  for (const ThreadState& thread : threads) {
    if (processes.empty() || processes.back() != thread.pid) processes.push_back(thread.pid);
  }
  return processes;
}

// Stops a group, as a condition to be asked again and again: holds once two looks in a row saw
// every thread stopped, and none of them had left a processor in between, so that it neither runs
// nor has run. A signal may hit a process between vfork and exec: its parent then sleeps in the
// kernel (D) and never shows T, so what does not stop within some looks goes on for a moment.
class Stopping {
 public:
  Stopping(pid_t group, std::function<void(int)> send) : group_(group), send_(std::move(send)) {
    send_(SIGSTOP);
  }
  bool operator()() {
    if (std::exchange(goes_on_, false)) send_(SIGSTOP);
    auto now = threads_of(members_of_group(group_));
    const bool same = seen_ && *seen_ == now;
    seen_.reset();
    if (all_stopped(now))
      seen_ = std::move(now);
    else if ((goes_on_ = ++looks_ % 10 == 0))
      send_(SIGCONT);
    return same && seen_;
  }

 private:
  pid_t group_;
  std::function<void(int)> send_;
  std::optional<std::vector<ThreadState>> seen_;
  int looks_ = 0;
  bool goes_on_ = false;
};

}  // namespace

json to_json(const ExitStatus& exit) {
  return exit.signal != 0 ? json{{"signal", exit.signal}} : json{{"code", exit.code}};
}

Daemons::DaemonPtr Daemons::find(const std::string& name) const {
  const auto it = daemons_.find(name);
  return it == daemons_.end() || gone(*it->second) ? nullptr : it->second;
}

void Daemons::send(const Daemon& daemon, int signal) const {
  if (!options_.skip_signals && !daemon.group_gone) ::kill(-daemon.group, signal);
}

bool Daemons::gone(Daemon& daemon) const {
  if (!daemon.group_gone && !daemon.leader_runs && ::kill(-daemon.group, 0) != 0 && errno == ESRCH)
    daemon.group_gone = true;
  return daemon.group_gone;
}

void Daemons::start(const std::string& name, const ChildSpec& spec, const std::string& log_path,
                    Responder responder) {
  const DaemonPtr old = find(name);
  if (!old) return launch(name, spec, log_path, responder);
  if (old->leader_runs) return responder.fail(name + " is running already");
  // Its leader is dead, some of its children are not: they would hold its ports and files.
  ::kill(-old->group, SIGKILL);
  loop_.until([this, old] { return gone(*old); }, kPatience,
              [=, this](bool is_gone) {
                if (!is_gone)
                  return responder.fail("what is left of the earlier " + name + " does not die");
                launch(name, spec, log_path, responder);
              });
}

void Daemons::launch(const std::string& name, const ChildSpec& spec, const std::string& log_path,
                     const Responder& responder) {
  ChildSpec child = spec;
  child.env[kDaemonVariable] = name;
  if (!log_path.empty()) {
    child.out = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (child.out < 0) return responder.fail("cannot open " + log_path + ": " + strerror(errno));
    child.err = child.out;
  }
  const Result<pid_t> pid = spawn(child);
  if (child.out >= 0) close(child.out);
  if (!pid) return responder.fail(pid.error().message);
  auto daemon = std::make_shared<Daemon>();
  daemon->name = name;
  daemon->group = *pid;
  daemon->leader_runs = true;
  daemon->group_gone = false;
  daemons_[name] = std::move(daemon);
  options_.started(name, *pid);
  responder.ok({{"pid", *pid}});
}

void Daemons::reaped(pid_t pid, const ExitStatus& exit) {
  for (auto& [name, daemon] : daemons_) {
    if (daemon->leader_runs && daemon->group == pid) {
      daemon->leader_runs = false;
      daemon->paused = false;
      daemon->exit = exit;
      options_.before_exit_event();
      json event = to_json(exit);
      event.update({{"event", "exit"}, {"daemon", name}, {"pid", pid}, {"asked", daemon->asked}});
      options_.emit(std::move(event));
    }
    gone(*daemon);
  }
}

void Daemons::end_with_kill(const DaemonPtr& daemon, bool was_running, bool forced,
                            const Responder& responder) {
  send(*daemon, SIGKILL);
  loop_.until([this, daemon] { return gone(*daemon); }, kPatience,
              [=](bool is_gone) {
                if (!is_gone)
                  return responder.fail(daemon->name + " was not seen to exit after SIGKILL");
                json reply = to_json(daemon->exit);
                reply.update({{"running", was_running}, {"forced", forced}});
                responder.ok(std::move(reply));
              });
}

void Daemons::kill(const std::string& name, Responder responder) {
  const DaemonPtr daemon = find(name);
  if (!daemon) return responder.ok({{"running", false}});
  daemon->asked = true;
  daemon->paused = false;
  end_with_kill(daemon, daemon->leader_runs, true, responder);
}

void Daemons::stop(const std::string& name, Nanos grace, Responder responder) {
  const DaemonPtr daemon = find(name);
  if (!daemon) return responder.ok({{"running", false}});
  daemon->asked = true;
  daemon->paused = false;
  const bool was_running = daemon->leader_runs;
  send(*daemon, SIGTERM);
  send(*daemon, SIGCONT);  // a stopped process does not hear SIGTERM
  loop_.until([daemon] { return !daemon->leader_runs; }, grace,
              [=, this](bool ended) { end_with_kill(daemon, was_running, !ended, responder); });
}

void Daemons::pause(const std::string& name, Responder responder) {
  const DaemonPtr daemon = find(name);
  if (!daemon) return responder.ok({{"running", false}});
  if (!has_proc_fs())
    return responder.fail("a pause cannot be verified here: /proc is not mounted");
  Stopping stopping(daemon->group, [this, daemon](int signal) { send(*daemon, signal); });
  const auto stopped = [stopping, daemon]() mutable { return daemon->group_gone || stopping(); };
  loop_.until(stopped, kPausePatience, [=, this](bool was_seen) {
    if (gone(*daemon)) return responder.ok({{"running", false}});
    if (!was_seen) return responder.fail(name + " was not seen to stop after SIGSTOP");
    daemon->frozen = threads_of(members_of_group(daemon->group));
    daemon->broken.clear();
    daemon->paused = true;
    watch_pause(daemon, ++daemon->pauses);
    responder.ok({{"running", true},
                  {"processes", processes_in(daemon->frozen).size()},
                  {"threads", daemon->frozen.size()}});
  });
}

void Daemons::check_pause(Daemon& daemon) const {
  if (!daemon.broken.empty()) return;
  const auto now = threads_of(processes_in(daemon.frozen));
  if (!all_stopped(now))
    daemon.broken = "a thread was seen running during the pause";
  else if (now != daemon.frozen)
    daemon.broken = "a thread ran or ended during the pause";
}

void Daemons::watch_pause(const DaemonPtr& daemon, int pause) {
  loop_.after(kPauseLook, [=, this] {
    if (!daemon->paused || daemon->pauses != pause || !daemon->broken.empty()) return;
    check_pause(*daemon);
    if (daemon->broken.empty()) return watch_pause(daemon, pause);
    options_.emit({{"event", "unpaused"}, {"daemon", daemon->name}, {"why", daemon->broken}});
  });
}

void Daemons::resume(const std::string& name, Responder responder) {
  const DaemonPtr daemon = find(name);
  if (!daemon) return responder.ok({{"running", false}, {"held", false}, {"why", "not running"}});
  if (daemon->paused) check_pause(*daemon);
  const std::string why = daemon->paused ? daemon->broken : "it was not paused";
  daemon->paused = false;
  send(*daemon, SIGCONT);
  const auto goes_on = [daemon] {
    const auto threads = threads_of(members_of_group(daemon->group));
    const auto stands = [](const ThreadState& thread) { return thread.state == 'T'; };
    return daemon->group_gone || std::none_of(threads.begin(), threads.end(), stands);
  };
  loop_.until(goes_on, kPausePatience, [=](bool was_seen) {
    if (!was_seen) return responder.fail(name + " was not seen to go on after SIGCONT");
    responder.ok({{"running", true}, {"held", why.empty()}, {"why", why}});
  });
}

std::vector<pid_t> Daemons::tree(const std::string& name) const {
  const auto it = daemons_.find(name);
  if (it == daemons_.end()) return {};
  std::vector<pid_t> tree = processes_with({std::string(kRunVariable) + "=" + options_.run,
                                            std::string(kNodeVariable) + "=" + options_.node,
                                            std::string(kDaemonVariable) + "=" + name});
  const auto add = [&](const std::vector<pid_t>& more) {
    for (pid_t process : more)
      if (std::find(tree.begin(), tree.end(), process) == tree.end()) tree.push_back(process);
  };
  if (!gone(*it->second)) add(members_of_group(it->second->group));
  for (size_t i = 0; i < tree.size(); ++i) add(children_of(tree[i]));
  std::erase_if(tree, [](pid_t process) { return !is_alive(process); });
  return tree;
}

pid_t Daemons::leader(const std::string& name) const {
  const DaemonPtr daemon = find(name);
  return daemon && daemon->leader_runs ? daemon->group : 0;
}

pid_t Daemons::expect_end(const std::string& name) {
  const DaemonPtr daemon = find(name);
  if (!daemon || !daemon->leader_runs) return 0;
  daemon->asked = true;
  daemon->paused = false;
  return daemon->group;
}

json Daemons::observe() const {
  json list = json::array();
  for (const auto& [name, daemon] : daemons_) {
    json entry = {{"name", name},
                  {"pid", daemon->group},
                  {"running", daemon->leader_runs},
                  {"paused", daemon->paused}};
    if (!daemon->leader_runs) entry["exit"] = to_json(daemon->exit);
    const auto members =
        daemon->group_gone ? std::vector<pid_t>() : members_of_group(daemon->group);
    const auto threads = threads_of(members);
    ProcessUsage sum;
    for (pid_t process : members) {
      const ProcessUsage usage = usage_of(process);
      sum.cpu_ms += usage.cpu_ms;
      sum.resident_bytes += usage.resident_bytes;
    }
    const auto stopped = std::count_if(threads.begin(), threads.end(), is_stopped);
    entry.update({{"processes", members.size()},
                  {"threads", threads.size()},
                  {"stopped_threads", stopped},
                  {"cpu_ms", sum.cpu_ms},
                  {"resident_bytes", sum.resident_bytes}});
    list.push_back(std::move(entry));
  }
  return list;
}

void Daemons::wake_all() {
  for (auto& [name, daemon] : daemons_) {
    if (daemon->paused && !gone(*daemon)) ::kill(-daemon->group, SIGCONT);
    daemon->paused = false;
  }
}

int Daemons::kill_all() {
  int count = 0;
  for (auto& [name, daemon] : daemons_) {
    if (gone(*daemon)) continue;
    daemon->asked = true;
    ::kill(-daemon->group, SIGKILL);
    ++count;
  }
  return count;
}

}  // namespace assay::agent
