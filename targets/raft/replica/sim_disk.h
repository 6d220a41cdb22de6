// A disk that forgets. What was appended lies in the page cache until its file is synced, and a new
// file's name until the directory is: a killed process loses only what it had not handed over, a
// power loss also what was not synced. Tests only.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "targets/raft/replica/env.h"
#include "targets/raft/replica/sim_random.h"

namespace assay::raft {

class SimDisk : public Disk {
 public:
  struct File {
    std::string bytes;
    size_t synced = 0;          // of the bytes, counted from the front
    bool name_durable = false;  // the directory was synced since the file was made
  };

  // Called when operations wait and none is being done: the owner then calls do_next() when it
  // wants the next one done.
  void set_scheduler(std::function<void(const DiskOp&)> scheduler) {
    scheduler_ = std::move(scheduler);
  }

  std::string list(std::vector<std::string>& names) override {
    for (const auto& [name, file] : files_) names.push_back(name);
    return "";
  }
  std::string read(const std::string& name, std::string& bytes) override {
    const auto file = files_.find(name);
    if (file == files_.end()) return name + ": no such file";
    bytes = file->second.bytes;
    return "";
  }
  std::string truncate(const std::string& name, uint64_t size) override {
    File& file = files_.at(name);
    file.bytes.resize(size);
    file.synced = size;
    return "";
  }
  std::string remove(const std::string& name) override {
    files_.erase(name);
    return "";
  }
  std::string sync(const std::string& name) override {
    File& file = files_.at(name);
    file.synced = file.bytes.size();
    return "";
  }
  std::string sync_directory() override {
    for (auto& [name, file] : files_) file.name_durable = true;
    return "";
  }
  void submit(std::vector<DiskOp> ops, std::function<void(const std::string&)> done) override {
    const bool idle = queue_.empty();
    queue_.push_back({{ops.begin(), ops.end()}, std::move(done)});
    if (idle) schedule();
  }

  bool idle() const { return queue_.empty(); }
  // Does the next operation; with `fail` it fails, and the disk does nothing more.
  void do_next(bool fail = false) {
    if (queue_.empty()) return;
    Batch& batch = queue_.front();
    const DiskOp op = std::move(batch.ops.front());
    batch.ops.pop_front();
    if (fail) {
      const auto done = std::move(batch.done);
      queue_.clear();
      done("Input/output error");
      return;
    }
    perform(op);
    if (batch.ops.empty()) {
      const auto done = std::move(batch.done);
      queue_.pop_front();
      if (!queue_.empty()) schedule();
      done("");
    } else {
      schedule();
    }
  }
  void do_all() {
    while (!idle()) do_next();
  }

  // The process died: what it had queued is never done.
  void lose_process() { queue_.clear(); }

  // Each file keeps a drawn part of its unsynced bytes: mostly a prefix; sometimes all of the
  // length, with sectors of it zero. Files whose names are not durable are gone.
  void lose_power(SimRandom& random) {
    lose_process();
    for (auto it = files_.begin(); it != files_.end();) {
      File& file = it->second;
      if (!file.name_durable) {
        it = files_.erase(it);
        continue;
      }
      lose_unsynced(file, random);
      ++it;
    }
  }
  static void lose_unsynced(File& file, SimRandom& random) {
    const size_t unsynced = file.bytes.size() - file.synced;
    if (unsynced > 0 && random.chance(250)) {
      lose_sectors(file, random);
    } else {
      file.bytes.resize(file.synced + random.below(unsynced + 1));
    }
    file.synced = file.bytes.size();  // what is left is on the disk
  }

  std::map<std::string, File>& files() { return files_; }

 private:
  struct Batch {
    std::deque<DiskOp> ops;
    std::function<void(const std::string&)> done;
  };

  void schedule() {
    if (scheduler_) scheduler_(queue_.front().ops.front());
  }
  void perform(const DiskOp& op) {
    switch (op.kind) {
      case DiskOp::Kind::kCreate:
        files_[op.file] = File{};
        break;
      case DiskOp::Kind::kAppend:
        files_.at(op.file).bytes += op.bytes;
        break;
      case DiskOp::Kind::kSync:
        sync(op.file);
        break;
      case DiskOp::Kind::kSyncDirectory:
        sync_directory();
        break;
    }
  }
  static void lose_sectors(File& file, SimRandom& random) {
    constexpr size_t kSector = 512;
    for (size_t start = file.synced; start < file.bytes.size();) {
      const size_t end = std::min(file.bytes.size(), (start / kSector + 1) * kSector);
      if (random.chance(500)) std::fill(file.bytes.begin() + start, file.bytes.begin() + end, '\0');
      start = end;
    }
  }

  std::map<std::string, File> files_;
  std::deque<Batch> queue_;
  std::function<void(const DiskOp&)> scheduler_;
};

}  // namespace assay::raft
