#include "targets/naive/server/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "targets/raft/server/frame.h"
#include "targets/raft/server/log_line.h"
#include "targets/raft/server/server.h"

namespace assay::naive {
namespace {

constexpr size_t kRecordBytesMax = 64 << 20;

std::string read_all(int fd) {
  std::string bytes;
  char buffer[64 * 1024];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<size_t>(count));
  return bytes;
}

[[noreturn]] void fail(const char* what) {
  raft::log_line(std::string("fatal: cannot ") + what + " the journal: " + std::strerror(errno));
  ::_exit(static_cast<int>(raft::ServerExit::kDiskFailed));
}

}  // namespace

std::unique_ptr<Journal> Journal::open(const std::string& path, std::vector<std::string>& records,
                                       std::string& error) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    error = "cannot open " + path + ": " + std::strerror(errno);
    return nullptr;
  }
  const std::string bytes = read_all(fd);
  std::string_view rest = bytes;
  while (true) {
    const raft::Frame frame = raft::first_frame(rest, kRecordBytesMax);
    if (frame.state != raft::Frame::State::kWhole) break;
    records.emplace_back(frame.payload);
    rest.remove_prefix(frame.bytes);
  }
  const uint64_t whole = bytes.size() - rest.size();
  if (!rest.empty()) {
    raft::log_line("the last " + std::to_string(rest.size()) +
                   " bytes of the journal are no record, and were cut off");
    if (::ftruncate(fd, static_cast<off_t>(whole)) != 0) fail("cut");
  }
  return std::unique_ptr<Journal>(new Journal(fd, whole));
}

Journal::~Journal() { ::close(fd_); }

void Journal::append(std::string_view record) {
  std::string frame;
  raft::append_frame(frame, record);
  bytes_ += frame.size();
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write");
    rest.remove_prefix(static_cast<size_t>(written));
  }
  dirty_ = true;
}

void Journal::sync() {
  if (!dirty_) return;
  if (::fdatasync(fd_) != 0) fail("sync");
  dirty_ = false;
}

}  // namespace assay::naive
