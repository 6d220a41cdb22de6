// A log over a simulated disk, for the tests. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "targets/raft/replica/sim_disk.h"
#include "targets/raft/replica/wal.h"

namespace assay::raft {

class TestEnv : public Env, public Net, public Clock {
 public:
  explicit TestEnv(SimDisk& disk) : disk_(disk) {}
  Disk& disk() override { return disk_; }
  Net& net() override { return *this; }
  Clock& clock() override { return *this; }
  void request_pump() override {}
  void fatal(const std::string& message) override { throw std::runtime_error(message); }
  void send(NodeId, std::string) override {}
  std::chrono::nanoseconds now() override { return now_; }

  std::chrono::nanoseconds now_{std::chrono::seconds(1)};

 private:
  SimDisk& disk_;
};

inline Entry entry(uint64_t index, uint64_t term, const std::string& bytes) {
  return {Term{term}, LogIndex{index}, EntryKind::kCommand,
          std::make_shared<const std::string>(bytes)};
}

inline std::string shown(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& e : entries) {
    out.append(std::to_string(e.index.value)).append("/").append(std::to_string(e.term.value));
    out.append("=").append(e.bytes()).append(" ");
  }
  return out;
}

class WalTest : public ::testing::Test {
 protected:
  WalRecovery recover() {
    WalRecovery recovery;
    const std::string error = Wal::recover(disk_, kNode, recovery, snapshot_);
    EXPECT_EQ(error, "");
    return recovery;
  }
  std::string recovery_error() {
    WalRecovery recovery;
    return Wal::recover(disk_, kNode, recovery, snapshot_);
  }
  // A process over what the disk holds.
  void start(std::function<void(WalOptions&)> adjust = {}) {
    WalOptions options;
    options.node = kNode;
    options.salt_seed = ++starts_;
    if (adjust) adjust(options);
    wal_ = std::make_unique<Wal>(options, env_, recover(), [this] { ++durable_calls_; });
  }
  // Entries as one batch, synced.
  void write(const std::vector<Entry>& entries) {
    wal_->append(entries);
    wal_->flush();
    disk_.do_all();
  }
  std::string last_file() const {
    return std::prev(const_cast<SimDisk&>(disk_).files().end())->first;
  }
  std::string& bytes_of(const std::string& file) { return disk_.files().at(file).bytes; }

  static constexpr NodeId kNode{7};
  SimDisk disk_;
  LogPosition snapshot_;  // the newest that the node has
  TestEnv env_{disk_};
  std::unique_ptr<Wal> wal_;
  uint64_t starts_ = 0;
  int durable_calls_ = 0;
};

}  // namespace assay::raft
