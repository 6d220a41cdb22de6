#define FUSE_USE_VERSION 35
#include "targets/node/agent/disk_program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <memory>
#include <sstream>

#include "targets/node/agent/unsynced.h"

namespace assay::agent {
namespace {

// A call that is to fail, and how much room there is.
struct Trouble {
  std::string op;       // "fsync", "write", "read"; empty: none
  uint64_t calls_left = 0;
  bool limited = false;
  int64_t room = 0;
  uint64_t failed = 0, refused = 0;

  bool strikes(const char* call) {
    if (op != call || calls_left == 0 || --calls_left > 0) return false;
    ++failed;
    return true;
  }
  // False: the disk is full.
  bool grow(int64_t bytes) {
    if (!limited || bytes <= 0) {
      if (limited) room -= bytes;
      return true;
    }
    if (bytes > room) {
      ++refused;
      return false;
    }
    room -= bytes;
    return true;
  }
};

// FUSE calls plain functions.
std::unique_ptr<Unsynced> g_unsynced;
Trouble g_trouble;

// Below the mount: relative to the working directory, which is the folder that is hidden by it.
const char* below(const char* path) { return path[1] ? path + 1 : "."; }
int fd_of(const fuse_file_info* info) { return static_cast<int>(info->fh); }
int result(int done) { return done < 0 ? -errno : 0; }
off_t size_of_file(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}

void* fs_init(fuse_conn_info*, fuse_config* config) {
  config->use_ino = 1;
  config->nullpath_ok = 1;
  config->hard_remove = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}

int fs_getattr(const char* path, struct stat* info, fuse_file_info* file) {
  return result(file ? fstat(fd_of(file), info) : lstat(below(path), info));
}
int fs_readlink(const char* path, char* text, size_t size) {
  const ssize_t n = readlink(below(path), text, size - 1);
  if (n < 0) return -errno;
  text[n] = 0;
  return 0;
}
int fs_mkdir(const char* path, mode_t mode) {
  if (mkdir(below(path), mode) != 0) return -errno;
  g_unsynced->created(below(path), -1);
  return 0;
}
int fs_unlink(const char* path) {
  struct stat info {};
  if (lstat(below(path), &info) == 0) g_trouble.grow(-info.st_size);
  return g_unsynced->unlink(below(path));
}
int fs_rmdir(const char* path) { return g_unsynced->rmdir(below(path)); }
int fs_symlink(const char* to, const char* path) {
  if (symlink(to, below(path)) != 0) return -errno;
  g_unsynced->created(below(path), -1);
  return 0;
}
int fs_rename(const char* from, const char* to, unsigned flags) {
  if (flags != 0) return -EINVAL;
  return g_unsynced->rename(below(from), below(to));
}
int fs_link(const char* from, const char* to) {
  if (link(below(from), below(to)) != 0) return -errno;
  g_unsynced->created(below(to), -1);
  return 0;
}
int fs_chmod(const char* path, mode_t mode, fuse_file_info* file) {
  return result(file ? fchmod(fd_of(file), mode) : chmod(below(path), mode));
}
int fs_chown(const char* path, uid_t user, gid_t group, fuse_file_info* file) {
  return result(file ? fchown(fd_of(file), user, group) : lchown(below(path), user, group));
}
int fs_utimens(const char* path, const timespec times[2], fuse_file_info* file) {
  return result(file ? futimens(fd_of(file), times)
                     : utimensat(AT_FDCWD, below(path), times, AT_SYMLINK_NOFOLLOW));
}

int resize(int fd, off_t size) {
  if (!g_trouble.grow(size - size_of_file(fd))) return -ENOSPC;
  g_unsynced->will_resize(fd, size);
  return result(ftruncate(fd, size));
}
int fs_truncate(const char* path, off_t size, fuse_file_info* file) {
  if (file) return resize(fd_of(file), size);
  const int fd = open(below(path), O_RDWR | O_CLOEXEC);
  if (fd < 0) return -errno;
  const int done = resize(fd, size);
  close(fd);
  return done;
}
int fs_fallocate(const char*, int mode, off_t at, off_t size, fuse_file_info* file) {
  const int fd = fd_of(file);
  const off_t grown = mode & FALLOC_FL_KEEP_SIZE ? 0 : at + size - size_of_file(fd);
  if (grown > 0 && !g_trouble.grow(grown)) return -ENOSPC;
  g_unsynced->will_write(fd, at, static_cast<size_t>(size));
  return fallocate(fd, mode, at, size) == 0 ? 0 : -errno;
}

// For reading as well: what is overwritten is kept.
int opened(const char* path, int flags, mode_t mode, fuse_file_info* file) {
  int wanted = flags & ~(O_APPEND | O_TRUNC | O_DIRECT | O_ACCMODE);
  wanted |= (flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR;
  const int fd = open(below(path), wanted | O_CLOEXEC, mode);
  if (fd < 0) return -errno;
  file->fh = static_cast<uint64_t>(fd);
  return fd;
}
int fs_open(const char* path, fuse_file_info* file) {
  const int fd = opened(path, file->flags & ~O_CREAT, 0, file);
  if (fd < 0) return fd;
  if (file->flags & O_TRUNC) {
    const int done = resize(fd, 0);
    if (done != 0) close(fd);
    return done;
  }
  return 0;
}
int fs_create(const char* path, mode_t mode, fuse_file_info* file) {
  const int fd = opened(path, file->flags | O_CREAT, mode, file);
  if (fd < 0) return fd;
  g_unsynced->created(below(path), fd);
  return 0;
}
int fs_read(const char*, char* bytes, size_t size, off_t at, fuse_file_info* file) {
  if (g_trouble.strikes("read")) return -EIO;
  const ssize_t n = pread(fd_of(file), bytes, size, at);
  return n < 0 ? -errno : static_cast<int>(n);
}
int fs_write(const char*, const char* bytes, size_t size, off_t at, fuse_file_info* file) {
  const int fd = fd_of(file);
  if (g_trouble.strikes("write")) return -EIO;
  const off_t grown = at + static_cast<off_t>(size) - size_of_file(fd);
  if (grown > 0 && !g_trouble.grow(grown)) return -ENOSPC;
  g_unsynced->will_write(fd, at, size);
  const ssize_t n = pwrite(fd, bytes, size, at);
  if (n < 0) return -errno;
  if (file->flags & (O_SYNC | O_DSYNC)) {
    if (fdatasync(fd) != 0) return -errno;
    g_unsynced->synced(fd);
  }
  return static_cast<int>(n);
}
int fs_fsync(const char*, int data_only, fuse_file_info* file) {
  const int fd = fd_of(file);
  if (g_trouble.strikes("fsync")) {
    g_unsynced->sync_failed(fd);
    return -EIO;
  }
  if ((data_only ? fdatasync(fd) : fsync(fd)) != 0) return -errno;
  g_unsynced->synced(fd);
  return 0;
}
int fs_release(const char*, fuse_file_info* file) { return result(close(fd_of(file))); }
int fs_statfs(const char*, struct statvfs* info) {
  if (statvfs(".", info) != 0) return -errno;
  if (g_trouble.limited)
    info->f_bavail = info->f_bfree = static_cast<fsblkcnt_t>(std::max<int64_t>(g_trouble.room, 0)) / info->f_frsize;
  return 0;
}
int fs_opendir(const char* path, fuse_file_info* file) {
  DIR* folder = opendir(below(path));
  if (!folder) return -errno;
  file->fh = reinterpret_cast<uint64_t>(new std::pair<DIR*, std::string>(folder, below(path)));
  return 0;
}
std::pair<DIR*, std::string>& folder_of_file(const fuse_file_info* file) {
  return *reinterpret_cast<std::pair<DIR*, std::string>*>(file->fh);
}
int fs_readdir(const char*, void* into, fuse_fill_dir_t fill, off_t, fuse_file_info* file, fuse_readdir_flags) {
  DIR* folder = folder_of_file(file).first;
  rewinddir(folder);
  while (const dirent* entry = readdir(folder)) {
    struct stat info {};
    info.st_ino = entry->d_ino;
    info.st_mode = static_cast<mode_t>(entry->d_type) << 12;
    if (fill(into, entry->d_name, &info, 0, static_cast<fuse_fill_dir_flags>(0))) break;
  }
  return 0;
}
int fs_releasedir(const char*, fuse_file_info* file) {
  closedir(folder_of_file(file).first);
  delete &folder_of_file(file);
  return 0;
}
int fs_fsyncdir(const char*, int, fuse_file_info* file) {
  if (g_trouble.strikes("fsync")) return -EIO;
  const auto& [folder, path] = folder_of_file(file);
  if (fsync(dirfd(folder)) != 0) return -errno;
  g_unsynced->folder_synced(path.c_str());
  return 0;
}

fuse_operations operations() {
  fuse_operations ops{};
  ops.init = fs_init;
  ops.getattr = fs_getattr;
  ops.readlink = fs_readlink;
  ops.mkdir = fs_mkdir;
  ops.unlink = fs_unlink;
  ops.rmdir = fs_rmdir;
  ops.symlink = fs_symlink;
  ops.rename = fs_rename;
  ops.link = fs_link;
  ops.chmod = fs_chmod;
  ops.chown = fs_chown;
  ops.utimens = fs_utimens;
  ops.truncate = fs_truncate;
  ops.fallocate = fs_fallocate;
  ops.open = fs_open;
  ops.create = fs_create;
  ops.read = fs_read;
  ops.write = fs_write;
  ops.fsync = fs_fsync;
  ops.release = fs_release;
  ops.statfs = fs_statfs;
  ops.opendir = fs_opendir;
  ops.readdir = fs_readdir;
  ops.releasedir = fs_releasedir;
  ops.fsyncdir = fs_fsyncdir;
  return ops;
}

std::string seen() {
  return "ok failed=" + std::to_string(g_trouble.failed) + " refused=" + std::to_string(g_trouble.refused);
}

std::string obey(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "lose") {
    uint64_t seed = 0;
    words >> seed;
    const LostAtPowerOff lost = g_unsynced->lose(seed, true);
    return "ok files=" + std::to_string(lost.files) + " bytes=" + std::to_string(lost.bytes) + " torn=" +
           std::to_string(lost.torn) + " entries=" + std::to_string(lost.entries);
  }
  if (word == "fail" && words >> g_trouble.op >> g_trouble.calls_left) {
    g_trouble.failed = 0;
    return "ok";
  }
  if (word == "full" && words >> g_trouble.room) {
    g_trouble.limited = true;
    g_trouble.refused = 0;
    return "ok";
  }
  if (word == "look") return seen();
  if (word == "heal") {
    const std::string answer = seen();
    words >> word;
    if (word == "fail") g_trouble.op.clear();
    if (word == "full") g_trouble.limited = false;
    return answer;
  }
  return "no unknown command";
}

bool say(int out, const std::string& line) {
  return write(out, (line + "\n").data(), line.size() + 1) == static_cast<ssize_t>(line.size() + 1);
}

// Serves until the input ends.
void serve(fuse_session* session, int in, int out) {
  fuse_buf buffer{};
  std::string text;
  while (!fuse_session_exited(session)) {
    pollfd ready[] = {{fuse_session_fd(session), POLLIN, 0}, {in, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[0].revents) {
      const int n = fuse_session_receive_buf(session, &buffer);
      if (n == -EINTR) continue;
      if (n <= 0) break;
      fuse_session_process_buf(session, &buffer);
    }
    if (!ready[1].revents) continue;
    char block[512];
    const ssize_t n = read(in, block, sizeof block);
    if (n <= 0) break;
    text.append(block, static_cast<size_t>(n));
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      say(out, obey(text.substr(0, end)));
  }
  free(buffer.mem);
}

}  // namespace

std::string disk_mount_name(const std::string& run, const std::string& node) {
  std::string name = "assay-disk:" + run + ":" + node;
  for (char& c : name)
    if (c == ' ' || c == ',' || c == '\\') c = '_';
  return name;
}

int run_disk_program(const std::string& folder, const std::string& mount_name, int in, int out) {
  // Killed with its agent, it would leave its mount: it ends when its input does.
  prctl(PR_SET_PDEATHSIG, 0);
  umask(0);
  if (chdir(folder.c_str()) != 0) {
    say(out, "no " + folder + ": " + strerror(errno));
    return 1;
  }
  g_unsynced = std::make_unique<Unsynced>("../.unsynced-" + std::to_string(getpid()));
  const std::string options = "fsname=" + mount_name + ",allow_other,default_permissions";
  const char* argv[] = {"assay-disk", "-o", options.c_str(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, const_cast<char**>(argv));
  const fuse_operations ops = operations();
  fuse* file_system = fuse_new(&args, &ops, sizeof ops, nullptr);
  if (!file_system || fuse_mount(file_system, folder.c_str()) != 0) {
    say(out, "no cannot mount on " + folder + ": " + strerror(errno));
    return 1;
  }
  say(out, "ok mounted");
  serve(fuse_get_session(file_system), in, out);
  g_unsynced.reset();
  umount2(folder.c_str(), MNT_DETACH);
  return 0;
}

}  // namespace assay::agent
