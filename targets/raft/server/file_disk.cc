#include "targets/raft/server/file_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace assay::raft {
namespace {

std::string failed(const char* what, const std::string& path) {
  return std::string("cannot ") + what + ' ' + path + ": " + std::strerror(errno);
}

// A descriptor that closes itself.
class File {
 public:
  File() = default;
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

// The thread and its queue. Only the thread touches the files.
struct FileDisk::Writer {
  struct Batch {
    std::vector<DiskOp> ops;
    std::function<void(const std::string&)> done;
  };

  Writer(std::string f, Post p, bool s) : folder(std::move(f)), post(std::move(p)), syncs(s) {
    thread = std::thread([this] { run(); });
  }
  ~Writer() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_one();
    thread.join();
  }

  void submit(Batch batch) {
    {
      const std::lock_guard lock(mutex);
      queue.push_back(std::move(batch));
    }
    wake.notify_one();
  }

  // What is known of the files' sizes; from any thread.
  void grow(const std::string& name, size_t by) {
    const std::lock_guard lock(sizes_mutex);
    sizes[name] += by;
    bytes += by;
  }
  void forget(const std::string& name) {
    const std::lock_guard lock(sizes_mutex);
    const auto size = sizes.find(name);
    if (size == sizes.end()) return;
    bytes -= size->second;
    sizes.erase(size);
  }
  void rename(const std::string& from, const std::string& to) {
    forget(to);
    const std::lock_guard lock(sizes_mutex);
    if (auto size = sizes.extract(from)) {
      size.key() = to;
      sizes.insert(std::move(size));
    }
  }

  const std::string folder;
  const Post post;
  const bool syncs;
  std::atomic<uint64_t> bytes{0};

 private:
  void run() {
    bool healthy = true;
    while (true) {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return stop || !queue.empty(); });
      if (stop) return;
      Batch batch = std::move(queue.front());
      queue.erase(queue.begin());
      lock.unlock();
      if (!healthy) continue;  // after a failure nothing is done or said, ever
      const std::string error = perform(batch.ops);
      healthy = error.empty();
      post([done = std::move(batch.done), error] { done(error); });
    }
  }

  std::string perform(const std::vector<DiskOp>& ops) {
    for (const DiskOp& op : ops) {
      if (std::string error = perform(op); !error.empty()) return error;
    }
    return "";
  }

  std::string perform(const DiskOp& op) {
    switch (op.kind) {
      case DiskOp::Kind::kCreate:
        return open(op.file, O_CREAT | O_EXCL);
      case DiskOp::Kind::kAppend:
        if (std::string error = open(op.file, 0); !error.empty()) return error;
        if (!write_all(file.fd(), op.bytes)) return failed("write to", path_of(op.file));
        grow(op.file, op.bytes.size());
        return "";
      case DiskOp::Kind::kSync:
        if (std::string error = open(op.file, 0); !error.empty()) return error;
        if (!syncs) return "";
        return ::fdatasync(file.fd()) == 0 ? "" : failed("sync", path_of(op.file));
      case DiskOp::Kind::kSyncDirectory:
        if (!directory.ok()) directory = File(folder, O_RDONLY | O_DIRECTORY);
        return directory.ok() && ::fsync(directory.fd()) == 0 ? "" : failed("sync", folder);
      case DiskOp::Kind::kRename:
        close(op.file);
        close(op.bytes);
        if (::rename(path_of(op.file).c_str(), path_of(op.bytes).c_str()) != 0) {
          return failed("rename", path_of(op.file));
        }
        rename(op.file, op.bytes);
        return "";
      case DiskOp::Kind::kRemove:
        close(op.file);
        if (::unlink(path_of(op.file).c_str()) != 0 && errno != ENOENT) {
          return failed("remove", path_of(op.file));
        }
        forget(op.file);
        return "";
    }
    return "an operation that is not known";
  }

  // Opens a file for appending unless it is the one that is open.
  std::string open(const std::string& name, int flags) {
    if (flags == 0 && file.ok() && name == open_name) return "";
    file = File(path_of(name), O_WRONLY | O_APPEND | flags);
    open_name = name;
    return file.ok() ? "" : failed("open", path_of(name));
  }

  void close(const std::string& name) {
    if (name != open_name) return;
    file = File();
    open_name.clear();
  }

  std::string path_of(const std::string& name) const { return folder + '/' + name; }

  std::mutex sizes_mutex;
  std::map<std::string, uint64_t> sizes;  // guarded by sizes_mutex

  std::string open_name;
  File file;
  File directory;

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Batch> queue;  // guarded by mutex
  bool stop = false;         // guarded by mutex
  std::thread thread;
};

FileDisk::FileDisk(std::string folder, Post post, bool syncs)
    : folder_(folder),
      writer_(std::make_unique<Writer>(std::move(folder), std::move(post), syncs)) {}

FileDisk::~FileDisk() = default;

void FileDisk::submit(std::vector<DiskOp> ops, std::function<void(const std::string&)> done) {
  writer_->submit({std::move(ops), std::move(done)});
}

uint64_t FileDisk::bytes() const { return writer_->bytes; }

std::string FileDisk::list(std::vector<std::string>& names) {
  DIR* directory = ::opendir(folder_.c_str());
  if (directory == nullptr) return failed("list", folder_);
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    errno = 0;
  }
  const std::string error = errno == 0 ? "" : failed("list", folder_);
  ::closedir(directory);
  return error;
}

std::string FileDisk::read(const std::string& file, std::string& bytes) {
  const std::string path = folder_ + '/' + file;
  const File opened(path, O_RDONLY);
  struct stat status;
  if (!opened.ok() || ::fstat(opened.fd(), &status) != 0) return failed("read", path);
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(opened.fd(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  writer_->forget(file);
  writer_->grow(file, done);
  return "";
}

std::string FileDisk::truncate(const std::string& file, uint64_t size) {
  const std::string path = folder_ + '/' + file;
  return ::truncate(path.c_str(), static_cast<off_t>(size)) == 0 ? "" : failed("cut", path);
}

std::string FileDisk::remove(const std::string& file) {
  const std::string path = folder_ + '/' + file;
  if (::unlink(path.c_str()) != 0) return failed("remove", path);
  writer_->forget(file);
  return "";
}

std::string FileDisk::sync(const std::string& file) {
  const std::string path = folder_ + '/' + file;
  const File opened(path, O_RDONLY);
  return opened.ok() && ::fsync(opened.fd()) == 0 ? "" : failed("sync", path);
}

std::string FileDisk::sync_directory() {
  const File opened(folder_, O_RDONLY | O_DIRECTORY);
  return opened.ok() && ::fsync(opened.fd()) == 0 ? "" : failed("sync", folder_);
}

}  // namespace assay::raft
