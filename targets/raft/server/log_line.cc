#include "targets/raft/server/log_line.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace assay::raft {
namespace {

std::string& log_name() {
  static std::string name = "assay-raft";
  return name;
}

}  // namespace

void set_log_name(std::string name) { log_name() = std::move(name); }

void log_line(std::string_view text) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char time[32];
  std::snprintf(time, sizeof time, "%02d:%02d:%02d.%03d ", utc.tm_hour, utc.tm_min, utc.tm_sec,
                static_cast<int>(ms % 1000));
  std::string line = time + log_name() + ' ';
  line.append(text).push_back('\n');
  // One write per line: lines of several threads stay whole. A closed standard error is no reason
  // to stop serving.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace assay::raft
