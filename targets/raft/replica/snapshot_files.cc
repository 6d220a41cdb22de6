#include "targets/raft/replica/snapshot_files.h"

#include <algorithm>
#include <cstdio>

namespace assay::raft {
namespace {

constexpr std::string_view kSnapshotPrefix = "snap-";
constexpr size_t kDigits = 20;

bool is_whole_name(const std::string& file) {
  return file.size() == kSnapshotPrefix.size() + kDigits &&
         std::all_of(file.begin() + kSnapshotPrefix.size(), file.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// False: it does not check.
bool load(Disk& disk, const std::string& file, Mutations mutations, SnapshotRecovery& recovery,
          std::string& error) {
  std::string bytes;
  error = disk.read(file, bytes);
  if (!error.empty()) return false;
  SnapshotReader reader;
  const bool fits = reader.feed(bytes);
  const bool any_part = mutations.has(Mutation::kPartSnapshotLoaded) && reader.head_known();
  if (!any_part && (!fits || !reader.complete())) return false;
  if (snapshot_file_name(reader.head().last.index) != file) return false;
  recovery.head = reader.head();
  recovery.store = reader.release();
  recovery.file = file;
  recovery.bytes = bytes.size();
  return true;
}

}  // namespace

std::string snapshot_file_name(LogIndex index) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "snap-%020llu",
                static_cast<unsigned long long>(index.value));
  return buffer;
}

std::string SnapshotRecovery::recover(Disk& disk, Mutations mutations, SnapshotRecovery& recovery) {
  recovery = SnapshotRecovery{};
  std::vector<std::string> names;
  if (std::string error = disk.list(names); !error.empty()) return error;
  std::sort(names.rbegin(), names.rend());  // the newest first
  for (const std::string& file : names) {
    if (!file.starts_with(kSnapshotPrefix)) continue;
    std::string error;
    const bool whole = is_whole_name(file);
    if (whole && recovery.file.empty() && load(disk, file, mutations, recovery, error)) continue;
    if (!error.empty()) return error;
    if (whole && recovery.file.empty()) ++recovery.refused;
    recovery.others.push_back(file);
  }
  return "";
}

std::string SnapshotRecovery::make_durable(Disk& disk) const {
  std::string error;
  for (size_t i = 0; error.empty() && i < others.size(); ++i) error = disk.remove(others[i]);
  if (error.empty() && !file.empty()) error = disk.sync(file);
  if (error.empty() && (!file.empty() || !others.empty())) error = disk.sync_directory();
  return error;
}

SnapshotFile::SnapshotFile(Env& env, LogIndex index, const std::string& tag, Mutations mutations)
    : env_(env),
      mutations_(mutations),
      name_(snapshot_file_name(index)),
      part_(name_ + ".part-" + tag) {
  if (mutations_.has(Mutation::kPartSnapshotLoaded)) part_ = name_;
}

void SnapshotFile::submit(std::vector<DiskOp> ops, std::function<void()> done) {
  env_.disk().submit(std::move(ops), [&env = env_, done = std::move(done),
                                      alive = std::weak_ptr(alive_)](const std::string& error) {
    if (!error.empty()) env.fatal("cannot write a snapshot: " + error);
    if (!alive.expired() && done) done();
  });
}

void SnapshotFile::append(std::string bytes, std::function<void()> done) {
  std::vector<DiskOp> ops;
  if (!created_) ops.push_back({DiskOp::Kind::kCreate, part_, ""});
  created_ = true;
  ops.push_back({DiskOp::Kind::kAppend, part_, std::move(bytes)});
  if (!mutations_.has(Mutation::kSnapshotNotSynced)) {
    ops.push_back({DiskOp::Kind::kSync, part_, ""});
  }
  submit(std::move(ops), std::move(done));
}

void SnapshotFile::finish(std::function<void()> done) {
  std::vector<DiskOp> ops;
  if (part_ != name_) ops.push_back({DiskOp::Kind::kRename, part_, name_});
  if (!mutations_.has(Mutation::kSnapshotNotSynced)) {
    ops.push_back({DiskOp::Kind::kSyncDirectory, "", ""});
  }
  submit(std::move(ops), std::move(done));
}

void SnapshotFile::discard() {
  if (created_) submit({{DiskOp::Kind::kRemove, part_, ""}}, {});
}

}  // namespace assay::raft
