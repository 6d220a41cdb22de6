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
    bool name_durable = false;  // the directory was synced since the file got this name
    std::string former_name;    // durable, if not empty: what it is called if this one is lost
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
    const auto file = files_.find(name);
    if (file == files_.end()) return name + ": no such file";
    if (file->second.name_durable) removed_.insert_or_assign(name, file->second);
    files_.erase(file);
    return "";
  }
  std::string sync(const std::string& name) override {
    File& file = files_.at(name);
    file.synced = file.bytes.size();
    return "";
  }
  std::string sync_directory() override {
    for (auto& [name, file] : files_) {
      file.name_durable = true;
      file.former_name.clear();
    }
    removed_.clear();
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
  // length, with sectors of it zero. Files whose names are not durable are gone; of renamings and
  // removals that are not durable half are undone, whatever was synced of the files. Says how many
  // names were lost.
  size_t lose_power(SimRandom& random) {
    lose_process();
    size_t lost = 0;
    std::map<std::string, File> left;
    for (auto& [name, file] : files_) {
      const std::string kept = name_after_loss(name, file, random);
      if (kept != name) ++lost;
      if (kept.empty()) continue;
      lose_unsynced(file, random);
      left.insert_or_assign(kept, std::move(file));
    }
    for (auto& [name, file] : removed_) {
      if (random.chance(500)) left.emplace(name, std::move(file));
    }
    files_ = std::move(left);
    sync_directory();
    return lost;
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
      case DiskOp::Kind::kRename:
        rename(op.file, op.bytes);
        break;
      case DiskOp::Kind::kRemove:
        remove(op.file);
        break;
    }
  }
  void rename(const std::string& from, const std::string& to) {
    File file = std::move(files_.at(from));
    files_.erase(from);
    if (file.name_durable) file.former_name = from;
    file.name_durable = false;
    if (files_.contains(to)) remove(to);
    files_[to] = std::move(file);
  }
  // Empty: none. A name that was given by renaming may be there as well as not.
  static std::string name_after_loss(const std::string& name, const File& file, SimRandom& random) {
    if (file.name_durable) return name;
    if (!file.former_name.empty()) return random.chance(500) ? name : file.former_name;
    return "";
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
  std::map<std::string, File> removed_;  // since the directory was last synced
  std::deque<Batch> queue_;
  std::function<void(const DiskOp&)> scheduler_;
};

}  // namespace assay::raft
