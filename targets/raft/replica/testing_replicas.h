// Three replicas in one thread, for the tests. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "targets/raft/replica/replica.h"
#include "targets/raft/replica/sim_disk.h"

namespace assay::raft {

// Three replicas whose disks work at once unless stalled, and whose messages are delivered when the
// test says so.
class ReplicaTest : public ::testing::Test {
 protected:
  class Host : public Env, public Net, public Clock {
   public:
    Host(ReplicaTest& test, int id) : test_(test), id_(id) {}
    Disk& disk() override { return disk_; }
    Net& net() override { return *this; }
    Clock& clock() override { return *this; }
    void request_pump() override {}
    void fatal(const std::string& message) override { throw std::runtime_error(message); }
    void send(NodeId to, std::string bytes) override {
      test_.wire_.push_back({id_, static_cast<int>(to.value), std::move(bytes)});
    }
    std::chrono::nanoseconds now() override { return test_.now_; }

    SimDisk disk_;
    std::unique_ptr<Replica> replica_;
    bool disk_stalls = false;

   private:
    ReplicaTest& test_;
    int id_;
  };
  struct Packet {
    int from;
    int to;
    std::string bytes;
  };

  ReplicaTest() {
    for (int id = 1; id <= 3; ++id) hosts_.push_back(std::make_unique<Host>(*this, id));
    for (int id = 1; id <= 3; ++id) start(id);
  }

  Host& host(int id) { return *hosts_[static_cast<size_t>(id) - 1]; }
  Replica& operator[](int id) { return *host(id).replica_; }

  void start(int id) {
    ReplicaOptions options;
    options.raft.id = NodeId{static_cast<uint64_t>(id)};
    options.raft.voters = {NodeId{1}, NodeId{2}, NodeId{3}};
    options.raft.election_ticks_min = 10;
    options.raft.election_ticks_max = 20;
    options.raft.heartbeat_ticks = 2;
    options.raft.seed = static_cast<uint64_t>(id);
    options.incarnation = ++starts_;
    options.canary = canary_;
    if (adjust_) adjust_(options);
    std::string error;
    host(id).replica_.reset();
    host(id).replica_ = Replica::open(std::move(options), host(id), error);
    ASSERT_TRUE(host(id).replica_) << error;
  }
  void restart_all() {
    for (int id = 1; id <= 3; ++id) start(id);
  }

  void pump(int id) {
    for (int i = 0; i < 10; ++i) {
      (*this)[id].pump();
      if (!host(id).disk_stalls) host(id).disk_.do_all();
    }
  }
  void deliver(const Packet& packet) {
    (*this)[packet.to].on_message(packet.bytes);
    pump(packet.to);
  }
  bool crosses_cut(const Packet& packet) const {
    return isolated_.contains(packet.from) || isolated_.contains(packet.to);
  }
  void settle() {
    for (int id = 1; id <= 3; ++id) pump(id);
    while (!wire_.empty()) {
      for (const Packet& packet : std::exchange(wire_, {})) {
        if (!crosses_cut(packet)) deliver(packet);
      }
    }
  }
  // Delivers until a message is met, which is kept back.
  void settle_until(const std::function<bool(const Packet&)>& met) {
    for (int id = 1; id <= 3; ++id) pump(id);
    while (!wire_.empty()) {
      for (const Packet& packet : std::exchange(wire_, {})) {
        if (met(packet)) return;
        deliver(packet);
      }
    }
    FAIL() << "no such message";
  }
  void tick(int id, int times = 1) {
    for (int i = 0; i < times; ++i) (*this)[id].on_tick();
    pump(id);
  }
  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      now_ += std::chrono::milliseconds(10);
      for (int id = 1; id <= 3; ++id) tick(id);
      settle();
    }
  }
  // Lets time pass until the node leads; the others stand still.
  void elect(int id) {
    for (int i = 0; i < 200 && (*this)[id].status().role != Role::kLeader; ++i) {
      for (int other = 1; other <= 3; ++other) {
        if (other == id || i < 10) tick(other);
        if (other != id && (*this)[other].status().role != Role::kFollower) settle();
      }
      settle();
    }
    ASSERT_EQ((*this)[id].status().role, Role::kLeader);
    settle();
  }

  static kv::PutRequest put(const std::string& key, const std::string& value) {
    return {key, value, false};
  }
  static kv::RangeRequest get(const std::string& key) {
    kv::RangeRequest range;
    range.key = key;
    return range;
  }
  struct Waiting {
    std::optional<Answer> answer;
    Done done() {
      return [this](Answer got) {
        EXPECT_FALSE(answer.has_value()) << "answered twice";
        answer = std::move(got);
      };
    }
    bool is(Fate fate, Reason reason = Reason::kNone) const {
      return answer && answer->fate == fate && answer->reason == reason;
    }
    const kv::Response& response() const { return std::get<kv::Response>(answer->result); }
    std::string value() const {
      const auto& kvs = std::get<kv::RangeResponse>(response().body).kvs;
      return kvs.empty() ? "(absent)" : kvs[0]->value;
    }
  };

  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Packet> wire_;
  std::set<int> isolated_;
  std::chrono::nanoseconds now_{std::chrono::seconds(1)};
  uint64_t starts_ = 0;
  Canary canary_;
  std::function<void(ReplicaOptions&)> adjust_;
};

}  // namespace assay::raft
