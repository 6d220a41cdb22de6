// FailFast: follows a run's history in a thread of its own, and tells the loop of the first anomaly
// that is proven.
//
// The loop's thread only appends copies of lines to a queue. The thread looks at them now and then;
// it never takes more than a small share of one CPU: where it cannot keep up it leaves whole keys
// out.
#pragma once

#include <functional>
#include <memory>

#include "harness/run/follower.h"
#include "targets/loop.h"

namespace assay {

struct FailFastOptions {
  Nanos period = milliseconds(100);  // between two looks, and …
  int rest = 20;                     // … so many times as long as the last one took, at least
  size_t queue_max = 100'000;        // lines; of what is more, the keys are left out
  FollowerOptions follower;
};

class FailFast {
 public:
  // proven is called on the loop, once at most. The loop must outlive it, and whatever proven
  // needs.
  FailFast(HistoryHeader header, Loop& loop, std::function<void(ProvenAnomaly)> proven,
           const FailFastOptions& options = {});
  ~FailFast();  // waits for the thread

  void take(const Op& line);  // of a client
  // Looks no more; does not wait.
  void end();
  size_t left_out() const;  // keys so far

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace assay
