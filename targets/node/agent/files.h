// Files and folders as requests see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkers/history/error.h"

namespace assay::agent {

struct FileChunk {
  std::string data;
  int64_t size = 0;  // of the whole file
  bool eof = false;  // nothing follows this chunk, as of now
};
Result<FileChunk> read_chunk(const std::string& path, int64_t offset, size_t max_bytes);

struct ListEntry {
  std::string path;  // relative to the folder that was asked for
  std::string type;  // "file", "folder", "other"
  int64_t bytes = 0;
};
struct Listing {
  std::vector<ListEntry> entries;  // in no order; links are not followed
  bool cut = false;                // there are more
};
Result<Listing> list_folder(const std::string& path, size_t max_entries);

// Makes or removes (with everything in it) a folder that lies in `root`, or `root` itself.
// Anything outside is refused, through links too.
Result<void> make_folder(const std::string& root, const std::string& path);
Result<void> remove_folder(const std::string& root, const std::string& path);

// Writes a file of that many bytes in the folder, syncs it, and removes it: the nanoseconds that
// write and sync took.
Result<int64_t> time_fsync(const std::string& folder, size_t bytes);

}  // namespace assay::agent
