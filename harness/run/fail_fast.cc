#include "harness/run/fail_fast.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace assay {
namespace {

// What this thread has used of the CPU.
Nanos thread_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return Nanos{spent.tv_sec * 1'000'000'000 + spent.tv_nsec};
}

// What no judgement rests on stays behind.
Op slim(const Op& line) {
  Op copy;
  copy.index = line.index;
  copy.time = line.time;
  copy.process = line.process;
  copy.type = line.type;
  copy.f = line.f;
  copy.key = line.key;
  copy.value = line.value;
  copy.node = line.node;
  copy.revision = line.revision;
  copy.at = line.at;
  copy.expected = line.expected;
  if (line.error) copy.error = OpError{line.error->cls, "", line.error->current, {}};
  return copy;
}

}  // namespace

struct FailFast::Shared {
  Shared(HistoryHeader header, Loop& to, std::function<void(ProvenAnomaly)> tell,
         const FailFastOptions& given)
      : loop(to),
        proven(std::move(tell)),
        options(given),
        follower(
            std::move(header), thread_time, [this] { return ended.load(); }, given.follower) {}

  void follow() {
    Nanos rest = options.period;
    while (wait(rest)) {
      const Nanos begin = thread_time();
      take_queue();
      if (auto proof = follower.look()) {
        loop.post([tell = std::move(proven), proof = std::move(*proof)] { tell(proof); });
        end();
        return;
      }
      left_out = follower.left_out();
      rest = std::max(options.period, (thread_time() - begin) * options.rest);
    }
  }

  // False: it is over.
  bool wait(Nanos rest) {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, std::chrono::nanoseconds(rest.count),
                          [this] { return ended.load(); });
  }

  void take_queue() {
    std::vector<Op> lines;
    std::unordered_set<Symbol> gone;
    {
      const std::lock_guard lock(mutex);
      lines.swap(queue);
      gone.swap(lost);
    }
    for (Op& line : lines) follower.take(std::move(line));
    for (Symbol key : gone) follower.lose(key);
  }

  void end() {
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    wake.notify_one();
  }

  Loop& loop;
  std::function<void(ProvenAnomaly)> proven;
  const FailFastOptions options;
  Follower follower;  // the thread's
  std::atomic<bool> ended{false};
  std::atomic<size_t> left_out{0};
  std::mutex mutex;  // of what follows
  std::condition_variable wake;
  std::vector<Op> queue;
  std::unordered_set<Symbol> lost;
  std::thread thread;
};

FailFast::FailFast(HistoryHeader header, Loop& loop, std::function<void(ProvenAnomaly)> proven,
                   const FailFastOptions& options)
    : shared_(std::make_unique<Shared>(std::move(header), loop, std::move(proven), options)) {
  shared_->thread = std::thread([shared = shared_.get()] { shared->follow(); });
}

FailFast::~FailFast() {
  end();
  shared_->thread.join();
}

void FailFast::take(const Op& line) {
  if (shared_->ended) return;
  Op copy = slim(line);
  const std::lock_guard lock(shared_->mutex);
  if (shared_->queue.size() < shared_->options.queue_max) {
    shared_->queue.push_back(std::move(copy));
  } else {
    shared_->lost.insert(line.key);
  }
}

void FailFast::end() { shared_->end(); }
size_t FailFast::left_out() const { return shared_->left_out; }

}  // namespace assay
