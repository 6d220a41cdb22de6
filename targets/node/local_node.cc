#include "targets/node/local_node.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "targets/node/agent/child.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"
#include "targets/node/agent_node.h"
#include "targets/node/private_net.h"

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

std::vector<std::string> arguments(const LocalNodeOptions& options) {
  std::vector<std::string> args{options.private_network ? "--own-net" : "--no-links"};
  if (!options.data_folder.empty()) args.insert(args.end(), {"--data", options.data_folder});
  if (!options.beat) args.push_back("--no-beat");
  return args;
}

std::vector<std::string> environment(const LocalNodeOptions& options) {
  auto added = options.env;
  added[agent::kRunVariable] = options.run_id;
  added[agent::kNodeVariable] = options.name;
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) env.push_back(text);
  }
  for (const auto& [name, value] : added) env.push_back(name + "=" + value);
  return env;
}

// The child and the two pipes. Lives as long as its handlers do; the carrier lets go of it earlier.
class AgentProcess : public std::enable_shared_from_this<AgentProcess> {
 public:
  AgentProcess(asio::io_context& io, const LocalNodeOptions& options)
      : run_(options.run_id), node_(options.name), io_(io), in_(io), out_(io) {}
  ~AgentProcess() {
    if (child_) child_->detach();  // it heals by itself, and must not be killed before
  }

  Result<void> spawn(const LocalNodeOptions& options) {
    const std::string& path = options.agent_path;
    if (access(path.c_str(), X_OK) != 0) return failed("cannot run " + path, errno);
    Fd in, our_in, out, our_out;
    if (!make_pipe(in, our_in) || !make_pipe(our_out, out))
      return failed("cannot make a pipe", errno);
    const std::string log = options.agent_log.empty() ? "/dev/null" : options.agent_log;
    const Fd err(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (err.get() < 0) return failed("cannot open " + log, errno);
    try {
      child_.emplace(io_, path, arguments(options),
                     process::process_stdio{in.get(), out.get(), err.get()},
                     process::process_environment(environment(options)), FreshProcess{});
    } catch (const boost::system::system_error& e) {
      return environment_error("cannot run " + path + ": " + e.code().message());
    }
    in_.assign(our_in.release());
    out_.assign(our_out.release());
    return {};
  }

  void open_sink(AgentCarrier::Sink sink) {
    sink_ = std::move(sink);
    read();
    child_->async_wait([self = shared_from_this()](const error_code& error, int) {
      if (error) return;
      self->exit_ = agent::exit_status(self->child_->native_exit_code());
      self->report_end();
    });
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

  void kill() { ::kill(static_cast<pid_t>(child_->id()), SIGKILL); }

 private:
  static Error failed(const std::string& what, int error) {
    return environment_error(what + ": " + strerror(error));
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

  // When it has exited and all that it said was read. An agent that did not end in order may have
  // left processes in sessions of their own behind.
  void report_end() {
    if (!exit_ || !output_ended_) return;
    if (*exit_ != agent::ExitStatus{}) agent::kill_marked(run_, node_);
    if (const auto ended = std::exchange(sink_.ended, nullptr)) ended(describe(*exit_));
  }

  std::string run_, node_;
  asio::io_context& io_;
  asio::writable_pipe in_;
  asio::readable_pipe out_;
  std::optional<process::process> child_;
  AgentCarrier::Sink sink_;
  std::deque<std::string> queue_;
  std::array<char, 65'536> buffer_;
  std::optional<agent::ExitStatus> exit_;
  bool output_ended_ = false;
  bool ends_ = false;
};

class LocalCarrier : public AgentCarrier {
 public:
  explicit LocalCarrier(std::shared_ptr<AgentProcess> process) : process_(std::move(process)) {}
  ~LocalCarrier() override { process_->let_go(); }
  void open(Sink sink) override { process_->open_sink(std::move(sink)); }
  void write(std::string bytes) override { process_->write(std::move(bytes)); }
  void end_input() override { process_->end_input(); }
  void kill() override { process_->kill(); }

 private:
  std::shared_ptr<AgentProcess> process_;
};

// From a spawned agent to a node that has an address. Owns the node on the way.
class Starting : public std::enable_shared_from_this<Starting> {
 public:
  using Done = Node::Done<std::unique_ptr<Node>>;
  Starting(Loop& loop, const LocalNodeOptions& options, Done done)
      : index_(options.index), is_private_(options.private_network), done_(std::move(done)) {
    node_ = std::make_unique<AgentNode>(
        loop, AgentNodeOptions{.name = options.name,
                               .address = is_private_ ? node_address(index_) : "127.0.0.1",
                               .run_id = options.run_id,
                               .control_address = is_private_ ? driver_address() : "",
                               .beat = options.beat});
  }

  void begin(std::shared_ptr<AgentProcess> process) {
    node_->connect(
        std::make_unique<LocalCarrier>(std::move(process)),
        [self = shared_from_this()](const Result<void>& greeted) { self->greeted(greeted); });
  }

 private:
  void greeted(const Result<void>& result) {
    if (!result || !is_private_) return finish(result);
    if (auto joined = join_node(index_, node_->agent_pid()); !joined) {
      return finish(environment_error("cannot join the network: " + joined.error().message));
    }
    node_->configure_network(
        kNodeLink, node_interface_address(index_),
        [self = shared_from_this()](const Result<void>& up) { self->finish(up); });
  }

  void finish(const Result<void>& result) {
    if (!result) return done_(result.error());
    done_(std::unique_ptr<Node>(std::move(node_)));
  }

  int index_;
  bool is_private_;
  Done done_;
  std::unique_ptr<AgentNode> node_;
};

}  // namespace

void start_local_node(asio::io_context& io, Loop& loop, const LocalNodeOptions& options,
                      Node::Done<std::unique_ptr<Node>> done) {
  signal(SIGPIPE, SIG_IGN);
  auto process = std::make_shared<AgentProcess>(io, options);
  if (auto spawned = process->spawn(options); !spawned) {
    const Error why = spawned.error();
    return loop.post([done = std::move(done), why] { done(why); });
  }
  std::make_shared<Starting>(loop, options, std::move(done))->begin(std::move(process));
}

}  // namespace assay
