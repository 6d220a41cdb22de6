// HostMonitor: how the machine that runs the driver fared: gaps in the driver's own scheduling,
// CPU time stolen by the hypervisor, and how long one fsync takes. A progress that is missing
// while the host itself stood still says nothing about a store.
//
// On the Loop's thread, but for the fsync, which has a thread of its own.
#pragma once

#include <memory>
#include <string>

#include "harness/run/recorder.h"

namespace assay {

class HostMonitor {
 public:
  // The fsync is of a small file in this folder.
  HostMonitor(Loop& loop, Recorder& recorder, std::string folder);
  ~HostMonitor();
  void start();
  void stop();

 private:
  struct Fsync;
  void tick();
  void report();

  Loop& loop_;
  Recorder& recorder_;
  std::unique_ptr<Fsync> fsync_;
  Nanos last_tick_{};
  Nanos last_report_{};
  Nanos stall_{};  // the longest gap since the last report
  int64_t stolen_ticks_ = 0;
  bool running_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay
