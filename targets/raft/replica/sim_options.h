// What a simulated run is made of. Every option is drawn from the seed (swarm testing: leaving
// features out of a run finds more than one tuned mixture). Tests only. Times are microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "targets/raft/replica/replica.h"

namespace assay::raft {

enum class SimFault : uint8_t {
  kCutOne,  // one node from all others
  kCutLeader,
  kCutHalves,
  kCutBridge,  // two halves that only one node sees both of
  kCutOneWay,  // one node's messages are lost, it still hears
  kHeal,
  kKillOne,  // the process dies, the page cache stays
  kKillLeader,
  kKillAll,
  kPowerOne,  // unsynced bytes and names are lost
  kPowerMajority,
  kPowerAll,
  kPauseOne,
  kPauseLeader,
  kSlowDisk,  // one node's syncs take long for a while
  kFailSync,  // one node's next sync fails: its process ends
};
std::string_view to_string(SimFault fault);

struct SimOptions {
  uint64_t seed = 1;
  bool verbose = false;  // tells the story on standard error

  int nodes = 3;
  int clients = 3;
  int keys = 2;
  Canary canary;
  Mutations mutations;

  int64_t tick = 10'000;
  int election_ticks_min = 10;
  int election_ticks_max = 20;
  int heartbeat_ticks = 3;
  bool pre_vote = true;
  bool check_quorum = true;
  size_t append_bytes_max = 1 << 20;
  size_t append_entries_max = 64;
  size_t appends_in_flight_max = 16;
  size_t apply_bytes_max = 1 << 20;
  size_t uncommitted_bytes_max = 1 << 20;
  size_t segment_bytes = 4096;
  uint64_t snapshot_entries = 0;  // 0: no snapshots
  uint64_t snapshot_keep_entries = 0;
  StreamLimits stream;
  int snapshot_ticks = 100;
  int64_t request_timeout = 2'000'000;
  int64_t pump_delay_max = 200;

  int64_t delay_min = 50;
  int64_t delay_max = 500;
  uint64_t slow_per_mille = 0;  // messages that take up to slow_max: they are overtaken
  int64_t slow_max = 50'000;
  uint64_t loss_per_mille = 0;
  uint64_t repeat_per_mille = 0;

  int64_t sync_min = 50;
  int64_t sync_max = 500;

  int readers = 0;             // of the clients, that only read: they are never stuck in a write
  int64_t think_max = 20'000;  // between two operations of a client
  int64_t client_timeout = 800'000;
  uint64_t value_bytes_max = 16;

  int64_t storm = 2'500'000;
  int64_t fault_gap_max = 400'000;
  int64_t down_max = 400'000;    // until a dead node starts again
  std::vector<SimFault> faults;  // drawn from with equal weight; empty: none

  uint64_t hunt_per_mille = 0;  // new leaders that are struck soon after their election
  int64_t hunt_delay_max = 60'000;
  uint64_t snapshot_crash_per_mille = 0;  // steps of the disk with a snapshot before which it ends
  bool heal_majority_first = false;       // progress must come while the others are still broken

  // All options of a run; the mutations and canaries are none.
  static SimOptions draw(uint64_t seed);
  // Of a run in which members lag behind what the others keep, and snapshots have a hard time.
  static SimOptions draw_lagging(uint64_t seed);
  std::string describe() const;
};

}  // namespace assay::raft
