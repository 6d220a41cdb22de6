#include "targets/node/agent/tails.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

// For what inotify does not tell: files that appear, network file systems, no inotify at all.
constexpr Nanos kLookAgain = milliseconds(200);

}  // namespace

Tails::Tails(PollLoop& loop, std::function<void(nlohmann::json)> emit, std::function<bool()> room)
    : loop_(loop), emit_(std::move(emit)), room_(std::move(room)) {
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ >= 0) {
    loop_.watch(inotify_, POLLIN, [this] {
      alignas(inotify_event) char buffer[4'096];
      while (read(inotify_, buffer, sizeof buffer) > 0) {
      }
      pump();
    });
  }
  look_again();
}

Tails::~Tails() {
  if (inotify_ < 0) return;
  loop_.unwatch(inotify_);
  close(inotify_);
}

void Tails::look_again() {
  loop_.after(kLookAgain, [this] {
    pump();
    look_again();
  });
}

void Tails::add(const std::string& name, const std::string& path, int64_t offset) {
  remove(name);
  Tail& tail = tails_[name];
  tail.path = path;
  tail.offset = offset;
  pump(name, tail);
}

void Tails::remove(const std::string& name) {
  const auto it = tails_.find(name);
  if (it == tails_.end()) return;
  if (it->second.watch >= 0) inotify_rm_watch(inotify_, it->second.watch);
  tails_.erase(it);
}

void Tails::pump() {
  for (auto& [name, tail] : tails_) pump(name, tail);
}

void Tails::finish() {
  for (auto& [name, tail] : tails_) {
    pump(name, tail);
    if (!tail.partial.empty()) send(name, tail);
  }
}

void Tails::pump(const std::string& name, Tail& tail) {
  const int fd = open(tail.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  if (struct stat kind{}; fstat(fd, &kind) != 0 || !S_ISREG(kind.st_mode)) {
    close(fd);  // a device may never end
    return;
  }
  if (tail.watch < 0 && inotify_ >= 0) {
    tail.watch = inotify_add_watch(inotify_, tail.path.c_str(), IN_MODIFY);
  }
  struct stat info {};
  if (fstat(fd, &info) == 0 && info.st_size < tail.offset) {
    tail.offset = 0;
    tail.partial.clear();
  }
  char buffer[65'536];
  while (room_()) {
    const ssize_t n = pread(fd, buffer, sizeof buffer, tail.offset);
    if (n <= 0) break;
    tail.offset += n;
    take(name, tail, {buffer, static_cast<size_t>(n)});
  }
  close(fd);
}

void Tails::take(const std::string& name, Tail& tail, std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const size_t kept = std::min(piece.size(), kMaxLogLineBytes - tail.partial.size());
    tail.partial += piece.substr(0, kept);
    tail.too_long |= kept < piece.size();
    if (end == std::string_view::npos) return;
    send(name, tail);
    bytes.remove_prefix(end + 1);
  }
}

void Tails::send(const std::string& name, Tail& tail) {
  nlohmann::json event = {
      {"event", "log"}, {"tail", name}, {"seq", ++tail.seq}, {"line", tail.partial}};
  if (tail.too_long) event["cut"] = true;
  tail.partial.clear();
  tail.too_long = false;
  emit_(std::move(event));
}

}  // namespace assay::agent
