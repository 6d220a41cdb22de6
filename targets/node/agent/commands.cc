#include "targets/node/agent/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace assay::agent {

Result<void> Commands::run(ChildSpec spec, const CommandLimits& limits,
                           std::function<void(CommandResult)> done) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    const int error = errno;
    for (int fd : {out[0], out[1]}) {
      if (fd >= 0) close(fd);
    }
    return environment_error(std::string("cannot make a pipe: ") + strerror(error));
  }
  spec.out = out[1];
  spec.err = err[1];
  const Result<pid_t> pid = spawn(spec);
  close(out[1]);
  close(err[1]);
  if (!pid) {
    close(out[0]);
    close(err[0]);
    return pid.error();
  }
  auto command = std::make_shared<Running>();
  command->out = out[0];
  command->err = err[0];
  command->limits = limits;
  command->done = std::move(done);
  running_[*pid] = command;
  for (int fd : {out[0], err[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  loop_.watch(out[0], POLLIN, [this, c = command.get()] {
    read_some(c->out, c->result.out, c->limits.out_bytes, c->result.out_cut);
  });
  loop_.watch(err[0], POLLIN, [this, c = command.get()] {
    read_some(c->err, c->result.err, c->limits.err_bytes, c->result.err_cut);
  });
  loop_.after(limits.deadline, [this, pid = *pid, late = std::weak_ptr(command)] {
    const auto c = late.lock();
    if (!c) return;
    c->result.timed_out = true;
    ::kill(-pid, SIGKILL);
  });
  return {};
}

void Commands::read_some(int& fd, std::string& text, size_t limit, bool& cut) {
  char buffer[16'384];
  while (fd >= 0) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      loop_.unwatch(fd);
      close(fd);
      fd = -1;
      return;
    }
    const size_t kept = std::min(static_cast<size_t>(n), limit - text.size());
    text.append(buffer, kept);
    cut |= kept < static_cast<size_t>(n);
  }
}

void Commands::ending(pid_t pid) {
  if (running_.contains(pid)) ::kill(-pid, SIGKILL);
}

void Commands::reaped(pid_t pid, const ExitStatus& exit) {
  const auto it = running_.find(pid);
  if (it == running_.end()) return;
  const auto command = std::move(it->second);
  running_.erase(it);
  read_some(command->out, command->result.out, command->limits.out_bytes, command->result.out_cut);
  read_some(command->err, command->result.err, command->limits.err_bytes, command->result.err_cut);
  for (int fd : {command->out, command->err}) {  // still open in a process of another session
    if (fd < 0) continue;
    loop_.unwatch(fd);
    close(fd);
  }
  command->result.exit = exit;
  command->done(std::move(command->result));
}

void Commands::kill_all() {
  for (const auto& [pid, command] : running_) ::kill(-pid, SIGKILL);
}

}  // namespace assay::agent
