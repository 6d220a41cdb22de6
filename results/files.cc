#include "results/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace assay {
namespace {

std::string cause(int error) { return std::generic_category().message(error); }

Error cannot_write(const std::string& path, int error) {
  return environment_error("cannot write " + path + ": " + cause(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int close() {  // 0 or errno: some file systems report a full disk only here
    const int fd = std::exchange(fd_, -1);
    return ::close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

int write_all(int fd, std::string_view text) {  // 0 or errno
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int write_new_file(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return errno;
  if (int error = write_all(file.get(), text)) return error;
  if (::fsync(file.get()) != 0) return errno;
  return file.close();
}

// Beside the path (a rename does not cross file systems), and no other writer's.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path p(path);
  std::string name = ".";
  name.append(p.filename().string()).append(".tmp.").append(std::to_string(::getpid()));
  name.append(".").append(std::to_string(counter++));
  return (p.parent_path() / name).string();
}

bool last_line_is_cut_off(int fd) {
  struct stat status {};
  char last = '\n';
  if (::fstat(fd, &status) != 0 || status.st_size == 0) return false;
  return ::pread(fd, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  // A device, a pipe, a link: what it names is written to, never replaced.
  struct stat named {};
  if (::lstat(path.c_str(), &named) == 0 && !S_ISREG(named.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    int error = file.get() < 0 ? errno : write_all(file.get(), text);
    if (error == 0) error = file.close();
    if (error == 0) return {};
    return environment_error("cannot write " + path + ": " + cause(error));
  }
  const std::string temporary = temporary_name(path);
  int error = write_new_file(temporary, text);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return cannot_write(path, error);
}

Result<void> append_file_line(const std::string& path, std::string_view line) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0) return cannot_write(path, errno);
  // Held until close: else another's line that is only half there looks cut off.
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return cannot_write(path, errno);
  }
  std::string text = last_line_is_cut_off(file.get()) ? "\n" : "";
  text.append(line).append("\n");
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return cannot_write(path, errno);
  if (static_cast<size_t>(written) != text.size()) return cannot_write(path, ENOSPC);
  if (int error = file.close()) return cannot_write(path, error);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  const auto failed = [&](int error) {
    return input_error("cannot read " + path + ": " + cause(error));
  };
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return failed(errno);
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

Result<void> make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) return environment_error("cannot make folder " + path + ": " + error.message());
  return {};
}

Result<std::string> make_new_folder(const std::string& wanted) {
  constexpr int kSameNameMax = 10'000;
  if (auto made = make_folders(std::filesystem::path(wanted).parent_path()); !made) return made.error();
  std::string path = wanted;
  for (int n = 2; ::mkdir(path.c_str(), 0755) != 0; ++n) {
    if (errno != EEXIST || n > kSameNameMax)
      return environment_error("cannot make folder " + path + ": " + cause(errno));
    path = wanted + "-" + std::to_string(n);
  }
  return path;
}

Result<FolderLock> FolderLock::take(const std::string& folder) {
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.fd_ < 0) return input_error("cannot read " + folder + ": " + cause(errno));
  if (::flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return input_error(folder + ": another assay is at work in it");
  return environment_error("cannot lock " + folder + ": " + cause(errno));
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> point_link(const std::string& link, const std::string& target) {
  const std::string temporary = temporary_name(link);
  int error = ::symlink(target.c_str(), temporary.c_str()) == 0 ? 0 : errno;
  if (error == 0 && ::rename(temporary.c_str(), link.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return environment_error("cannot point " + link + " to " + target + ": " + cause(error));
}

}  // namespace assay
