#include "harness/e2e/program.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "checkers/history/json_text.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void become(const Launch& launch, int out, int err) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::setpgid(0, 0);
  if (launch.before_exec) launch.before_exec();
  if (!launch.folder.empty() && ::chdir(launch.folder.c_str()) != 0) ::_exit(120);
  if (launch.user) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(*launch.user) != 0 || ::setuid(*launch.user) != 0)
      ::_exit(121);
  }
  const auto argv = pointers(launch.argv);
  const auto env = pointers(launch.env);
  launch.env.empty() ? ::execv(argv[0], argv.data()) : ::execve(argv[0], argv.data(), env.data());
  ::_exit(122);
}

}  // namespace

Value Ended::json() const {
  auto parsed = parse_json(out, "<stdout>");
  return parsed ? *parsed : Value();
}

Program::Program(const Launch& launch) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) become(launch, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Program::~Program() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Program::signal(int number) { ::kill(pid_, number); }

bool Program::gather(Clock::time_point until) {
  pollfd waits[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  if (::poll(waits, 2, static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(left, 100)))) < 0)
    return errno == EINTR;
  const auto take = [](pollfd& wait, int& fd, std::string& text) {
    if (fd < 0 || wait.revents == 0) return;
    char block[1 << 16];
    const ssize_t size = ::read(fd, block, sizeof block);
    if (size > 0) text.append(block, static_cast<size_t>(size));
    if (size == 0) {
      ::close(fd);
      fd = -1;
    }
  };
  take(waits[0], out_, so_far_.out);
  take(waits[1], err_, so_far_.err);
  return out_ >= 0 || err_ >= 0;
}

bool Program::wait_for(const std::function<bool(const Ended&)>& condition,
                       std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  while (!condition(so_far_)) {
    if (Clock::now() >= until || !gather(until)) return condition(so_far_);
  }
  return true;
}

Ended Program::wait(std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  while (Clock::now() < until && gather(until)) {
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (ended == 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  reaped_ = true;
  so_far_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return so_far_;
}

Ended run(const Launch& launch, std::chrono::seconds limit) { return Program(launch).wait(limit); }

std::string bin_dir() { return fs::read_symlink("/proc/self/exe").parent_path(); }

Launch assay(std::vector<std::string> arguments) {
  Launch launch;
  launch.argv = std::move(arguments);
  launch.argv.insert(launch.argv.begin(), bin_dir() + "/assay");
  return launch;
}

bool ordinary_users_may_have_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool user = ::getuid() != 0 || ::setuid(kNobody) == 0;
    ::_exit(user && ::unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string text_of_file(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char block[1 << 14];
  for (ssize_t size; fd >= 0 && (size = ::read(fd, block, sizeof block)) > 0;)
    text.append(block, static_cast<size_t>(size));
  if (fd >= 0) ::close(fd);
  return text;
}

std::vector<pid_t> processes_of_run(const std::string& run) {
  std::vector<pid_t> found;
  const std::string mark = std::string(1, '\0') + "ASSAY_RUN=" + run + std::string(1, '\0');
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = std::string(1, '\0') + text_of_file(entry.path() / "environ");
    if (environment.find(mark) != std::string::npos) found.push_back(std::atoi(name.c_str()));
  }
  return found;
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "assay-e2e-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) std::abort();
  path_ = pattern;
  ::chmod(path_.c_str(), 0777);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace assay::e2e
