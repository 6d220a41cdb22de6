// SimCluster: a whole cluster with its clients in one thread and in virtual time, made of the real
// replica, log and store over a simulated network, disk and clock. One seed gives one run, bit for
// bit. A run is a storm of faults, then a heal, after which progress is demanded, then the checks
// of the clients' history. Tests only; a full simulator will grow from it.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "targets/raft/replica/sim_disk.h"
#include "targets/raft/replica/sim_options.h"
#include "targets/raft/replica/sim_oracle.h"

namespace assay::raft {

// How often things happened over a run, or over many.
struct SimCounts {
  Marks core;
  ReplicaMarks replica;
  uint64_t events = 0;
  uint64_t acknowledged = 0;
  uint64_t elections = 0;
  uint64_t failed_syncs = 0;
  uint64_t names_lost = 0;  // files whose name a power loss took
  // Processes that ended before a step of the disk with a snapshot, by the step's kind.
  std::array<uint64_t, 6> ended_in_snapshot{};
  uint64_t virtual_us = 0;

  void add(const SimCounts& other);
};

struct SimOutcome {
  std::optional<std::string> violation;
  SimCounts counts;
  uint64_t trace = 0;  // hash of everything that happened, and of one more draw of each stream
};

SimOutcome simulate(const SimOptions& options);

class SimCluster {
 public:
  explicit SimCluster(const SimOptions& options);
  ~SimCluster();

  // Throws a Violation.
  void run();

  SimCounts counts() const;
  uint64_t trace();

 private:
  class Host;
  struct Client {
    uint64_t operation = 0;  // counts; a late answer to an earlier one is ignored
    uint64_t values = 0;
    std::vector<kv::Revision> last_seen;  // mod_revision by key
  };
  struct Event {
    int64_t time;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };

  void at(int64_t delay, std::function<void()> run);
  // Runs on a node, if the same process is still alive; later, if it is paused.
  void on_node(int node, int64_t delay, std::function<void()> run);
  bool step();  // the next event; false when there is none
  void run_until(int64_t time, const std::function<bool()>& done = {});
  void tell(const std::string& line);
  void note(uint64_t what);

  // Nodes.
  void start(int node);
  void kill(int node, bool power);
  void guarded(int node, const std::function<void()>& run);
  void schedule_tick(int node);
  void send(int from, NodeId to, std::string bytes);
  void disk_works(int node, const DiskOp& op);
  void maybe_end_in_snapshot(int node, const DiskOp& op);
  void maybe_hunt(int node);
  int leader() const;  // some node that leads, or -1
  std::vector<int> draw_nodes(size_t count);

  // Faults.
  void schedule_fault();
  void strike(SimFault fault);
  void cut(const std::vector<int>& side);
  void heal_links();
  void pause(int node);
  void resume(int node);

  // Clients.
  void schedule_operation(int client);
  void begin_operation(int client);
  SimOp draw_operation(int client);
  void end_operation(int client, const SimOp& op, const Answer& answer);

  // The end.
  void heal(const std::vector<int>& nodes);
  void demand_progress(const std::vector<int>& nodes);
  void demand_agreement();

  SimOptions options_;
  SimRandom network_;
  SimRandom disks_;
  SimRandom faults_;
  SimRandom clients_random_;
  SimRandom nodes_random_;
  SimOracle oracle_;

  int64_t now_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  kv::Hasher trace_;

  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::vector<bool>> cut_;  // [from][to]
  std::vector<Client> clients_;
  bool storm_ = true;
  SimCounts counts_;
};

}  // namespace assay::raft
