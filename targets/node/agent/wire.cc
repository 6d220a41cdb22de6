#include "targets/node/agent/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace assay::agent {

void LineSplitter::feed(std::string_view bytes,
                        const std::function<void(std::string_view)>& on_line,
                        const std::function<void()>& on_too_long) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && partial_.size() + piece.size() > max_) {
      skipping_ = true;
      partial_.clear();
      partial_.shrink_to_fit();
      on_too_long();
    }
    if (end == std::string_view::npos) {
      if (!skipping_) partial_ += piece;
      return;
    }
    bytes.remove_prefix(end + 1);
    if (skipping_) {
      skipping_ = false;
    } else if (partial_.empty()) {
      on_line(piece);
    } else {
      const std::string line = partial_.append(piece);
      partial_.clear();
      on_line(line);
    }
  }
}

NonBlocking::NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
  fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
}
NonBlocking::~NonBlocking() { fcntl(fd_, F_SETFL, flags_); }

void OutQueue::push(std::string_view line) {
  if (broken_) return;
  data_ += line;
  data_ += '\n';
}

void OutQueue::flush() {
  while (!broken_ && start_ < data_.size()) {
    const ssize_t n = write(fd_, data_.data() + start_, data_.size() - start_);
    if (n > 0) {
      start_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  if (broken_ || start_ == data_.size()) {
    data_.clear();
    start_ = 0;
  } else if (start_ > (1u << 16) && start_ > data_.size() / 2) {
    data_.erase(0, start_);
    start_ = 0;
  }
}

bool OutQueue::flush_for(int patience_ms) {
  for (flush(); bytes() > 0; flush()) {
    pollfd fd{fd_, POLLOUT, 0};
    if (poll(&fd, 1, patience_ms) <= 0) return false;
  }
  return !broken_;
}

}  // namespace assay::agent
