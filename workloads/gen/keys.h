// Concurrent keys: many short histories instead of a long one. The workers form groups of equal
// size; a group works on one key until the key is used up, then goes on to a new one, while the
// other groups are in the middle of theirs. A key is used up when its operations, a number drawn
// for each key, have been issued, or when an operation would need one process too many. Operations
// that were refused outright do not count: else a store that is down for a while would use up the
// keys on which something was lost, and nobody would read them when it is back. So a
// checker sees for each key a bounded number of operations and of processes, whatever crashes.
//
// Keys are "k1", "k2", … in the order in which they are begun. The last completions of a key may
// come when its group is at the next one already.
//
// Source: jepsen.independent/concurrent-generator and jepsen.generator/process-limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkers/history/rng.h"
#include "workloads/gen/generator.h"

namespace assay::gen {

struct KeysOptions {
  int group_size = 10;    // divides the number of workers of the share
  int64_t keys = 0;       // in all; 0: no end
  int64_t ops_min = 100;  // per key, drawn in [min, max]
  int64_t ops_max = 300;
  int processes_max = 20;  // per key, distinct; at least group_size
  std::string prefix = "k";
};

class ConcurrentKeys final : public Generator {
 public:
  // Makes the generator of one key's operations, over the workers of one group; the key itself is
  // put into those that name none (others name what lies under it: "k1/7"). The stream is the key's own. It may be done early: the key is used up then.
  using KeyGenerator = std::function<Gen(Symbol key, Rng rng)>;

  ConcurrentKeys(KeysOptions options, Rng rng, KeyGenerator make);

  Next next(const Context& context) override;
  void taken(const Context& context, const Next& next) override;
  void update(const Context& context, Worker worker, const Op& completion) override;

  // The key that each group works on or worked on last, the most recently begun first.
  std::vector<Symbol> keys_in_use() const;

 private:
  struct Group {
    Gen gen;  // of the current key; none between two
    int64_t key_number = 0;
    Symbol key;
    int64_t ops_left = 0;
    std::vector<Process> processes;
    int64_t last_key_number = 0;  // the last one that had an operation
    Symbol last_key;
    bool done = false;
  };

  void set_up(const Context& context);
  bool begin_key(Group& group);
  Next next_of(Group& group, const Context& share);
  bool admits(const Group& group, Process process) const;
  int group_of(const Context& context, Worker worker) const {
    return (worker - context.begin) / options_.group_size;
  }
  Context share_of(const Context& context, int group) const;

  const KeysOptions options_;
  Rng rng_;
  KeyGenerator make_;
  std::vector<Group> groups_;
  std::vector<int64_t> key_number_of_worker_;  // whose operation it runs or ran last
  int64_t keys_begun_ = 0;
  int chosen_ = 0;  // the group whose operation was proposed last
};

}  // namespace assay::gen
