#include "targets/node/agent/poll_loop.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace assay::agent {

Nanos PollLoop::now() const {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {t.tv_sec * 1'000'000'000 + t.tv_nsec};
}

void PollLoop::watch(int fd, short events, std::function<void()> ready) {
  watches_[fd] = {events, std::move(ready)};
}

void PollLoop::unwatch(int fd) { watches_.erase(fd); }

void PollLoop::after(Nanos delay, std::function<void()> fn) {
  timers_.emplace(now() + delay, std::move(fn));
}

void PollLoop::until(std::function<bool()> condition, Nanos patience,
                     std::function<void(bool)> done) {
  const Nanos start = now();
  waits_.push_back(
      {std::move(condition), std::move(done), start + patience, start, milliseconds(1)});
}

void PollLoop::recheck() {
  for (Wait& wait : waits_) wait.next = {0};
}

Nanos PollLoop::next_due(Nanos latest) const {
  if (!timers_.empty()) latest = std::min(latest, timers_.begin()->first);
  for (const Wait& wait : waits_) latest = std::min(latest, wait.next);
  return latest;
}

void PollLoop::run_once(Nanos longest) {
  const Nanos start = now();
  const int64_t left = std::max<int64_t>(0, (next_due(start + longest) - start).count);
  std::vector<pollfd> fds;
  for (const auto& [fd, watch] : watches_) fds.push_back({fd, watch.events, 0});
  const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
  if (ppoll(fds.data(), fds.size(), &timeout, nullptr) > 0) {
    for (const pollfd& fd : fds) {
      if (fd.revents == 0) continue;
      const auto it = watches_.find(fd.fd);
      if (it == watches_.end()) continue;
      const auto ready = it->second.ready;  // a copy: it may unwatch itself
      ready();
    }
  }
  run_timers();
  run_waits();
}

void PollLoop::run_timers() {
  const Nanos limit = now();
  while (!timers_.empty() && timers_.begin()->first <= limit) {
    const auto fn = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    fn();
  }
}

void PollLoop::run_waits() {
  // A `done` may add waits: they are asked the next time round.
  std::list<Wait> due;
  const Nanos time = now();
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto next = std::next(it);
    if (it->next <= time) due.splice(due.end(), waits_, it);
    it = next;
  }
  while (!due.empty()) {
    Wait& wait = due.front();
    const bool holds = wait.condition();
    if (holds || now() >= wait.deadline) {
      const auto done = std::move(wait.done);
      due.pop_front();
      done(holds);
      continue;
    }
    wait.next = now() + wait.step;
    wait.step = std::min(wait.step * 2, milliseconds(16));
    waits_.splice(waits_.end(), due, due.begin());
  }
}

}  // namespace assay::agent
