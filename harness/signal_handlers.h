// A handler of SIGINT and SIGTERM, while it lives; those that were there before come back with its
// end. One at a time in a process, or one inside another.
#pragma once

#include <signal.h>

namespace assay {

class SignalHandlers {
 public:
  using Handler = void (*)(int);

  explicit SignalHandlers(Handler handler) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(SIGINT, &action, &before_[0]);
    ::sigaction(SIGTERM, &action, &before_[1]);
  }
  ~SignalHandlers() {
    ::sigaction(SIGINT, &before_[0], nullptr);
    ::sigaction(SIGTERM, &before_[1], nullptr);
  }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  struct sigaction before_[2]{};
};

}  // namespace assay
