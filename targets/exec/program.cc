#include "targets/exec/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <utility>

namespace assay::exec {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Stream = asio::posix::stream_descriptor;

constexpr Nanos kPatience = milliseconds(10);  // between two looks whether a child has ended
constexpr int kLooks = 30;                     // after the end of its output
constexpr size_t kFreeComplaints = 1 << 16;    // bytes that are read without a pause
constexpr size_t kQuoteMax = 300;

struct Ends {
  int read = -1, write = -1;
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  static int give(int& fd) { return std::exchange(fd, -1); }
  ~Ends() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
};

std::optional<agent::ExitStatus> reaped(pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, WNOHANG);
  if (got == pid) return agent::exit_status(status);
  if (got < 0 && errno == ECHILD) return agent::ExitStatus{};
  return std::nullopt;
}

// Killed children that had not ended when they were looked at. They are looked at again with the
// next program, and never waited for.
void reap(pid_t more = -1) {
  static std::vector<pid_t> left;  // one thread
  if (more > 0) left.push_back(more);
  std::erase_if(left, [](pid_t pid) { return reaped(pid).has_value(); });
}

}  // namespace

// Shared with handlers that may outlive the Program.
struct Program::State : std::enable_shared_from_this<Program::State> {
  State(asio::io_context& io, Loop& loop, Events events)
      : loop(loop), events(std::move(events)), in(io), out(io), err(io) {}

  void read_lines() {
    out.async_read_some(asio::buffer(out_buffer),
                        [self = shared_from_this()](const error_code& error, size_t n) {
                          if (self->closed) return;
                          if (error) return self->output_ended(kLooks);
                          self->take({self->out_buffer.data(), n});
                          if (!self->closed) self->read_lines();
                        });
  }

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t newline = bytes.find('\n');
      const std::string_view part = bytes.substr(0, newline);
      if (partial.size() + part.size() > kLineMax)
        return end("wrote a line of more than 1 MB", nullptr);
      if (newline == bytes.npos) {
        partial += part;
        return;
      }
      bytes.remove_prefix(newline + 1);
      if (partial.empty()) {
        events.on_line(part);
      } else {
        partial += part;
        const std::string line = std::exchange(partial, {});
        events.on_line(line);
      }
      if (closed) return;
    }
  }

  // A program that only closed its output is ended by us.
  void output_ended(int looks) {
    if (closed) return;
    if (const auto exit = reaped(pid)) {
      gone = true;
      return await_last_words(*exit);
    }
    if (looks == 0) return end("closed its standard output", nullptr);
    loop.at(loop.now() + kPatience,
            [self = shared_from_this(), looks] { self->output_ended(looks - 1); });
  }

  // What it said before it ended is still in the pipe.
  void await_last_words(const agent::ExitStatus& exit) {
    read_available_complaints();
    end(agent::describe(exit), &exit);
  }

  void end(std::string how, const agent::ExitStatus* exit) {
    if (closed) return;
    if (!last_complaint.empty()) how += ": " + last_complaint;
    const auto on_end = events.on_end;
    close();
    on_end(how, exit);
  }

  void close() {
    if (std::exchange(closed, true)) return;
    error_code ignored;
    in.close(ignored);
    out.close(ignored);
    err.close(ignored);
    if (pid > 0) ::kill(-pid, SIGKILL);  // its group: also after it has ended itself
    if (pid > 0 && !gone) reap(pid);
  }

  // --- Standard error

  void read_complaints() {
    err.async_read_some(asio::buffer(err_buffer),
                        [self = shared_from_this()](const error_code& error, size_t n) {
                          if (self->closed || error) return;
                          self->complain({self->err_buffer.data(), n});
                          self->complained += n;
                          if (self->complained < kFreeComplaints) return self->read_complaints();
                          self->complained = 0;
                          self->loop.at(self->loop.now() + kPatience, [self] {
                            if (!self->closed) self->read_complaints();
                          });
                        });
  }

  void read_available_complaints() {
    error_code error;
    err.non_blocking(true, error);
    for (int i = 0; i < 16 && !error; ++i) {
      const size_t n = err.read_some(asio::buffer(err_buffer), error);
      if (!error) complain({err_buffer.data(), n});
    }
  }

  void complain(std::string_view text) {
    if (complaints && !complaints->path.empty() && complaints->bytes_left > 0) {
      const auto kept = text.substr(0, static_cast<size_t>(complaints->bytes_left));
      complaints->bytes_left -= static_cast<int64_t>(kept.size());
      const int fd =
          ::open(complaints->path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (fd < 0 || ::write(fd, kept.data(), kept.size()) < 0) complaints->bytes_left = 0;
      if (fd >= 0) ::close(fd);
    }
    quote(text);
  }

  // Keeps the last line that is not empty, whole or not.
  void quote(std::string_view text) {
    const size_t last = text.find_last_not_of('\n');
    if (last == text.npos) {
      line_ended = true;
      return;
    }
    const size_t newline = text.rfind('\n', last);
    const bool begins = newline != text.npos || line_ended;
    if (begins) last_complaint.clear();
    const size_t begin = newline == text.npos ? 0 : newline + 1;
    const size_t room = kQuoteMax - last_complaint.size();
    last_complaint += text.substr(begin, std::min(last + 1 - begin, room));
    line_ended = last + 1 < text.size();
  }

  // --- Standard input

  void write(std::string_view bytes) {
    if (closed) return;
    if (unwritten.empty()) {
      const ssize_t n = ::write(in.native_handle(), bytes.data(), bytes.size());
      if (n < 0 && errno != EAGAIN && errno != EINTR) return;  // it has ended: its output says so
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      if (bytes.empty()) return;
    }
    unwritten += bytes;
    if (!writing) write_rest();
  }

  void write_rest() {
    writing = true;
    in.async_write_some(asio::buffer(unwritten),
                        [self = shared_from_this()](const error_code& error, size_t n) {
                          self->writing = false;
                          if (self->closed || error) return;
                          self->unwritten.erase(0, n);
                          if (!self->unwritten.empty()) self->write_rest();
                        });
  }

  Loop& loop;
  Events events;
  Stream in, out, err;
  std::shared_ptr<Complaints> complaints;
  pid_t pid = -1;
  bool gone = false;  // reaped
  bool closed = false;
  bool writing = false;
  std::string unwritten;
  std::string partial;
  std::string last_complaint;
  bool line_ended = false;
  size_t complained = 0;  // since the last pause
  std::array<char, 16'384> out_buffer;
  std::array<char, 16'384> err_buffer;
};

Program::Program(std::shared_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() { state_->close(); }
void Program::write(std::string_view bytes) { state_->write(bytes); }
int Program::pid() const { return state_->pid; }

void Program::end_input() {
  error_code ignored;
  state_->in.close(ignored);
}

Result<std::unique_ptr<Program>> Program::start(asio::io_context& io, Loop& loop, ProgramSpec spec,
                                                Events events) {
  signal(SIGPIPE, SIG_IGN);
  reap();
  Ends in, out, err;
  if (!in.open() || !out.open() || !err.open())
    return environment_error(std::string("cannot make a pipe: ") + strerror(errno));
  spec.child.in = in.read;
  spec.child.out = out.write;
  spec.child.err = err.write;
  const auto pid = agent::spawn(spec.child);
  if (!pid) return pid.error();
  auto state = std::make_shared<State>(io, loop, std::move(events));
  state->pid = *pid;
  state->complaints = std::move(spec.complaints);
  error_code error;
  state->in.assign(Ends::give(in.write), error);
  if (!error) state->in.non_blocking(true, error);
  if (!error) state->out.assign(Ends::give(out.read), error);
  if (!error) state->err.assign(Ends::give(err.read), error);
  if (error) {
    state->close();
    return environment_error("cannot use a pipe: " + error.message());
  }
  state->read_lines();
  state->read_complaints();
  return std::unique_ptr<Program>(new Program(std::move(state)));
}

}  // namespace assay::exec
