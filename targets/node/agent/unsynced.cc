#include "targets/node/agent/unsynced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace assay::agent {
namespace {

constexpr off_t kBlock = 4096;
constexpr off_t kSector = 512;  // what a disk writes whole or not at all

ino_t inode_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}
off_t size_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}
ino_t folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  struct stat info {};
  return stat(slash == std::string::npos ? "." : path.substr(0, slash).c_str(), &info) == 0 ? info.st_ino : 0;
}

void remove_whole(const std::string& path) {
  const auto one = [](const char* file, const struct stat*, int, FTW*) { return ::remove(file); };
  nftw(path.c_str(), one, 16, FTW_DEPTH | FTW_PHYS);
}

// splitmix64: draws that are the same everywhere.
uint64_t mix(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Unsynced::Unsynced(std::string graveyard) : graveyard_(std::move(graveyard)) {
  remove_whole(graveyard_);
  ::mkdir(graveyard_.c_str(), 0700);
}

Unsynced::~Unsynced() {
  for (auto& [inode, file] : files_) ::close(file.fd);
  remove_whole(graveyard_);
}

// The first change since it was durable: what it is now is how it was then.
Unsynced::File& Unsynced::file_of(int fd) {
  auto [at, fresh] = files_.try_emplace(inode_of(fd));
  if (!fresh) return at->second;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  at->second.fd = ::open(path, O_RDWR | O_CLOEXEC);
  at->second.durable_size = size_of(fd);
  return at->second;
}

void Unsynced::save(File& file, off_t from, off_t to) {
  to = std::min(to, file.durable_size);
  for (off_t block = from / kBlock * kBlock; block < to; block += kBlock) {
    auto [at, fresh] = file.before.try_emplace(block);
    if (!fresh) continue;
    at->second.resize(static_cast<size_t>(std::min(kBlock, file.durable_size - block)));
    const ssize_t n = ::pread(file.fd, at->second.data(), at->second.size(), block);
    at->second.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
}

void Unsynced::will_write(int fd, off_t at, size_t size) {
  save(file_of(fd), at, at + static_cast<off_t>(size));
}

void Unsynced::will_resize(int fd, off_t size) {
  File& file = file_of(fd);
  save(file, size, file.durable_size);
}

void Unsynced::synced(int fd) {
  const auto at = files_.find(inode_of(fd));
  if (at == files_.end() || at->second.poisoned) return;
  ::close(at->second.fd);
  files_.erase(at);
}

void Unsynced::sync_failed(int fd) {
  const auto at = files_.find(inode_of(fd));
  if (at != files_.end()) at->second.poisoned = true;
}

std::string Unsynced::bury(const char* path) {
  std::string grave = graveyard_ + "/" + std::to_string(++graves_);
  return ::rename(path, grave.c_str()) == 0 ? grave : "";
}

int Unsynced::unlink(const char* path) {
  struct stat info {};
  if (::lstat(path, &info) != 0) return -errno;
  if (S_ISDIR(info.st_mode)) return -EISDIR;
  const std::string grave = bury(path);
  if (grave.empty()) return -errno;
  entries_.push_back({Entry::kRemoved, path, "", grave, {folder_of(path)}});
  return 0;
}

int Unsynced::rmdir(const char* path) {
  DIR* folder = ::opendir(path);
  if (!folder) return -errno;
  int names = 0;
  while (::readdir(folder)) ++names;
  ::closedir(folder);
  if (names > 2) return -ENOTEMPTY;
  const std::string grave = bury(path);
  if (grave.empty()) return -errno;
  entries_.push_back({Entry::kRemoved, path, "", grave, {folder_of(path)}});
  return 0;
}

int Unsynced::rename(const char* from, const char* to) {
  struct stat old {}, replaced {};
  if (::lstat(from, &old) != 0) return -errno;
  const bool replaces = ::lstat(to, &replaced) == 0;
  if (replaces && old.st_ino == replaced.st_ino) return 0;
  if (replaces && S_ISDIR(replaced.st_mode) != S_ISDIR(old.st_mode))
    return S_ISDIR(old.st_mode) ? -ENOTDIR : -EISDIR;
  std::string grave;
  if (replaces && (grave = bury(to)).empty()) return -errno;
  if (::rename(from, to) != 0) {
    const int why = errno;
    if (replaces) ::rename(grave.c_str(), to);
    return -why;
  }
  entries_.push_back({Entry::kRenamed, to, from, grave, {folder_of(from), folder_of(to)}});
  return 0;
}

void Unsynced::created(const char* path, int fd) {
  if (fd >= 0) file_of(fd).durable_size = 0;
  entries_.push_back({Entry::kCreated, path, "", "", {folder_of(path)}});
}

void Unsynced::folder_synced(const char* path) {
  struct stat info {};
  if (::stat(path, &info) != 0) return;
  std::set<ino_t> settled{info.st_ino};
  while (!settled.empty()) {
    const ino_t folder = *settled.begin();
    settled.erase(settled.begin());
    for (auto at = entries_.begin(); at != entries_.end();) {
      const bool one = at->folders.erase(folder) > 0;
      if (!one || !at->folders.empty()) {
        ++at;
        continue;
      }
      // A folder that is gone for good takes with it what was done in it.
      if (!at->grave.empty() && ::lstat(at->grave.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
        settled.insert(info.st_ino);
      forget(*at);
      at = entries_.erase(at);
    }
  }
}

// Nobody can come back to it; who has it open still reads it.
void Unsynced::forget(const Entry& entry) {
  if (entry.grave.empty()) return;
  struct stat info {};
  if (::lstat(entry.grave.c_str(), &info) == 0 && info.st_nlink == 1) {
    const auto at = files_.find(info.st_ino);
    if (at != files_.end()) {
      ::close(at->second.fd);
      files_.erase(at);
    }
  }
  remove_whole(entry.grave);
}

void Unsynced::undo(const Entry& entry) {
  if (entry.kind == Entry::kCreated) remove_whole(entry.path);
  if (entry.kind == Entry::kRenamed) ::rename(entry.path.c_str(), entry.from.c_str());
  if (!entry.grave.empty()) ::rename(entry.grave.c_str(), entry.path.c_str());
}

LostAtPowerOff Unsynced::lose(uint64_t seed, bool torn) {
  LostAtPowerOff lost;
  for (auto& [inode, file] : files_) {
    const off_t now = size_of(file.fd), grown = std::max<off_t>(now - file.durable_size, 0);
    uint64_t draw = seed ^ (static_cast<uint64_t>(inode) << 20);
    const off_t kept =
        torn ? static_cast<off_t>(mix(draw) % static_cast<uint64_t>(grown / kSector + 1)) * kSector : 0;
    uint64_t bytes = static_cast<uint64_t>(grown - kept);
    if (::ftruncate(file.fd, file.durable_size + kept) != 0) bytes = 0;
    for (const auto& [at, text] : file.before) {
      std::string there(text.size(), 0);
      const ssize_t n = ::pread(file.fd, there.data(), there.size(), at);
      if (n == static_cast<ssize_t>(text.size()) && there == text) continue;
      if (::pwrite(file.fd, text.data(), text.size(), at) == static_cast<ssize_t>(text.size()))
        bytes += text.size();
    }
    lost.bytes += bytes;
    lost.files += bytes > 0;
    lost.torn += kept > 0;
    ::close(file.fd);
  }
  files_.clear();
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
    undo(*at);
    ++lost.entries;
  }
  entries_.clear();
  return lost;
}

}  // namespace assay::agent
