#include "checkers/history/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace assay {
namespace {

std::string cannot_write(const std::string& path) {
  return "cannot write " + (path == "-" ? "standard output" : path) + ": " + std::strerror(errno);
}

// A new file: what stands there already is somebody's.
int open_part(const std::string& path, std::string& part) {
  for (const std::string& middle : {std::string(), "." + std::to_string(::getpid())}) {
    part = path + middle + ".part";
    const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path) {
  std::string part;
  int fd = STDOUT_FILENO;
  struct stat status {};
  if (path.empty()) {
    return input_error("cannot write to a file without a name");
  } else if (path != "-" && ::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (path != "-") {
    fd = open_part(path, part);
  }
  if (fd < 0) return input_error(cannot_write(path));
  return std::unique_ptr<OutputFile>(new OutputFile(path, std::move(part), fd));
}

OutputFile::~OutputFile() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

Error OutputFile::failed() {
  has_failed_ = true;
  return environment_error(cannot_write(path_));
}

Result<void> OutputFile::write(std::string_view bytes) {
  // What a link leads to; nothing happens to a pipe or a device.
  if (std::exchange(is_empty_, false) && part_.empty() && path_ != "-" &&
      ::ftruncate(fd_, 0) != 0 && errno != EINVAL)
    return failed();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<void> OutputFile::close() {
  if (path_ == "-") return {};
  const int fd = std::exchange(fd_, -1);
  const bool kept = part_.empty() || ::fsync(fd) == 0;
  if ((::close(fd) != 0 && errno != EINTR) || !kept) return failed();
  if (part_.empty() || has_failed_) return {};
  if (::rename(part_.c_str(), path_.c_str()) != 0) return failed();
  part_.clear();
  return {};
}

}  // namespace assay
