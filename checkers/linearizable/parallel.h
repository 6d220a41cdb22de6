// Work on numbered items by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::linearizable {

// Calls fn(i) once for each i below count, in that order as far as there are threads: `jobs` of
// them, the caller's among them. Returns when all are done. fn may be called by any of them at once;
// what it throws ends the work and is thrown to the caller, the first of them.
template <typename Fn>
void in_parallel(size_t count, int jobs, const Fn& fn) {
  std::atomic<size_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  auto work = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) fn(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  const size_t wanted = std::clamp<size_t>(count, 1, static_cast<size_t>(std::max(1, jobs)));
  for (size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace assay::linearizable
