// SIGINT and SIGTERM as a flag, while it lives: for work that looks at it between two steps. One at
// a time in a process; the handlers that were there before come back with its end.
#pragma once

#include <atomic>

#include "harness/signal_handlers.h"

namespace assay {

class SignalFlag {
 public:
  SignalFlag() : handlers_(lowered()) {}

  const std::atomic<bool>* flag() const { return &raised_; }

 private:
  static void raise(int) { raised_ = true; }
  // Before the handler is there: no signal is forgotten.
  static SignalHandlers::Handler lowered() {
    raised_ = false;
    return raise;
  }

  static inline std::atomic<bool> raised_ = false;
  SignalHandlers handlers_;
};

}  // namespace assay
