// FileDisk: Disk (env.h) over one folder of a file system. Writing is done by a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "targets/raft/replica/env.h"

namespace assay::raft {

class FileDisk : public Disk {
 public:
  // Hands a callback to the replica's thread; called from the disk's thread.
  using Post = std::function<void(std::function<void()>)>;

  // syncs: false is for a store that is wrong on purpose.
  FileDisk(std::string folder, Post post, bool syncs = true);
  ~FileDisk() override;  // waits for the operation under way; what is queued is not done

  std::string list(std::vector<std::string>& names) override;
  std::string read(const std::string& file, std::string& bytes) override;
  std::string truncate(const std::string& file, uint64_t size) override;
  std::string remove(const std::string& file) override;
  std::string sync(const std::string& file) override;
  std::string sync_directory() override;
  void submit(std::vector<DiskOp> ops, std::function<void(const std::string&)> done) override;

  // Of the files, as far as this object has read or written them.
  uint64_t bytes() const;

 private:
  struct Writer;
  std::string folder_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace assay::raft
