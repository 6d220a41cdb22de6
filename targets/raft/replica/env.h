// Env: everything that a replica needs of the world, as interfaces. The server implements them over
// Asio and a disk thread, the simulator over virtual time.
//
// The rules that hold for all of them:
// - The replica and all callbacks run on ONE thread, one at a time. A callback never runs inside
//   the call that asked for it.
// - When the replica is destroyed, callbacks that are still due must not run.
// - Nothing here may block, except the start-up half of Disk, which is used only by Replica::open.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "targets/raft/core/types.h"

namespace assay::raft {

// One step of a batch of writing.
struct DiskOp {
  enum class Kind : uint8_t {
    kCreate,         // a new, empty file; it is an error if it exists
    kAppend,         // `bytes` at the end of `file`
    kSync,           // fdatasync(file): everything appended before is durable afterwards
    kSyncDirectory,  // fsync of the directory: names made before are durable afterwards
    kRename,         // `file` is called `bytes` from now on, in place of what had that name
    kRemove,         // `file`, if it is there; it may be there again after a power loss
  };
  Kind kind;
  std::string file;
  std::string bytes;
};

// One directory, which exists and whose own name is durable, with nobody else writing to it (the
// host holds a lock). Names have no slash in them.
class Disk {
 public:
  virtual ~Disk() = default;

  // Start-up: these block, and return an error in words, empty when all went well.
  virtual std::string list(std::vector<std::string>& names) = 0;              // in any order
  virtual std::string read(const std::string& file, std::string& bytes) = 0;  // the whole file
  virtual std::string truncate(const std::string& file, uint64_t size) = 0;
  virtual std::string remove(const std::string& file) = 0;
  virtual std::string sync(const std::string& file) = 0;
  virtual std::string sync_directory() = 0;

  // Running: does the operations in order, each to its end before the next, all of one submit
  // before those of a later one; then calls done with an empty string. At the first failure it
  // calls done with the error, and does nothing more, ever: what a failed write or fsync left on
  // the disk is unknown. A full write must be made of partial ones by the implementation.
  // done("") is a promise that everything synced in `ops` survives a power loss.
  virtual void submit(std::vector<DiskOp> ops,
                      std::function<void(const std::string& error)> done) = 0;
};

class Net {
 public:
  virtual ~Net() = default;

  // Sends one message to another member; the receiver's host hands the same bytes to
  // Replica::on_message. Never blocks; may drop, delay, repeat and reorder, but never alter and
  // never deliver to another node than `to`. A host with a full queue drops. Messages are up to
  // a little over append_bytes_max (or one entry, if larger).
  virtual void send(NodeId to, std::string message) = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic, from any start. Only for deadlines of requests and for the delay of a canary; the
  // protocol's time is counted in ticks.
  virtual std::chrono::nanoseconds now() = 0;
};

class Env {
 public:
  virtual ~Env() = default;

  virtual Disk& disk() = 0;
  virtual Net& net() = 0;
  virtual Clock& clock() = 0;

  // The host must call Replica::pump() soon, once for any number of requests. What came in until
  // then is worked on as one batch: ideally after all that is readable now has been handed in.
  virtual void request_pump() = 0;

  // The process must end now, without flushing anything, as after a failed fsync. Must not return
  // to the replica (a simulator throws).
  virtual void fatal(const std::string& message) = 0;
};

}  // namespace assay::raft
