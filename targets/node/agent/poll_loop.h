// PollLoop: the agent's one thread: descriptors, timers, and conditions that are waited for.
//
// Callbacks run inside run_once, one after another, and may watch, unwatch and add at will.
#pragma once

#include <functional>
#include <list>
#include <map>

#include "checkers/history/time.h"

namespace assay::agent {

class PollLoop {
 public:
  Nanos now() const;  // CLOCK_MONOTONIC

  // `events` as for poll(2); one watch per descriptor, a second one replaces the first.
  void watch(int fd, short events, std::function<void()> ready);
  void unwatch(int fd);

  void after(Nanos delay, std::function<void()> fn);

  // Asks for `condition` now and again until it holds (done(true)) or the time is up (done(false)).
  // A condition may keep state; it is asked every 1 to 16 ms, and at once after recheck().
  void until(std::function<bool()> condition, Nanos patience, std::function<void(bool)> done);
  void recheck();

  // Waits for the next thing that is due, at most `longest`, and runs what is due.
  void run_once(Nanos longest);

 private:
  struct Watch {
    short events;
    std::function<void()> ready;
  };
  struct Wait {
    std::function<bool()> condition;
    std::function<void(bool)> done;
    Nanos deadline, next, step;
  };

  Nanos next_due(Nanos latest) const;
  void run_timers();
  void run_waits();

  std::map<int, Watch> watches_;
  std::multimap<Nanos, std::function<void()>> timers_;
  std::list<Wait> waits_;
};

}  // namespace assay::agent
