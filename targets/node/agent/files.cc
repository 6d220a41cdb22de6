#include "targets/node/agent/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

// Plain POSIX: <filesystem> and <sstream> would double the size of the program.
namespace assay::agent {
namespace {

Error file_error(const std::string& path, const std::string& why) {
  return environment_error(path + ": " + why);
}

int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// The path with links resolved as far as it exists; what does not exist yet has no "..".
Result<std::string> canonical(const std::string& path) {
  std::string there = path, rest;
  char resolved[PATH_MAX];
  while (realpath(there.c_str(), resolved) == nullptr) {
    if (errno != ENOENT) return file_error(path, strerror(errno));
    while (there.size() > 1 && there.back() == '/') there.pop_back();
    const size_t slash = there.rfind('/');
    if (slash == std::string::npos || there.size() == 1)
      return file_error(path, "not an absolute path");
    const std::string name = there.substr(slash + 1);
    if (name == "..") return file_error(path, "\"..\" below a folder that is not there");
    if (name != ".") rest = "/" + name + rest;
    there.erase(std::max<size_t>(slash, 1));
  }
  const std::string base = resolved;
  return (base == "/" && !rest.empty() ? "" : base) + rest;
}

// The path as above; an error where it leaves `root`.
Result<std::string> inside(const std::string& root, const std::string& path) {
  if (root.empty()) return environment_error("this agent has no data folder (--data)");
  const auto base = canonical(root);
  if (!base) return base.error();
  auto full = canonical(path.starts_with('/') ? path : root + "/" + path);
  if (!full) return full.error();
  if (*full == *base || full->starts_with(*base + "/")) return full;
  return file_error(path, "outside of the agent's data folder " + root);
}

// What lies in `path`, appended with `prefix` before its names, and what lies below.
void list_into(const std::string& path, const std::string& prefix, size_t max_entries,
               Listing& out) {
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    struct stat info {};
    if (name == "." || name == ".." || lstat((path + "/" + name).c_str(), &info) != 0) continue;
    if ((out.cut = out.entries.size() >= max_entries)) break;
    const bool is_folder = S_ISDIR(info.st_mode), is_file = S_ISREG(info.st_mode);
    out.entries.push_back({prefix + name,
                           is_folder ? "folder"
                           : is_file ? "file"
                                     : "other",
                           is_file ? int64_t{info.st_size} : 0});
    if (is_folder) list_into(path + "/" + name, prefix + name + "/", max_entries, out);
    if (out.cut) break;
  }
  closedir(dir);
}

}  // namespace

Result<FileChunk> read_chunk(const std::string& path, int64_t offset, size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, strerror(errno));
  struct stat info {};
  FileChunk chunk;
  std::string why;
  if (fstat(fd, &info) != 0)
    why = strerror(errno);
  else if (!S_ISREG(info.st_mode))
    why = "not a regular file";
  else {
    chunk.size = info.st_size;
    chunk.data.resize(max_bytes);
    const ssize_t n = pread(fd, chunk.data.data(), max_bytes, offset);
    if (n < 0) why = strerror(errno);
    chunk.data.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    chunk.eof = offset + n >= chunk.size;
  }
  close(fd);
  if (!why.empty()) return file_error(path, why);
  return chunk;
}

Result<Listing> list_folder(const std::string& path, size_t max_entries) {
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return file_error(path, strerror(errno));
  closedir(dir);
  Listing listing;
  list_into(path, "", max_entries, listing);
  return listing;
}

Result<void> make_folder(const std::string& root, const std::string& path) {
  const auto full = inside(root, path);
  if (!full) return full.error();
  for (size_t end = 1; end != std::string::npos;) {
    end = full->find('/', end + 1);
    const std::string folder = full->substr(0, end);
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      return file_error(folder, strerror(errno));
  }
  struct stat info {};
  if (stat(full->c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return file_error(path, "not a folder");
  return {};
}

Result<void> remove_folder(const std::string& root, const std::string& path) {
  const auto full = inside(root, path);
  if (!full) return full.error();
  const auto remove_one = [](const char* file, const struct stat*, int, FTW*) {
    return remove(file);
  };
  if (nftw(full->c_str(), remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
    return file_error(path, strerror(errno));
  }
  return {};
}

Result<int64_t> time_fsync(const std::string& folder, size_t bytes) {
  const std::string path = folder + "/.assay-fsync-" + std::to_string(getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return file_error(path, strerror(errno));
  const std::string data(bytes, 'x');
  const int64_t start = now_ns();
  const bool done = write(fd, data.data(), data.size()) == ssize_t(data.size()) && fsync(fd) == 0;
  const int64_t took = now_ns() - start;
  const int error = errno;
  close(fd);
  unlink(path.c_str());
  if (!done) return file_error(path, strerror(error));
  return took;
}

}  // namespace assay::agent
