#include "targets/raft/server/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace assay::raft {
namespace {

constexpr char kFile[] = "/member";

std::string failed(const std::string& what, const std::string& path) {
  return "cannot " + what + " " + path + ": " + std::strerror(errno);
}

// Makes the folder and those above it.
bool make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      struct stat status;
      if (::stat(part.c_str(), &status) != 0) return false;
    }
    if (slash == std::string::npos) return true;
  }
}

}  // namespace

std::unique_ptr<DataFolder> DataFolder::open(const std::string& path, const std::string& node,
                                             uint64_t cluster, std::string& error) {
  if (!make_folders(path)) {
    error = failed("make the folder", path);
    return nullptr;
  }
  const std::string file = path + kFile;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    error = failed("write to the folder", path);
    return nullptr;
  }
  std::unique_ptr<DataFolder> folder(new DataFolder(path, fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    error = "the folder " + path + " is in use by another process";
    return nullptr;
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(cluster));
  const std::string mine = "assay-raft 1 " + node + ' ' + hex + '\n';
  char buffer[512];
  const ssize_t size = ::pread(fd, buffer, sizeof buffer, 0);
  const std::string found(buffer, size > 0 ? static_cast<size_t>(size) : 0);
  if (found == mine) return folder;
  // A start that was killed leaves a part of the line behind, and has written no log yet.
  if (!mine.starts_with(found)) {
    error = "the folder " + path +
            " belongs to another node or cluster: " + found.substr(0, found.find('\n'));
    return nullptr;
  }
  if (::pwrite(fd, mine.data(), mine.size(), 0) != static_cast<ssize_t>(mine.size()) ||
      ::fsync(fd) != 0) {
    error = failed("write to the folder", path);
    return nullptr;
  }
  return folder;
}

DataFolder::~DataFolder() { ::close(fd_); }

}  // namespace assay::raft
