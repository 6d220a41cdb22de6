// SIGINT and SIGTERM end the process at once with exit code 130, while it lives, and take a file
// that is half written with them: for work that leaves nothing to conclude. One at a time in a
// process.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace assay {

class SignalExit {
 public:
  SignalExit() {
    half_written_[0] = 0;
    struct sigaction action {};
    action.sa_handler = leave;
    ::sigaction(SIGINT, &action, &before_[0]);
    ::sigaction(SIGTERM, &action, &before_[1]);
  }
  ~SignalExit() {
    ::sigaction(SIGINT, &before_[0], nullptr);
    ::sigaction(SIGTERM, &before_[1], nullptr);
  }
  SignalExit(const SignalExit&) = delete;
  SignalExit& operator=(const SignalExit&) = delete;

  // Called once, with a path that is not too long to be opened.
  void removes(const std::string& path) {
    if (path.size() < sizeof half_written_)
      std::memcpy(half_written_, path.c_str(), path.size() + 1);
  }

 private:
  static void leave(int) {
    if (half_written_[0] != 0) ::unlink(half_written_);
    constexpr char kSaid[] = "assay: interrupted\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
    ::_exit(130);
  }

  static inline char half_written_[4096];
  struct sigaction before_[2]{};
};

}  // namespace assay
