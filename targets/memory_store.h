// MemoryStore: the state of the target `memory`: a map with revisions and, from the first list or
// watch on, the log of its changes. Right, but for what its settings make wrong on purpose.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "checkers/history/op.h"
#include "checkers/history/rng.h"
#include "checkers/history/watch_value.h"

namespace assay {

struct MemorySettings {
  int64_t latency_us = 1000;
  int64_t unknown_percent = 0;
  int64_t stale_reads = 0;  // one in so many; 0: never
  int64_t lost_writes = 0;
  int64_t blind_cas = 0;
  int64_t watch_from_now = 0;  // one in so many: the start revision of a watch is forgotten
};

// A watch under way.
struct MemoryWatch {
  WatchWish wish;
  WatchSeen seen;
  bool over = false;
};

class MemoryStore {
 public:
  MemoryStore(const MemorySettings& settings, uint64_t seed)
      : settings_(settings), rng_(Rng(seed).stream("memory")) {}

  const MemorySettings& settings() const { return settings_; }
  Rng& rng() { return rng_; }

  // Takes effect now, and gives the completion. Of any operation but a watch.
  Op apply(const Op& op);

  MemoryWatch begin_watch(const WatchWish& wish);
  // What has happened since the last call.
  void follow(MemoryWatch& watch) const;

 private:
  struct Version {
    Value value;
    int64_t revision = 0;  // 0: absent
  };
  struct Cell {
    Version now;
    Version before;  // what a stale read answers
  };

  bool strikes(int64_t one_in);
  Op answer(Op op, int64_t revision) const;
  Op read(const Op& op, const Cell& cell);
  Op list(const Op& op);
  Op change(const Op& op, Cell& cell, const Value& value);
  Op compared(const Op& op, Cell& cell, const Value& next);
  Op remove(const Op& op, Cell& cell);
  Op txn(const Op& op);
  Op compact(const Op& op);
  Op conflict(const Op& op, const char* cls, Token current) const;
  void set(Symbol key, Cell& cell, const Value& value, bool deletes);

  MemorySettings settings_;
  Rng rng_;
  int64_t revision_ = 0;
  int64_t compacted_ = 0;
  std::unordered_map<Symbol, Cell> cells_;
  bool keeps_log_ = false;
  std::deque<WatchedEvent> log_;
};

}  // namespace assay
