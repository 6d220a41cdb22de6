#include "targets/node/agent/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace assay::agent {
namespace {

Error system_error(const std::string& what, int error = errno) {
  return environment_error(what + ": " + strerror(error));
}

// Nothing to read, and nowhere to write to, also in a chroot without /dev.
int open_nothing() {
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd >= 0 ? fd : memfd_create("nothing", MFD_CLOEXEC);
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& text : strings) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

void close_from(int first) {
  if (close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  const long limit = std::min(sysconf(_SC_OPEN_MAX), 65'536L);
  for (int fd = first; fd < limit; ++fd) close(fd);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct Prepared {
  const ChildSpec& spec;
  std::string program;
  std::vector<char*> argv, env;
  int nothing, report;  // descriptors above 2
  pid_t parent;
};

// Runs in the child. Says on `report` (closed by a successful exec) why it could not go on.
[[noreturn]] void become(const Prepared& child) {
  constexpr int kReport = 3;
  const auto give_up = [&](int report) {
    const int error = errno;
    if (write(report, &error, sizeof error) < 0) _exit(126);
    _exit(127);
  };
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);  // it ended before the line above
  reset_signals();
  const int wanted[] = {child.spec.in, child.spec.out, child.spec.err};
  for (int fd = 0; fd < 3; ++fd) {
    if (dup2(wanted[fd] < 0 ? child.nothing : wanted[fd], fd) < 0) give_up(child.report);
  }
  if (child.report != kReport && dup3(child.report, kReport, O_CLOEXEC) < 0) give_up(child.report);
  close_from(kReport + 1);
  if (!child.spec.cwd.empty() && chdir(child.spec.cwd.c_str()) != 0) give_up(kReport);
  if (child.spec.body) {
    close(kReport);
    _exit(child.spec.body());
  }
  execve(child.program.c_str(), child.argv.data(), child.env.data());
  give_up(kReport);
  _exit(127);
}

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read_end = fds[0];
    write_end = fds[1];
    return true;
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }
  ~Pipe() {
    close_read();
    close_write();
  }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<pid_t> spawn(const ChildSpec& spec) {
  Prepared child{spec};
  std::vector<std::string> env = merged_environment(spec.env);
  if (!spec.body) {
    if (spec.argv.empty() || spec.argv[0].empty()) return environment_error("no program named");
    const bool is_path = spec.argv[0].find('/') != std::string::npos;
    child.program = is_path ? spec.argv[0] : find_tool(spec.argv[0]);
    if (child.program.empty())
      return environment_error("cannot run " + spec.argv[0] + ": not found in PATH");
  }
  child.argv = pointers(spec.argv);
  child.env = pointers(env);
  child.parent = getpid();
  Pipe report;
  if (!report.open()) return system_error("cannot make a pipe");
  child.report = report.write_end;
  child.nothing = open_nothing();
  const pid_t pid = fork();
  if (pid == 0) become(child);
  const int fork_error = errno;
  close(child.nothing);
  if (pid < 0) return system_error("cannot fork", fork_error);
  report.close_write();
  int error = 0;
  ssize_t n;
  while ((n = read(report.read_end, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n == 0) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  const std::string what = spec.body ? "child" : child.program;
  return system_error("cannot run " + what + (spec.cwd.empty() ? "" : " in " + spec.cwd), error);
}

ExitStatus exit_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

std::string describe(const ExitStatus& exit) {
  if (exit.signal == 0) return "exited with " + std::to_string(exit.code);
  const char* name = sigdescr_np(exit.signal);
  return "killed by signal " + std::to_string(exit.signal) +
         (name ? std::string(" (") + name + ")" : "");
}

std::string find_tool(const std::string& name) {
  const char* path = getenv("PATH");
  const std::string folders =
      std::string(path != nullptr ? path : "") + ":/usr/sbin:/sbin:/usr/bin:/bin";
  for (size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = folders.find(':', start);
    const std::string folder = folders.substr(start, end - start);
    const std::string file = folder + "/" + name;
    if (!folder.empty() && is_program(file)) return file;
  }
  return {};
}

int text_file(const std::string& text) {
  const int fd = memfd_create("text", MFD_CLOEXEC);
  if (fd < 0) return -1;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) {
      close(fd);
      return -1;
    }
    done += static_cast<size_t>(n);
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

Result<ToolOutput> run_tool(const std::vector<std::string>& argv, const std::string& input,
                            int patience_ms) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
  Pipe out, err;
  if (!out.open() || !err.open()) return system_error("cannot make a pipe");
  ChildSpec spec{.argv = argv, .out = out.write_end, .err = err.write_end};
  if (!input.empty() && (spec.in = text_file(input)) < 0) return system_error("cannot make a file");
  const Result<pid_t> pid = spawn(spec);
  if (spec.in >= 0) close(spec.in);
  out.close_write();
  err.close_write();
  if (!pid) return pid.error();
  ToolOutput output;
  bool late = false;
  pollfd fds[] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const int ready = poll(fds, 2, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if ((late = ready <= 0)) break;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[16'384];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0) (i == 0 ? output.out : output.err).append(buffer, static_cast<size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) fds[i].fd = -1;
    }
  }
  if (late) kill(-*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (late)
    return environment_error(argv[0] + " did not end within " + std::to_string(patience_ms) +
                             " ms");
  output.exit = exit_status(status);
  if (output.exit == ExitStatus{}) return output;
  const std::string complaint = first_line(output.err.empty() ? output.out : output.err);
  return environment_error(argv[0] + " " + describe(output.exit) +
                           (complaint.empty() ? "" : ": " + complaint));
}

}  // namespace assay::agent
