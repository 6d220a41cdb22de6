// RealLoop: the Loop of real runs: one Asio io_context, one thread (the caller of run()).
#pragma once

#include <memory>

#include "targets/asio/asio_loop.h"

namespace assay {

class RealLoop : public AsioLoop {
 public:
  RealLoop();
  ~RealLoop() override;

  Nanos now() const override;  // CLOCK_MONOTONIC since construction
  void at(Nanos time, std::function<void()> fn) override;
  void post(std::function<void()> fn) override;

  // Calls fn for each SIGINT and SIGTERM from now on, on the loop.
  void on_signal(std::function<void(int)> fn);
  // Runs callbacks until stop(). What is queued then is never run.
  void run();
  // Runs callbacks until it is so, asked after each of them; false when the time has come first.
  bool run_until(const std::function<bool()>& is_so, Nanos limit);
  void stop();
  boost::asio::io_context& context() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
