// SIGINT and SIGTERM end the process at once with exit code 130, while it lives, and take files
// that are half written with them: for work that leaves nothing to conclude. One at a time in a
// process.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "harness/signal_handlers.h"

namespace assay {

class SignalExit {
 public:
  SignalExit() : handlers_(empty_handed()) {}

  // Called up to kMost times, with paths that are not too long to be opened.
  void removes(const std::string& path) {
    if (count_ == kMost || path.size() >= sizeof half_written_[0]) return;
    std::memcpy(half_written_[count_], path.c_str(), path.size() + 1);
    ++count_;
  }

 private:
  static void leave(int) {
    for (int i = 0; i < count_; ++i) ::unlink(half_written_[i]);
    constexpr char kSaid[] = "assay: interrupted\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
    ::_exit(130);
  }

  // Before the handler is there: what an earlier one would have removed is not removed.
  static SignalHandlers::Handler empty_handed() {
    count_ = 0;
    return leave;
  }

  static constexpr int kMost = 2;
  static inline char half_written_[kMost][4096];
  static inline std::atomic<int> count_ = 0;
  SignalHandlers handlers_;
};

}  // namespace assay
