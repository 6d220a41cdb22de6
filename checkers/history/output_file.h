// A file that a user asked for: opened before the work whose result it will hold, so that a path
// that cannot be written is noticed at once. Single-threaded.
//
// It comes whole or not at all: what is written goes to PATH.part, which close() renames; without
// close(), and after an error, the old file stays and nothing is left behind. A device, a pipe or a
// link is written to as it is, "-" is standard output.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "checkers/history/byte_source.h"

namespace assay {

class OutputFile : public ByteSink {
 public:
  // An input error where the path cannot be written.
  static Result<std::unique_ptr<OutputFile>> open(const std::string& path);
  ~OutputFile() override;
  Result<void> write(std::string_view bytes) override;
  Result<void> close() override;

  const std::string& path() const { return path_; }
  // What stands beside the path meanwhile; empty where nothing does.
  const std::string& part() const { return part_; }

 private:
  OutputFile(std::string path, std::string part, int fd)
      : path_(std::move(path)), part_(std::move(part)), fd_(fd) {}
  Error failed();  // by errno

  std::string path_;
  std::string part_;
  int fd_;
  bool is_empty_ = true;
  bool has_failed_ = false;
};

}  // namespace assay
