// SnapshotFiles: snapshots in the data folder. A whole one is called snap-INDEX; while it is being
// written, snap-INDEX.part-TAG. It gets its name when all of it is durable, so that no crash
// leaves a part under the name of a whole; besides, a file is believed only if its checksum is
// right. An error while writing ends the process (Env::fatal).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "targets/raft/core/mutation.h"
#include "targets/raft/replica/env.h"
#include "targets/raft/replica/snapshot.h"

namespace assay::raft {

std::string snapshot_file_name(LogIndex index);

// What the folder held when the process started.
struct SnapshotRecovery {
  SnapshotHead head;  // of the newest whole snapshot; index 0: there is none
  kv::Store store{kv::TokenKind::kRevision};
  std::string file;                 // its name
  size_t bytes = 0;                 // its size
  std::vector<std::string> others;  // older ones, parts, and those that do not check
  uint64_t refused = 0;             // newer ones that do not check

  // Reads the folder and changes nothing. Blocks. Returns an error in words.
  static std::string recover(Disk& disk, Mutations mutations, SnapshotRecovery& recovery);
  // Once the node may start: the others go, and what was read is made durable.
  std::string make_durable(Disk& disk) const;
};

// One snapshot on its way to the disk. Callbacks do not run any more once it is destroyed.
class SnapshotFile {
 public:
  // `tag`: another one for each in a process.
  SnapshotFile(Env& env, LogIndex index, const std::string& tag, Mutations mutations);
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;

  // A piece at a time, synced at once: other writes of the node wait for no more than that.
  void append(std::string bytes, std::function<void()> done);
  // Gives it its name, durably.
  void finish(std::function<void()> done);
  // It is not wanted any more.
  void discard();

  const std::string& name() const { return name_; }  // when it is finished

 private:
  void submit(std::vector<DiskOp> ops, std::function<void()> done);

  Env& env_;
  Mutations mutations_;
  std::string name_;
  std::string part_;
  bool created_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay::raft
