#include "checkers/history/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~FileSource() override {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  Result<size_t> read(char* to, size_t size) override {
    ssize_t n;
    do {
      n = ::read(fd_, to, size);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return environment_error("cannot read " + path_ + ": " + std::strerror(errno));
    return static_cast<size_t>(n);
  }

 private:
  int fd_;
  std::string path_;
};

class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : left_(text) {}
  Result<size_t> read(char* to, size_t size) override {
    const size_t n = std::min(size, left_.size());
    std::memcpy(to, left_.data(), n);
    left_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view left_;
};

class PutBackSource : public ByteSource {
 public:
  PutBackSource(std::string taken, std::unique_ptr<ByteSource> rest)
      : taken_(std::move(taken)), rest_(std::move(rest)) {}
  Result<size_t> read(char* to, size_t size) override {
    if (at_ == taken_.size()) return rest_->read(to, size);
    const size_t n = taken_.copy(to, size, at_);
    at_ += n;
    return n;
  }

 private:
  std::string taken_;
  size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

bool is_folder(int fd) {
  struct stat status;
  return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return input_error("cannot open " + path + ": " + std::strerror(errno));
  auto source = std::make_unique<FileSource>(fd, path);
  if (is_folder(fd)) return input_error("cannot read " + path + ": " + std::strerror(EISDIR));
  return std::unique_ptr<ByteSource>(std::move(source));
}

std::unique_ptr<ByteSource> text_source(std::string_view text) {
  return std::make_unique<TextSource>(text);
}

std::unique_ptr<ByteSource> put_back(std::string taken, std::unique_ptr<ByteSource> rest) {
  return std::make_unique<PutBackSource>(std::move(taken), std::move(rest));
}

Result<std::string> read_head(ByteSource& source, size_t most) {
  std::string head(most, '\0');
  size_t used = 0;
  while (used < most) {
    const Result<size_t> n = source.read(head.data() + used, most - used);
    if (!n) return n.error();
    if (*n == 0) break;
    used += *n;
  }
  head.resize(used);
  return head;
}

}  // namespace assay
