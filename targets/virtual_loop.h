// VirtualLoop: a Loop in virtual time: nothing waits, the next event is always now. For tests, and
// for everything that runs against simulated nodes.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "targets/loop.h"

namespace assay {

class VirtualLoop : public Loop {
 public:
  Nanos now() const override { return now_; }
  void at(Nanos time, std::function<void()> fn) override {
    queue_.emplace(std::pair(time < now_ ? now_ : time, serial_++), std::move(fn));
  }
  void post(std::function<void()> fn) override { at(now_, std::move(fn)); }

  // Runs the next event; false when there is none.
  bool step() {
    if (queue_.empty()) return false;
    auto event = queue_.extract(queue_.begin());
    now_ = event.key().first;
    event.mapped()();
    return true;
  }
  // Until nothing is left, or until the time has come.
  void run(Nanos until = kNever) {
    while (!queue_.empty() && queue_.begin()->first.first <= until) step();
    if (until != kNever && now_ < until) now_ = until;
  }

 private:
  Nanos now_{};
  uint64_t serial_ = 0;
  std::map<std::pair<Nanos, uint64_t>, std::function<void()>> queue_;
};

}  // namespace assay
