// A clock that a fault can skew while its process runs: the file that the environment variable
// ASSAY_CLOCK_FILE names is mapped, and what it says is added to the machine's clocks. Without that
// variable they are the machine's. Shared by daemons that read it and the agent that writes it.
//
// As a machine has it: a jump moves the wall clock alone; a drift moves both and changes how long
// a span lasts. The steady clock never goes back. Any thread may ask.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace assay {

inline constexpr char kClockVariable[] = "ASSAY_CLOCK_FILE";

// What the file holds. Offsets in ns.
struct ClockFile {
  std::atomic<int64_t> wall_offset, steady_offset;
  std::atomic<int64_t> gain_permille;  // of each second so many ms are gained
  std::atomic<int64_t> seen_wall;      // written by the daemon: its wall clock, ns since 1970

  // nullptr where it cannot be mapped. Never unmapped.
  static ClockFile* map(const char* path) {
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    struct stat info {};
    void* at = MAP_FAILED;
    if (::fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(sizeof(ClockFile)))
      at = ::mmap(nullptr, sizeof(ClockFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<ClockFile*>(at);
  }
};
static_assert(std::atomic<int64_t>::is_always_lock_free && sizeof(ClockFile) == 32);

class SkewedClock {
 public:
  using Steady = std::chrono::steady_clock;
  using Wall = std::chrono::system_clock;
  using Span = std::chrono::nanoseconds;

  // The process's one.
  static SkewedClock& instance() {
    static SkewedClock clock;
    return clock;
  }

  Wall::time_point wall_now() const {
    return Wall::now() + Span(file_ ? file_->wall_offset.load() : 0);
  }
  Steady::time_point steady_now() {
    const auto real = Steady::now();
    if (file_ == nullptr) return real;
    const int64_t now = (real.time_since_epoch() + Span(file_->steady_offset.load())).count();
    int64_t last = last_.load();
    while (now > last && !last_.compare_exchange_weak(last, now)) {
    }
    return Steady::time_point(Span(now > last ? now : last));
  }
  // When the machine's steady clock is there, this one will be at `time`, if its drift stays.
  Steady::time_point real_time_of(Steady::time_point time) {
    const auto left = time - steady_now();
    if (file_ == nullptr || left <= Span::zero()) return Steady::now() + left;
    return Steady::now() + left * 1000 / (1000 + file_->gain_permille.load());
  }
  // Shows whoever looks into the file what this process takes the time for.
  void show() const {
    if (file_) file_->seen_wall = Span(wall_now().time_since_epoch()).count();
  }

 private:
  SkewedClock() {
    if (const char* path = ::getenv(kClockVariable)) file_ = ClockFile::map(path);
  }

  ClockFile* file_ = nullptr;
  std::atomic<int64_t> last_{INT64_MIN};
};

}  // namespace assay
