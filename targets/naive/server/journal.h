// Journal: a file to which records are appended, each in a frame with a checksum. Records that the
// end of the process or of the machine has left incomplete are cut off when it is opened again.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay::naive {

class Journal {
 public:
  // Blocks. Null with an error in words. `records` are those that the file holds.
  static std::unique_ptr<Journal> open(const std::string& path, std::vector<std::string>& records,
                                       std::string& error);
  ~Journal();

  // Both end the process when the disk fails: what is in the file then is unknown.
  void append(std::string_view record);
  void sync();  // what was appended is durable when it returns

  uint64_t bytes() const { return bytes_; }

 private:
  Journal(int fd, uint64_t bytes) : fd_(fd), bytes_(bytes) {}

  int fd_;
  uint64_t bytes_;
  bool dirty_ = false;
};

}  // namespace assay::naive
