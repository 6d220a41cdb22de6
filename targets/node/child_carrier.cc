#include "targets/node/child_carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "targets/node/agent/child.h"

namespace assay {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;
using boost::system::error_code;

// A descriptor that is closed unless it is given away.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Asio's own connect_pipe sets no close-on-exec: every agent would inherit the pipes of all others,
// and none would ever read the end of its input.
bool make_pipe(Fd& read_end, Fd& write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end = Fd(fds[0]);
  write_end = Fd(fds[1]);
  return true;
}

// In the child: a session of its own, so that the terminal's Ctrl-C is for the driver alone, and
// signals as a fresh program expects them.
struct FreshProcess {
  template <typename Launcher>
  error_code on_exec_setup(Launcher&, const process::filesystem::path&, const char* const*) {
    setsid();
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTIN, SIGTTOU, SIGTSTP}) {
      signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    return {};
  }
};

std::vector<std::string> environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) env.push_back(text);
  }
  for (const auto& [name, value] : added) env.push_back(name + "=" + value);
  return env;
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) == 0) return name;
    return environment_error("cannot run " + name + ": " + strerror(errno));
  }
  const auto found = process::environment::find_executable(name);
  if (!found.empty()) return found.string();
  return environment_error("cannot run " + name + ": not found in PATH");
}

// The child and the two pipes. Lives as long as its handlers do; the carrier lets go of it earlier.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
 public:
  ChildProcess(asio::io_context& io, std::function<void(ProcessEnd)> exited)
      : exited_(std::move(exited)), io_(io), in_(io), out_(io), pidfd_(io) {}

  Result<void> spawn(const ChildOptions& options) {
    const auto found = find_program(options.program);
    if (!found) return found.error();
    const std::string& path = *found;
    Fd in, our_in, out, our_out;
    if (!make_pipe(in, our_in) || !make_pipe(our_out, out))
      return failed("cannot make a pipe", errno);
    const std::string log = options.log.empty() ? "/dev/null" : options.log;
    const Fd err(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (err.get() < 0) return failed("cannot open " + log, errno);
    try {
      process::process child(io_, path, options.args,
                             process::process_stdio{in.get(), out.get(), err.get()},
                             process::process_environment(environment(options.env)), FreshProcess{});
      pid_ = static_cast<pid_t>(child.id());
      child.detach();  // an agent heals by itself, and must not be killed before
    } catch (const boost::system::system_error& e) {
      return environment_error("cannot run " + path + ": " + e.code().message());
    }
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd < 0) return failed("cannot watch " + path, errno);
    pidfd_.assign(pidfd);
    in_.assign(our_in.release());
    out_.assign(our_out.release());
    return {};
  }

  void open_sink(AgentCarrier::Sink sink) {
    sink_ = std::move(sink);
    read();
    await_exit();
  }

  void write(std::string bytes) {
    if (!in_.is_open()) return;
    queue_.push_back(std::move(bytes));
    if (queue_.size() == 1) write_next();
  }

  void end_input() {
    ends_ = true;
    if (queue_.empty()) close_input();
  }

  void let_go() {
    sink_ = {};
    error_code ignored;
    in_.close(ignored);
    out_.close(ignored);
  }

  void kill() {
    if (!exit_) ::kill(pid_, SIGKILL);
  }

 private:
  static Error failed(const std::string& what, int error) {
    return environment_error(what + ": " + strerror(error));
  }

  // A wake-up may be a false one (of an earlier descriptor of this number), and Boost.Process would
  // then wait for the child and stop the whole loop.
  void await_exit() {
    pidfd_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const error_code& error) {
                        if (error) return;
                        int status = 0;
                        const pid_t ended = waitpid(self->pid_, &status, WNOHANG);
                        if (ended == 0) return self->await_exit();
                        self->exit_ = agent::exit_status(ended == self->pid_ ? status : 0);
                        self->report_end();
                      });
  }

  void close_input() {
    error_code ignored;
    in_.close(ignored);
  }

  void write_next() {
    asio::async_write(in_, asio::buffer(queue_.front()),
                      [self = shared_from_this()](const error_code& error, size_t) {
                        if (error) {  // the agent is gone: its exit will say so
                          self->queue_.clear();
                          return;
                        }
                        self->queue_.pop_front();
                        if (!self->queue_.empty()) return self->write_next();
                        if (self->ends_) self->close_input();
                      });
  }

  void read() {
    out_.async_read_some(asio::buffer(buffer_),
                         [self = shared_from_this()](const error_code& error, size_t n) {
                           if (error) {
                             self->output_ended_ = true;
                             return self->report_end();
                           }
                           // A copy: who receives may let go of us.
                           if (const auto received = self->sink_.received)
                             received({self->buffer_.data(), n});
                           if (self->out_.is_open()) self->read();
                         });
  }

  // When it has exited and all that it said was read.
  void report_end() {
    if (!exit_ || !output_ended_) return;
    exited_({.code = exit_->code, .signal = exit_->signal});
    if (const auto ended = std::exchange(sink_.ended, nullptr)) ended(describe(*exit_));
  }

  std::function<void(ProcessEnd)> exited_;
  asio::io_context& io_;
  asio::writable_pipe in_;
  asio::readable_pipe out_;
  asio::posix::stream_descriptor pidfd_;
  pid_t pid_ = -1;
  AgentCarrier::Sink sink_;
  std::deque<std::string> queue_;
  std::array<char, 65'536> buffer_;
  std::optional<agent::ExitStatus> exit_;
  bool output_ended_ = false;
  bool ends_ = false;
};

class ChildCarrier : public AgentCarrier {
 public:
  explicit ChildCarrier(std::shared_ptr<ChildProcess> process) : process_(std::move(process)) {}
  ~ChildCarrier() override { process_->let_go(); }
  void open(Sink sink) override { process_->open_sink(std::move(sink)); }
  void write(std::string bytes) override { process_->write(std::move(bytes)); }
  void end_input() override { process_->end_input(); }
  void kill() override { process_->kill(); }

 private:
  std::shared_ptr<ChildProcess> process_;
};

}  // namespace

Result<std::unique_ptr<AgentCarrier>> start_child(asio::io_context& io, ChildOptions options) {
  signal(SIGPIPE, SIG_IGN);
  auto process = std::make_shared<ChildProcess>(io, options.exited);
  if (auto spawned = process->spawn(options); !spawned) return spawned.error();
  return std::unique_ptr<AgentCarrier>(std::make_unique<ChildCarrier>(std::move(process)));
}

}  // namespace assay
