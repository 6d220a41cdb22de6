#include "targets/node/warden.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "targets/node/agent/child.h"

namespace assay {
namespace {

constexpr int kHarnessFailed = 255;
constexpr int kInterrupted = 130;

int listen_to(const sigset_t& signals) {
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// The next signal that is pending; 0 when there is none.
int next_signal(int signals) {
  signalfd_siginfo info{};
  return read(signals, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void say(const std::string& text) {
  const std::string line = "assay: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

std::string how_it_ended(int wait_status) {
  return (WIFSIGNALED(wait_status) ? "was " : "") +
         agent::describe(agent::exit_status(wait_status));
}

// The driver's wait status has come through the line, if init lived to send it.
[[noreturn]] void leave_as_driver(int line, int init_status) {
  int status = 0;
  if (recv(line, &status, sizeof status, MSG_DONTWAIT) != sizeof status) {
    say("the init of the run " + how_it_ended(init_status) +
        "; all processes of the run are gone, it says nothing about the store");
    _exit(kHarnessFailed);
  }
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM) _exit(kInterrupted);
  say("the driver " + how_it_ended(status) +
      "; all processes of the run are gone, it says nothing about the store");
  _exit(kHarnessFailed);
}

struct Wait {
  int signals, line;
  // Until a signal is pending; false when the other end of the line is gone.
  bool next() const {
    pollfd fds[] = {{signals, POLLIN, 0}, {line, 0, 0}};  // of the line, only its end counts
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    return fds[1].revents == 0;
  }
};

}  // namespace

sigset_t warden_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&set, number);
  return set;
}

void be_launcher(pid_t init, int line) {
  signal(SIGTSTP, SIG_IGN);
  sigset_t heard = warden_signals();
  for (int number : {SIGINT, SIGHUP, SIGQUIT}) {  // nohup; a background job of a script
    if (is_ignored(number)) sigdelset(&heard, number);
  }
  const Wait wait{listen_to(heard), line};
  bool init_lives = true;
  while (init_lives) {
    init_lives = wait.next();
    while (const int number = next_signal(wait.signals)) {
      if (number != SIGCHLD) kill(init, number == SIGHUP ? SIGTERM : number);
    }
  }
  int status = 0;
  while (waitpid(init, &status, 0) < 0 && errno == EINTR) {
  }
  leave_as_driver(line, status);
}

// With this process everything in its namespace ends. The agents of a driver that was killed are
// children of it now, and undo what they have promised to undo: that may take them a while.
static void await_agents() {
  constexpr timespec kStep{0, 5'000'000};
  for (int steps = 0; steps < 800; ++steps) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;  // there are none
    if (ended == 0) nanosleep(&kStep, nullptr);
  }
}

int be_init(int line, const sigset_t& mask) {
  setpgid(0, 0);
  const pid_t driver = fork();
  if (driver < 0) return -1;
  if (driver == 0) {
    setpgid(0, 0);
    close(line);
    signal(SIGTTIN, SIG_IGN);  // reading from the terminal fails, instead of stopping the run
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    return 0;
  }
  setpgid(driver, driver);
  prctl(PR_SET_NAME, "assay-init");
  const Wait wait{listen_to(warden_signals()), line};
  while (wait.next()) {
    while (const int number = next_signal(wait.signals)) {
      if (number != SIGCHLD) kill(-driver, number);
    }
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != driver) continue;
      const bool sent = send(line, &status, sizeof status, MSG_NOSIGNAL) == sizeof status;
      await_agents();
      _exit(sent ? 0 : 1);
    }
  }
  // The launcher is gone. The kernel kills what is left in this namespace.
  kill(driver, SIGKILL);
  await_agents();
  _exit(0);
}

}  // namespace assay
