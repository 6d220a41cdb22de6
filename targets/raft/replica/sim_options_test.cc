#include "targets/raft/replica/sim_options.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "targets/raft/replica/sim_random.h"

namespace assay::raft {
namespace {

const std::vector<SimFault> kAllFaults = {
    SimFault::kCutOne,    SimFault::kCutLeader,   SimFault::kCutHalves,     SimFault::kCutBridge,
    SimFault::kCutOneWay, SimFault::kHeal,        SimFault::kKillOne,       SimFault::kKillLeader,
    SimFault::kKillAll,   SimFault::kPowerOne,    SimFault::kPowerMajority, SimFault::kPowerAll,
    SimFault::kPauseOne,  SimFault::kPauseLeader, SimFault::kSlowDisk,      SimFault::kFailSync};

// Leaders die young, often before their first entry has reached anybody; appends are small and
// few, clients are slow, dead nodes come back soon. The interleavings of figure 8 of the Raft
// paper, and others that turn on which entry went where, become likely.
void hunt(SimRandom& random, SimOptions& options) {
  options.nodes = random.chance(800) ? 3 : 5;
  options.heartbeat_ticks = 1;
  options.election_ticks_min = static_cast<int>(random.between(3, 6));
  options.election_ticks_max = 2 * options.election_ticks_min;
  options.append_entries_max = 1;
  options.appends_in_flight_max = 1;
  options.clients = static_cast<int>(random.between(1, 2));
  options.readers = 0;
  options.think_max = random.between(20, 100) * 1000;
  options.client_timeout = 200'000;
  options.delay_min = random.between(500, 3000);
  options.delay_max = 2 * options.delay_min;
  options.slow_per_mille = 0;
  options.sync_max = 300;
  options.pump_delay_max = 100;
  options.hunt_per_mille = static_cast<uint64_t>(random.between(700, 1000));
  options.hunt_delay_max = options.delay_max * random.between(4, 10);
  options.down_max = random.between(50, 250) * 1000;
  options.faults.clear();
  options.loss_per_mille = random.chance(700) ? 0 : random.below(100);
}

// Leaders are cut off or stopped while clients read from them, and others are quick to elect: what
// an old leader answers on its own becomes visible.
void depose(SimRandom& random, SimOptions& options) {
  options.clients = 2 * options.nodes;
  options.readers = options.nodes;
  options.think_max = random.between(1, 5) * 1000;
  options.election_ticks_max = options.election_ticks_min + 2;
  options.faults = {SimFault::kCutLeader, SimFault::kCutLeader, SimFault::kHeal};
  if (random.chance(500)) options.faults.push_back(SimFault::kPauseLeader);
  if (random.chance(500)) options.faults.push_back(SimFault::kCutOneWay);
  options.fault_gap_max = random.between(100, 500) * 1000;
}

// Power goes often, segments are small.
void lose_power_often(SimRandom& random, SimOptions& options) {
  options.segment_bytes = static_cast<size_t>(random.between(1, 300));
  options.faults = {SimFault::kPowerOne, SimFault::kPowerMajority, SimFault::kPowerAll,
                    SimFault::kKillOne, SimFault::kFailSync};
  options.fault_gap_max = random.between(50, 300) * 1000;
  options.down_max = random.between(20, 200) * 1000;
}

// Nodes are cut off until the others have dropped what they lack, and processes end in the middle
// of writing and of installing snapshots.
void lag(SimRandom& random, SimOptions& options) {
  options.clients = static_cast<int>(random.between(3, 6));
  options.readers = 1;
  options.think_max = random.between(1, 4) * 1000;
  options.faults = {SimFault::kCutOne,  SimFault::kCutOne,   SimFault::kHeal,
                    SimFault::kKillOne, SimFault::kPowerOne, SimFault::kPowerAll};
  if (random.chance(500)) options.faults.push_back(SimFault::kCutLeader);
  if (random.chance(300)) options.faults.push_back(SimFault::kSlowDisk);
  options.fault_gap_max = random.between(100, 400) * 1000;
  options.snapshot_crash_per_mille = random.chance(700) ? random.below(60) : 0;
}

// Thresholds so small that a run is full of snapshots.
void draw_snapshots(SimRandom& random, SimOptions& options) {
  if (random.chance(250)) return;
  options.snapshot_entries = static_cast<uint64_t>(random.between(5, 50));
  options.snapshot_keep_entries = random.chance(400) ? 0 : random.below(20);
  options.stream.chunk_bytes = static_cast<size_t>(random.between(100, 3000));
  options.stream.window = static_cast<size_t>(random.between(1, 4));
  options.stream.resend_ticks = static_cast<int>(random.between(4, 20));
  options.snapshot_ticks = static_cast<int>(random.between(40, 150));
  if (random.chance(300)) options.snapshot_crash_per_mille = random.below(30);
}

}  // namespace

std::string_view to_string(SimFault fault) {
  switch (fault) {
    case SimFault::kCutOne:
      return "cut one";
    case SimFault::kCutLeader:
      return "cut leader";
    case SimFault::kCutHalves:
      return "cut halves";
    case SimFault::kCutBridge:
      return "cut bridge";
    case SimFault::kCutOneWay:
      return "cut one way";
    case SimFault::kHeal:
      return "heal";
    case SimFault::kKillOne:
      return "kill one";
    case SimFault::kKillLeader:
      return "kill leader";
    case SimFault::kKillAll:
      return "kill all";
    case SimFault::kPowerOne:
      return "power one";
    case SimFault::kPowerMajority:
      return "power majority";
    case SimFault::kPowerAll:
      return "power all";
    case SimFault::kPauseOne:
      return "pause one";
    case SimFault::kPauseLeader:
      return "pause leader";
    case SimFault::kSlowDisk:
      return "slow disk";
    case SimFault::kFailSync:
      return "fail sync";
  }
  return "?";
}

SimOptions SimOptions::draw(uint64_t seed) {
  SimRandom random(seed, "options");
  SimOptions options;
  options.seed = seed;
  options.nodes = static_cast<int>(random.between(3, 5));
  options.clients = static_cast<int>(random.between(2, 6));
  options.readers = static_cast<int>(random.between(0, options.clients / 2));
  options.keys = static_cast<int>(random.between(1, 4));
  options.heartbeat_ticks = static_cast<int>(random.between(1, 4));
  options.election_ticks_min = options.heartbeat_ticks * static_cast<int>(random.between(2, 4)) + 2;
  options.election_ticks_max = options.election_ticks_min * static_cast<int>(random.between(2, 3));
  options.append_entries_max = random.chance(300) ? 1 : static_cast<size_t>(random.between(2, 64));
  options.append_bytes_max = random.chance(300) ? 100 : 1 << 20;
  options.appends_in_flight_max = static_cast<size_t>(random.between(1, 16));
  options.apply_bytes_max = random.chance(300) ? 60 : 1 << 20;
  options.uncommitted_bytes_max = random.chance(200) ? 200 : 1 << 20;
  options.segment_bytes = static_cast<size_t>(random.between(100, 6000));
  options.request_timeout = random.between(200, 3000) * 1000;
  options.pump_delay_max = random.chance(300) ? 3000 : random.between(0, 300);
  options.delay_max = random.chance(200) ? random.between(1, 20) * 1000 : 500;
  if (random.chance(600)) {
    options.slow_per_mille = static_cast<uint64_t>(random.between(1, 200));
    options.slow_max = random.between(5, 150) * 1000;
  }
  if (random.chance(500)) options.loss_per_mille = random.below(150);
  if (random.chance(600)) options.repeat_per_mille = random.below(150);
  options.sync_max = random.chance(250) ? random.between(1, 30) * 1000 : 500;
  options.think_max =
      random.chance(300) ? random.between(1, 5) * 1000 : random.between(5, 60) * 1000;
  options.client_timeout = random.between(100, 1000) * 1000;
  options.value_bytes_max = random.chance(200) ? 400 : 16;
  options.storm = random.between(1500, 3500) * 1000;
  options.fault_gap_max = random.between(50, 800) * 1000;
  options.down_max = random.between(20, 800) * 1000;
  for (SimFault fault : kAllFaults) {
    if (random.chance(400)) options.faults.push_back(fault);
  }
  options.heal_majority_first = random.chance(300);
  options.pre_vote = !random.chance(150);
  options.check_quorum = !random.chance(150);
  const uint64_t kind = random.below(10);
  switch (kind) {
    case 0:
    case 1:
      hunt(random, options);
      break;
    case 2:
      lose_power_often(random, options);
      break;
    case 3:
      depose(random, options);
      break;
    default:
      break;
  }
  draw_snapshots(random, options);
  if (kind == 4 || kind == 5) lag(random, options);
  return options;
}

SimOptions SimOptions::draw_lagging(uint64_t seed) {
  SimOptions options = draw(seed);
  SimRandom random(seed, "lagging");
  while (options.snapshot_entries == 0) draw_snapshots(random, options);
  lag(random, options);
  options.hunt_per_mille = random.chance(300) ? 500 : 0;
  options.snapshot_entries = static_cast<uint64_t>(random.between(5, 15));
  options.snapshot_keep_entries = random.below(12);
  options.snapshot_ticks = static_cast<int>(random.between(10, 60));
  options.stream.chunk_bytes = static_cast<size_t>(random.between(100, 800));
  options.snapshot_crash_per_mille = random.below(80);
  options.faults.push_back(SimFault::kPauseOne);
  options.faults.push_back(SimFault::kCutBridge);
  options.faults.push_back(SimFault::kKillLeader);
  if (random.chance(400)) options.sync_max = random.between(5, 30) * 1000;
  return options;
}

std::string SimOptions::describe() const {
  std::ostringstream out;
  out << "nodes " << nodes << ", clients " << clients << " (" << readers << " only read), keys "
      << keys << ", election " << election_ticks_min << "-" << election_ticks_max
      << " ticks, snapshot every " << snapshot_entries << " keep " << snapshot_keep_entries
      << ", chunk " << stream.chunk_bytes << " x " << stream.window << ", crash "
      << snapshot_crash_per_mille << ", heartbeat " << heartbeat_ticks << ", append "
      << append_entries_max << " entries " << append_bytes_max << " bytes, window "
      << appends_in_flight_max << ", segment " << segment_bytes << ", delay to " << delay_max
      << " us, slow " << slow_per_mille << " per mille to " << slow_max << ", loss "
      << loss_per_mille << ", repeat " << repeat_per_mille << ", sync to " << sync_max
      << ", think to " << think_max << ", hunt " << hunt_per_mille << " within " << hunt_delay_max
      << ", faults:";
  for (SimFault fault : faults) out << " [" << to_string(fault) << "]";
  return out.str();
}

namespace {

TEST(SimOptions, AreTheSameForASeedAndDifferBetweenSeeds) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    EXPECT_EQ(SimOptions::draw(seed).describe(), SimOptions::draw(seed).describe());
    seen.insert(SimOptions::draw(seed).describe());
  }
  EXPECT_EQ(seen.size(), 100u);
}

}  // namespace
}  // namespace assay::raft
