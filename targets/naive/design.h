// Design: how one node of a naive store replicates, as the texts describe it. Each design works
// while nothing goes wrong and clients take turns; what each lacks stands at the top of its file.
//
// A design is single-threaded and does nothing of its own accord: its host hands it what comes in,
// and it acts through Env. Callbacks run at most once, possibly before the call that they were
// given to returns. Nothing here blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/kv/service/service.h"
#include "targets/raft/core/types.h"

namespace assay::naive {

using raft::kNobody;
using raft::NodeId;

class Env {
 public:
  virtual ~Env() = default;
  virtual int64_t now_ms() = 0;   // monotonic, from any start
  virtual int64_t wall_ms() = 0;  // this node's clock, which may be wrong
  // At most once, in order, or not at all; nobody says which.
  virtual void send(NodeId to, std::string message) = 0;
  // Durable before anything that is sent or answered after it. After a restart every record is
  // handed to Design::restore, in order.
  virtual void save(std::string_view record) = 0;
};

// The store's answer; an error of kv/http/error_table.h where the design did not do the request,
// or does not know.
using Done = std::function<void(kv::Result)>;

struct Status {
  bool leads = false;
  uint64_t epoch = 0;
  NodeId leader;  // as far as this node knows
  uint64_t applied = 0;
  uint64_t chain = 0;  // over the changes that this node has applied
};

// Which of two histories survives when the sides of a partition meet again.
enum class Merge : uint8_t {
  kLongest,      // the side with more changes wins whole
  kNewestClock,  // per key, the newest stamp of a wall clock
  kUnion,        // all keys of both sides; per key, the higher revision
};

struct DesignOptions {
  NodeId self;
  std::vector<NodeId> members;    // ascending: the order of the nodes' names
  bool guards = true;             // false: transactions' comparisons with MOD are not looked at
  int64_t failover_ms = 500;      // timeout_failover: so long a primary may be silent
  Merge merge = Merge::kLongest;  // both_sides_accept
};

class Design {
 public:
  virtual ~Design() = default;
  virtual void restore(std::string_view record) = 0;
  virtual void request(kv::Request request, Done done) = 0;
  virtual void on_message(std::string_view message) = 0;  // malformed ones are dropped
  virtual void on_tick() = 0;                             // every 20 ms or so
  virtual Status status() const = 0;
  virtual std::optional<uint64_t> chain_at(uint64_t applied) const = 0;
  // Its own copy; another object from time to time.
  virtual const kv::Service& service() const = 0;
};

// The designs; the Env must outlive what they give.
std::unique_ptr<Design> broadcast_copies(const DesignOptions& options, Env& env);
std::unique_ptr<Design> both_sides_accept(const DesignOptions& options, Env& env);
std::unique_ptr<Design> timeout_failover(const DesignOptions& options, Env& env);
std::unique_ptr<Design> reachable_group(const DesignOptions& options, Env& env);

struct DesignName {
  std::string_view name;
  std::unique_ptr<Design> (*make)(const DesignOptions& options, Env& env);
};
inline constexpr DesignName kDesigns[] = {
    {"broadcast-copies", broadcast_copies},
    {"both-sides-accept", both_sides_accept},
    {"timeout-failover", timeout_failover},
    {"reachable-group", reachable_group},
};

inline constexpr int64_t kBeatMs = 50;  // between two signs of life of a node

}  // namespace assay::naive
