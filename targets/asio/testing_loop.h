// TestingLoop: an AsioLoop for tests: runs its callbacks until what is waited for has happened.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "targets/asio/asio_loop.h"

namespace assay {

class TestingLoop : public AsioLoop {
 public:
  Nanos now() const override {
    return Nanos{std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count()};
  }
  void at(Nanos time, std::function<void()> fn) override {
    auto timer = std::make_shared<boost::asio::steady_timer>(context_);
    timer->expires_at(start_ + std::chrono::nanoseconds(time.count));
    timer->async_wait([timer, fn = std::move(fn)](const boost::system::error_code&) { fn(); });
  }
  void post(std::function<void()> fn) override { boost::asio::post(context_, std::move(fn)); }
  boost::asio::io_context& context() override { return context_; }

  // True when the condition came to hold in time.
  template <typename Condition>
  bool run_until(Condition holds, std::chrono::milliseconds within = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (!holds()) {
      context_.restart();
      if (std::chrono::steady_clock::now() >= deadline) return false;
      context_.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  void run_for(std::chrono::milliseconds time) {
    context_.restart();
    context_.run_for(time);
  }

 private:
  boost::asio::io_context context_{1};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay
