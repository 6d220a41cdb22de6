// SIGINT and SIGTERM as a flag, while it lives: for work that looks at it between two steps. One at
// a time in a process; the handlers that were there before come back with its end.
#pragma once

#include <signal.h>

#include <atomic>

namespace assay {

class SignalFlag {
 public:
  SignalFlag() {
    raised_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) { raised_ = true; };
    ::sigaction(SIGINT, &action, &before_[0]);
    ::sigaction(SIGTERM, &action, &before_[1]);
  }
  ~SignalFlag() {
    ::sigaction(SIGINT, &before_[0], nullptr);
    ::sigaction(SIGTERM, &before_[1], nullptr);
  }
  SignalFlag(const SignalFlag&) = delete;
  SignalFlag& operator=(const SignalFlag&) = delete;

  const std::atomic<bool>* flag() const { return &raised_; }

 private:
  static inline std::atomic<bool> raised_ = false;
  struct sigaction before_[2]{};
};

}  // namespace assay
