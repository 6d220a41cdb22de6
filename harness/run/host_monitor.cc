#include "harness/run/host_monitor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "checkers/history/vocabulary.h"

namespace assay {
namespace {

constexpr Nanos kTick = milliseconds(20);
constexpr Nanos kReport = seconds(1);
constexpr Nanos kStallWorthALine = milliseconds(100);  // reported at once, so that its end is exact
constexpr std::chrono::seconds kFsyncEvery{5};

// USER_HZ ticks stolen from all CPUs since boot; 0 where the kernel does not say.
int64_t stolen_ticks() {
  std::ifstream stat("/proc/stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line);
  std::string name;
  int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  fields >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return steal;
}

}  // namespace

// Writes and syncs one small file every few seconds, in a thread of its own.
struct HostMonitor::Fsync {
  explicit Fsync(std::string folder) : path(std::move(folder) + "/.fsync-probe") {
    thread = std::thread([this] { run(); });
  }
  ~Fsync() {
    {
      std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    thread.join();
    ::unlink(path.c_str());
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!ending) {
      lock.unlock();
      measure();
      lock.lock();
      wake.wait_for(lock, kFsyncEvery, [this] { return ending; });
    }
  }

  void measure() {
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) return;
    const auto before = std::chrono::steady_clock::now();
    const bool done = ::pwrite(fd, "probe", 5, 0) == 5 && ::fsync(fd) == 0;
    const auto after = std::chrono::steady_clock::now();
    ::close(fd);
    if (done) last = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
  }

  std::string path;
  std::atomic<int64_t> last{-1};
  std::mutex mutex;
  std::condition_variable wake;
  bool ending = false;
  std::thread thread;
};

HostMonitor::HostMonitor(Loop& loop, Recorder& recorder, std::string folder)
    : loop_(loop), recorder_(recorder), fsync_(std::make_unique<Fsync>(std::move(folder))) {}

HostMonitor::~HostMonitor() { *alive_ = false; }

void HostMonitor::start() {
  running_ = true;
  last_tick_ = last_report_ = loop_.now();
  stolen_ticks_ = stolen_ticks();
  tick();
}

void HostMonitor::stop() {
  if (!running_) return;
  running_ = false;
  report();
}

void HostMonitor::tick() {
  if (!running_) return;
  const Nanos now = loop_.now();
  const Nanos gap = std::max(Nanos{}, now - last_tick_ - kTick);
  last_tick_ = now;
  stall_ = std::max(stall_, gap);
  if (gap >= kStallWorthALine || now - last_report_ >= kReport) report();
  loop_.at(now + kTick, [this, alive = alive_] {
    if (*alive) tick();
  });
}

void HostMonitor::report() {
  const int64_t stolen = stolen_ticks();
  const int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  Value::Object value;
  value.emplace_back(Symbol("stall"), Value(stall_.count));
  value.emplace_back(Symbol("steal"), Value((stolen - stolen_ticks_) * tick_ns));
  if (fsync_->last >= 0) value.emplace_back(Symbol("fsync"), Value(fsync_->last.load()));
  recorder_.observe(f::host, Value::object(std::move(value)));
  stolen_ticks_ = stolen;
  stall_ = Nanos{};
  last_report_ = loop_.now();
}

}  // namespace assay
