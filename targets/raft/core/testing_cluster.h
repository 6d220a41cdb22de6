// A cluster of cores for the tests: a disk that syncs at once or when told, and a network whose
// messages lie in the open until they are delivered, cut or dropped. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "targets/raft/core/core.h"

namespace assay::raft {

inline Payload text(const std::string& bytes) { return std::make_shared<const std::string>(bytes); }

inline Entry entry(uint64_t index, uint64_t term, const std::string& bytes = "") {
  return {Term{term}, LogIndex{index}, bytes.empty() ? EntryKind::kNoop : EntryKind::kCommand,
          bytes.empty() ? nullptr : text(bytes)};
}

// A log whose entries have these terms.
inline std::vector<Entry> log_of(const std::vector<uint64_t>& terms) {
  std::vector<Entry> entries;
  for (uint64_t term : terms) {
    const uint64_t index = entries.size() + 1;
    std::string bytes = std::to_string(term);
    bytes.append(".").append(std::to_string(index));
    entries.push_back(entry(index, term, bytes));
  }
  return entries;
}

class TestingCluster {
 public:
  struct Member {
    std::unique_ptr<Core> core;
    HardState disk_state;
    LogIndex disk_base;  // the entry before the first of disk_log
    Term disk_base_term;
    std::vector<Entry> disk_log;
    std::vector<std::string> disk_snapshot;  // what was applied, at disk_base or later
    std::vector<uint64_t> snapshots_wanted;  // by these members
    std::vector<Message> waiting_for_sync;
    std::vector<std::string> applied;
    std::map<uint64_t, uint64_t> granted_reads;  // id -> index
    std::vector<uint64_t> aborted_reads;
    bool disk_stalls = false;
  };

  explicit TestingCluster(int size, std::function<void(Config&)> adjust = {})
      : size_(size), adjust_(std::move(adjust)) {
    for (int id = 1; id <= size; ++id) restart(id);
  }

  Core& operator[](int id) { return *members_[id].core; }
  Member& member(int id) { return members_[id]; }
  std::vector<Message>& wire() { return wire_; }

  // A new process over what is on the member's disk.
  void restart(int id) {
    Member& member = members_[id];
    Config config;
    config.id = NodeId{static_cast<uint64_t>(id)};
    for (int voter = 1; voter <= size_; ++voter) {
      config.voters.push_back(NodeId{static_cast<uint64_t>(voter)});
    }
    config.election_ticks_min = 10;
    config.election_ticks_max = 20;
    config.heartbeat_ticks = 2;
    config.seed = static_cast<uint64_t>(id);
    if (adjust_) adjust_(config);
    Member fresh;
    fresh.disk_state = member.disk_state;
    fresh.disk_base = member.disk_base;
    fresh.disk_base_term = member.disk_base_term;
    fresh.disk_log = member.disk_log;
    fresh.applied = fresh.disk_snapshot = member.disk_snapshot;
    fresh.core = std::make_unique<Core>(
        config, Restored{member.disk_state, member.disk_base, member.disk_base_term,
                         member.disk_log, LogIndex{fresh.applied.size()}});
    member = std::move(fresh);
  }

  void restart_with(int id, uint64_t term, const std::vector<uint64_t>& terms_of_log) {
    members_[id].disk_state = {Term{term}, kNobody};
    members_[id].disk_log = log_of(terms_of_log);
    restart(id);
  }

  // Does what the core of the member wants done.
  void pump(int id) {
    Member& member = members_[id];
    for (Ready ready = member.core->ready(); !ready.empty(); ready = member.core->ready()) {
      if (ready.hard_state) member.disk_state = *ready.hard_state;
      if (!ready.entries.empty()) {
        member.disk_log.resize(ready.entries[0].index - (member.disk_base + 1));
        member.disk_log.insert(member.disk_log.end(), ready.entries.begin(), ready.entries.end());
      }
      for (Message& message : ready.messages) wire_.push_back(std::move(message));
      for (Message& message : ready.after_sync)
        member.waiting_for_sync.push_back(std::move(message));
      for (const Entry& entry : ready.committed) member.applied.emplace_back(entry.bytes());
      if (!ready.committed.empty()) member.core->advance(ready.committed.back().index);
      for (const ReadGrant& read : ready.reads)
        member.granted_reads[read.id.value] = read.index.value;
      for (ReadId read : ready.aborted_reads) member.aborted_reads.push_back(read.value);
      for (NodeId node : ready.snapshots) member.snapshots_wanted.push_back(node.value);
      if (!member.disk_stalls) sync(id);
    }
  }
  void pump_all() {
    for (int id = 1; id <= size_; ++id) pump(id);
  }

  // What waited for the disk goes out.
  void sync(int id) {
    for (Message& message : std::exchange(members_[id].waiting_for_sync, {})) {
      if (message.to == message.from) {
        members_[id].core->step(std::move(message));
      } else {
        wire_.push_back(std::move(message));
      }
    }
  }

  // Keeps a snapshot of all that is applied, and of the log only what comes after `through`.
  void compact(int id, uint64_t through) {
    Member& member = members_[id];
    member.disk_snapshot = member.applied;
    const Log& log = member.core->log();
    member.disk_base_term = log.term_at(LogIndex{through});
    member.disk_log.erase(
        member.disk_log.begin(),
        member.disk_log.begin() + static_cast<ptrdiff_t>(LogIndex{through} - member.disk_base));
    member.disk_base = LogIndex{through};
    member.core->compact(LogIndex{through});
  }
  // What `from` has applied, taken out of it as a snapshot.
  struct Snapshot {
    std::vector<std::string> applied;
    LogIndex index;
    Term term;
  };
  Snapshot snapshot_of(int from) {
    const Core& core = *members_[from].core;
    return {members_[from].applied, core.applied(), core.log().term_at(core.applied())};
  }
  // False: ignored.
  bool install(int to, const Snapshot& snapshot) {
    Member& member = members_[to];
    pump(to);
    if (!member.core->install(snapshot.index, snapshot.term)) return false;
    member.applied = member.disk_snapshot = snapshot.applied;
    if (member.core->log().before_first() == snapshot.index) {
      member.disk_base = snapshot.index;
      member.disk_base_term = snapshot.term;
      member.disk_log.clear();
    }
    pump(to);
    return true;
  }

  void cut(int a, int b) { cuts_.push_back({a, b}); }
  void isolate(int id) {
    for (int other = 1; other <= size_; ++other) {
      if (other != id) cut(id, other);
    }
  }
  void heal() { cuts_.clear(); }

  // Delivers until the wire is silent; what crosses a cut is lost.
  void settle() {
    pump_all();
    while (!wire_.empty()) {
      for (Message& message : std::exchange(wire_, {})) {
        if (!crosses_cut(message)) deliver(std::move(message));
      }
      pump_all();
    }
  }
  void deliver(Message message) {
    const int to = static_cast<int>(message.to.value);
    members_[to].core->step(std::move(message));
    pump(to);
  }
  // Takes the messages of a kind off the wire, in order.
  std::vector<Message> take(MessageType type) {
    std::vector<Message> taken;
    std::vector<Message> rest;
    for (Message& message : std::exchange(wire_, {})) {
      (message.type == type ? taken : rest).push_back(std::move(message));
    }
    wire_ = std::move(rest);
    return taken;
  }

  void tick(int id, int times = 1) {
    for (int i = 0; i < times; ++i) members_[id].core->tick();
    pump(id);
  }
  // Time passes for all, with all messages delivered in each tick.
  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      for (int id = 1; id <= size_; ++id) tick(id);
      settle();
    }
  }
  // Makes the member lead, once the others no longer hear a leader.
  void elect(int id) {
    for (int other = 1; other <= size_; ++other) {
      if (other != id && members_[other].core->leader() != NodeId{static_cast<uint64_t>(id)}) {
        forget_leader(other);
      }
    }
    members_[id].core->campaign();
    settle();
    ASSERT_EQ(members_[id].core->role(), Role::kLeader);
  }
  void propose(int id, const std::string& bytes) {
    ASSERT_TRUE(members_[id].core->propose(text(bytes)).has_value());
  }

 private:
  bool crosses_cut(const Message& message) const {
    const int from = static_cast<int>(message.from.value);
    const int to = static_cast<int>(message.to.value);
    return std::any_of(cuts_.begin(), cuts_.end(), [&](const std::pair<int, int>& cut) {
      return cut == std::pair{from, to} || cut == std::pair{to, from};
    });
  }
  // Ticks up to the least election time-out, at which no one stands yet.
  void forget_leader(int id) {
    if (members_[id].core->role() != Role::kFollower) return;
    for (int i = 0; i < 10 && members_[id].core->role() == Role::kFollower; ++i) {
      members_[id].core->tick();
    }
    pump(id);
  }

  int size_;
  std::function<void(Config&)> adjust_;
  std::map<int, Member> members_;
  std::vector<Message> wire_;
  std::vector<std::pair<int, int>> cuts_;
};

}  // namespace assay::raft
