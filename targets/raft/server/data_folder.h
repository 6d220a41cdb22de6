// DataFolder: a node's own folder: made if it is not there, locked against a second process, and
// marked with whose it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace assay::raft {

class DataFolder {
 public:
  // Blocks. Null with an error in words: it cannot be made or written to, another process has it,
  // or it is another node's or another cluster's.
  static std::unique_ptr<DataFolder> open(const std::string& path, const std::string& node,
                                          uint64_t cluster, std::string& error);
  ~DataFolder();  // unlocks

  const std::string& path() const { return path_; }

 private:
  DataFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

}  // namespace assay::raft
