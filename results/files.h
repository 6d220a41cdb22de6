// Files of a run folder: written whole or not at all, with errors that name the path and the cause.
// Any thread; two writers of one path do not mix, the later one wins.
#pragma once

#include <string>
#include <string_view>

#include "checkers/history/error.h"

namespace assay {

// Replaces the file: a temporary one beside it, fsync, rename. On an error the old file is intact
// and nothing is left behind. "cannot write /x/verdict.json: No space left on device".
Result<void> write_file(const std::string& path, std::string_view text);

// Appends `line` and a newline in one write on an O_APPEND descriptor, so that runs that end at
// the same moment do not mix. A last line that another writer left cut off is ended first.
Result<void> append_file_line(const std::string& path, std::string_view line);

// The whole file. A file that cannot be read is the user's input error.
Result<std::string> read_file(const std::string& path);

// The folder and what is missing above it.
Result<void> make_folders(const std::string& path);

// A folder that is new: `wanted`, or where that is there already, with -2, -3, … at its end.
Result<std::string> make_new_folder(const std::string& wanted);

// A folder held for one process, as long as the object lives. An input error that names the folder
// where another holds it.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& folder);
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Makes `link` (a symbolic link) point to `target`, replacing what it pointed to at once.
Result<void> point_link(const std::string& link, const std::string& target);

}  // namespace assay
