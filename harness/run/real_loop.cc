#include "harness/run/real_loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <queue>
#include <vector>

namespace assay {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

struct Timer {
  Nanos time;
  uint64_t serial;  // timers of one time run in the order in which they were set
  std::function<void()> fn;
  bool operator<(const Timer& other) const {
    return std::pair(other.time, other.serial) < std::pair(time, serial);
  }
};

}  // namespace

struct RealLoop::State {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer alarm{context};
  asio::signal_set signals{context};
  std::function<void(int)> on_signal;
  std::priority_queue<Timer> timers;
  Nanos armed = kNever;
  uint64_t serial = 0;
  Clock::time_point start = Clock::now();

  Nanos now() const {
    return Nanos{
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()};
  }

  void arm() {
    if (timers.empty() || timers.top().time >= armed) return;
    armed = timers.top().time;
    alarm.expires_at(start + std::chrono::nanoseconds(armed.count));
    alarm.async_wait([this](const boost::system::error_code& error) {
      if (!error) ring();
    });
  }

  void ring() {
    armed = kNever;
    const Nanos until = now();
    while (!timers.empty() && timers.top().time <= until) {
      auto fn = std::move(const_cast<Timer&>(timers.top()).fn);  // popped next
      timers.pop();
      fn();
    }
    arm();
  }

  void wait_signal() {
    signals.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      wait_signal();
      on_signal(number);
    });
  }
};

RealLoop::RealLoop() : state_(std::make_unique<State>()) {}
RealLoop::~RealLoop() = default;

Nanos RealLoop::now() const { return state_->now(); }

void RealLoop::at(Nanos time, std::function<void()> fn) {
  state_->timers.push({time, state_->serial++, std::move(fn)});
  state_->arm();
}

void RealLoop::post(std::function<void()> fn) { asio::post(state_->context, std::move(fn)); }

void RealLoop::on_signal(std::function<void(int)> fn) {
  state_->on_signal = std::move(fn);
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  state_->wait_signal();
}

void RealLoop::run() {
  state_->context.restart();
  state_->context.run();
}
bool RealLoop::run_until(const std::function<bool()>& is_so, Nanos limit) {
  while (!is_so()) {
    const Nanos left = limit - now();
    if (left <= Nanos{}) return false;
    state_->context.restart();
    state_->context.run_one_for(std::chrono::nanoseconds(left.count));
  }
  return true;
}
void RealLoop::stop() { state_->context.stop(); }
asio::io_context& RealLoop::context() { return state_->context; }

}  // namespace assay
