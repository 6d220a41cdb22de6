// SimOracle: knows what must hold in a simulated cluster, and throws a Violation when it does not.
//
// After every step of a node: one leader per term, log matching, leader completeness, state-machine
// safety, a commit index that never decreases. Of the clients: what was acknowledged is there,
// once, where the answer said; what was refused is not there; no answer is older than one that was
// acknowledged before it was asked for; every read saw the state of its revision. Tests only.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "targets/raft/replica/replica.h"

namespace assay::raft {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One operation of a client. Values are unique in a run.
struct SimOp {
  enum class Kind : uint8_t { kPut, kGuardedPut, kDelete, kGet, kGetAll, kCompact };
  Kind kind = Kind::kGet;
  int client = 0;
  int node = 0;
  std::string key;
  std::string value;      // of puts
  kv::Revision expected;  // of a guarded put: the key's mod_revision; of a compaction: where
  kv::Revision floor;     // the highest revision acknowledged to anyone before it began

  kv::Request request() const;
  bool is_read() const { return kind == Kind::kGet || kind == Kind::kGetAll; }
  std::string describe() const;
};

class SimOracle {
 public:
  explicit SimOracle(int nodes) : nodes_(static_cast<size_t>(nodes)) {}

  // A node's process started; what was in memory is gone.
  void restarted(int node, const Replica& replica);
  // After each step of a node.
  void observe(int node, const Replica& replica);
  void applied(int node, const Entry& entry, const kv::Service& service);
  // A snapshot took the place of a node's state.
  void installed(int node, LogIndex index, const kv::Service& service);
  // All that was ever applied, never compacted.
  const kv::Service& model() const { return model_; }

  kv::Revision floor() const { return highest_acknowledged_; }
  void finished(const SimOp& op, const Answer& answer);

  // At the end, with a state that holds everything that was ever committed.
  void check_history(const kv::Service& service) const;

  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t elections() const { return leaders_.size(); }

 private:
  struct NodeView {
    std::vector<Term> terms;  // of the log; before its first entry, of what is committed
    LogIndex before_first;
    LogIndex commit;
    Term led;  // the last term that it was seen leading
  };
  struct KnownEntry {
    Term term;
    uint64_t payload_hash;
    Term previous_term;
  };
  struct Committed {
    Term term;     // of the entry
    Term in_term;  // in which it was first seen committed
  };
  struct Applied {
    Term term;
    uint64_t payload_hash;
    uint64_t state_hash;
  };
  struct State {
    bool known = false;
    uint64_t chain = 0;
    uint64_t state_hash = 0;
    kv::Revision compacted;
  };
  struct Finished {
    SimOp op;
    Answer answer;
  };

  void observe_log(int node, const Log& log);
  void observe_entry(int node, const Entry& entry, Term previous_term);
  void observe_leader(int node, const Core& core);
  void observe_commit(int node, const Core& core);
  void observe_state(int node, const ReplicaStatus& status);
  void note_front(int node, const Log& log);
  void apply_to_model(const Entry& entry);
  void check_done(const Finished& finished, const kv::Service& service) const;

  std::vector<NodeView> nodes_;
  std::map<Term, int> leaders_;
  std::vector<std::vector<KnownEntry>> known_;  // by index
  std::vector<Committed> committed_;            // by index - 1
  std::vector<Applied> applied_;                // by index - 1
  std::vector<State> states_;                   // by index
  kv::Service model_;
  std::vector<Finished> finished_;
  kv::Revision highest_acknowledged_;
  uint64_t acknowledged_ = 0;
};

}  // namespace assay::raft
