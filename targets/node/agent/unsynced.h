// Unsynced: what a folder's files and entries would lose if the power went now. The folder itself
// always has the newest state; kept here is how to go back to what was synced.
//
// The model is POSIX's, strictly: fsync and fdatasync of a file make its data and its size durable;
// an entry (create, unlink, rename, mkdir, rmdir, link) is durable once its folder was synced (of a
// rename both). A sync that failed makes nothing durable, and no later one does for what was written
// before it (as on Linux, where a failed write-back is reported once and dropped). A file that grew
// may keep a part of what was appended, up to a multiple of 512 bytes.
//
// One thread. Paths are relative to the working directory, which is the folder. Failures of the file
// system below are returned as negative errno values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>

namespace assay::agent {

struct LostAtPowerOff {
  uint64_t files = 0;    // whose data went back
  uint64_t bytes = 0;    // that were overwritten, appended or cut off, and are not any more
  uint64_t torn = 0;     // files that kept a part of what was appended
  uint64_t entries = 0;  // that were undone
};

class Unsynced {
 public:
  // `graveyard`: a folder in the same file system, for what is unlinked and may come back. Made here.
  explicit Unsynced(std::string graveyard);
  ~Unsynced();
  Unsynced(const Unsynced&) = delete;
  Unsynced& operator=(const Unsynced&) = delete;

  // Before the change is made; the descriptor is of the file in the folder.
  void will_write(int fd, off_t at, size_t size);
  void will_resize(int fd, off_t size);
  void synced(int fd);
  void sync_failed(int fd);

  // Make the change and take note of it.
  int unlink(const char* path);
  int rmdir(const char* path);
  int rename(const char* from, const char* to);
  // It was made: a file (open: `fd`), or something else (-1).
  void created(const char* path, int fd);
  void folder_synced(const char* path);

  // As if the power had gone: nobody has a file open. `torn`: draw what appended parts remain.
  LostAtPowerOff lose(uint64_t seed, bool torn);

 private:
  struct File {
    int fd = -1;
    off_t durable_size = 0;
    std::map<off_t, std::string> before;  // blocks as they were, within the durable size
    bool poisoned = false;
  };
  struct Entry {
    enum Kind { kCreated, kRemoved, kRenamed } kind;
    std::string path, from;
    std::string grave;      // where what was unlinked or replaced lies; empty: nothing does
    std::set<ino_t> folders;  // that were not synced since
  };

  File& file_of(int fd);
  void save(File& file, off_t from, off_t to);
  std::string bury(const char* path);
  void undo(const Entry& entry);
  void forget(const Entry& entry);

  const std::string graveyard_;
  std::map<ino_t, File> files_;
  std::list<Entry> entries_;
  uint64_t graves_ = 0;
};

}  // namespace assay::agent
