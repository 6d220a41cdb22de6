// Second opinions on small histories, for tests and benchmarks only: as plain as possible, and
// sharing nothing with the search but KeyHistory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checkers/linearizable/key_history.h"

namespace assay::linearizable {

// The operations that an order must or may hold, by the table of the definition.
struct OracleOp {
  enum Kind { kRead, kWrite, kCas, kMismatch } kind;
  bool required;
  Position call;
  Position ret;
  int from;
  int to;
};

inline std::vector<OracleOp> oracle_ops(const KeyHistory& history, int& initial) {
  std::vector<Scalar> values{history.conventions.initial};
  auto id = [&](const Scalar& s) {
    const auto at = std::find(values.begin(), values.end(), s);
    if (at != values.end()) return static_cast<int>(at - values.begin());
    values.push_back(s);
    return static_cast<int>(values.size()) - 1;
  };
  initial = 0;
  std::vector<OracleOp> ops;
  for (const KeyOp& op : history.ops) {
    const bool ok = op.type == OpType::kOk;
    const bool fail = op.type == OpType::kFail;
    const Position ret = op.type == OpType::kInfo ? kOpen : op.ret;
    switch (op.f) {
      case Call::kRead:
        if (ok && (history.conventions.null_read_is_value || op.value != Scalar{})) {
          ops.push_back({OracleOp::kRead, true, op.call, ret, id(op.value), 0});
        }
        break;
      case Call::kWrite:
        if (!fail) ops.push_back({OracleOp::kWrite, ok, op.call, ret, 0, id(op.value)});
        break;
      case Call::kCas:
        if (!fail) {
          ops.push_back({OracleOp::kCas, ok, op.call, ret, id(op.value), id(op.next)});
        } else if (history.conventions.failed_cas_observes && op.mismatch) {
          ops.push_back({OracleOp::kMismatch, true, op.call, ret, id(op.value), 0});
        }
        break;
    }
  }
  return ops;
}

inline bool oracle_step(const OracleOp& op, int state, int& next) {
  next = op.kind == OracleOp::kWrite || op.kind == OracleOp::kCas ? op.to : state;
  if (op.kind == OracleOp::kWrite) return true;
  return (op.kind == OracleOp::kMismatch) != (op.from == state);
}

// Memoised search over (set of placed operations, state); at most 24 operations.
class BruteForce {
 public:
  bool valid(const KeyHistory& history) {
    int initial = 0;
    ops_ = oracle_ops(history, initial);
    ASSAY_CHECK(ops_.size() <= 24, "%zu operations", ops_.size());
    required_ = 0;
    before_.assign(ops_.size(), 0);
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].required) required_ |= 1u << i;
      for (size_t j = 0; j < ops_.size(); ++j) {
        if (ops_[j].required && ops_[j].ret < ops_[i].call) before_[i] |= 1u << j;
      }
    }
    seen_.clear();
    return search(0, initial);
  }

 private:
  bool search(uint32_t placed, int state) {
    if ((required_ & ~placed) == 0) return true;
    if (!seen_.insert(uint64_t{placed} << 32 | static_cast<uint32_t>(state)).second) return false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      int next = 0;
      if (placed >> i & 1 || (before_[i] & ~placed) != 0) continue;
      if (oracle_step(ops_[i], state, next) && search(placed | 1u << i, next)) return true;
    }
    return false;
  }

  std::vector<OracleOp> ops_;
  uint32_t required_ = 0;
  std::vector<uint32_t> before_;  // must be placed first
  std::unordered_set<uint64_t> seen_;
};

// The search of Wing and Gong with Lowe's memo, as Porcupine has it: walk the list of events, place
// what fits, go back at a return that was not placed. Gives up after `steps_max` steps.
class WingGongLowe {
 public:
  enum class Answer { kValid, kInvalid, kGaveUp };

  Answer check(const KeyHistory& history, uint64_t steps_max = UINT64_MAX) {
    int state = 0;
    const std::vector<OracleOp> ops = oracle_ops(history, state);
    build_list(ops);
    std::vector<uint64_t> placed((ops.size() + 63) / 64);
    std::vector<std::pair<uint32_t, int>> stack;
    seen_.clear();
    size_t required_left = 0;
    for (const OracleOp& op : ops) required_left += op.required;
    uint32_t at = nodes_[0].next;
    while (required_left > 0) {
      if (steps_max-- == 0) return Answer::kGaveUp;
      if (at != 0 && nodes_[at].is_call) {
        const uint32_t i = nodes_[at].op;
        int next = 0;
        bool fits = oracle_step(ops[i], state, next);
        if (fits) {
          placed[i / 64] |= uint64_t{1} << (i % 64);
          fits = remember(placed, next);
          if (!fits) placed[i / 64] &= ~(uint64_t{1} << (i % 64));
        }
        if (fits) {
          stack.emplace_back(at, state);
          state = next;
          lift(at);
          required_left -= ops[i].required;
          at = nodes_[0].next;
        } else {
          at = nodes_[at].next;
        }
        continue;
      }
      if (stack.empty()) return Answer::kInvalid;
      at = stack.back().first;
      state = stack.back().second;
      stack.pop_back();
      const uint32_t i = nodes_[at].op;
      placed[i / 64] &= ~(uint64_t{1} << (i % 64));
      required_left += ops[i].required;
      unlift(at);
      at = nodes_[at].next;
    }
    return Answer::kValid;
  }

 private:
  struct Node {
    uint32_t op;
    bool is_call;
    uint32_t match;  // the return of a call; 0: none
    uint32_t previous;
    uint32_t next;
  };
  struct Entry {
    std::vector<uint64_t> placed;
    int state;
    bool operator==(const Entry&) const = default;
  };
  struct EntryHash {
    size_t operator()(const Entry& e) const {
      uint64_t h = static_cast<uint64_t>(e.state);
      for (uint64_t word : e.placed) h = (h ^ word ^ h >> 31) * 0x9e3779b97f4a7c15;
      return h ^ h >> 29;
    }
  };

  void build_list(const std::vector<OracleOp>& ops) {
    std::vector<std::pair<Position, uint32_t>> events;  // 2 * op, + 1 for a return
    for (uint32_t i = 0; i < ops.size(); ++i) {
      events.emplace_back(ops[i].call, 2 * i);
      if (ops[i].required) events.emplace_back(ops[i].ret, 2 * i + 1);
    }
    std::sort(events.begin(), events.end());
    nodes_.assign(1, {0, false, 0, 0, 0});
    std::vector<uint32_t> call_of(ops.size());
    for (const auto& [position, what] : events) {
      const auto at = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({what / 2, (what & 1) == 0, 0, at - 1, 0});
      nodes_[at - 1].next = at;
      if (what & 1) {
        nodes_[call_of[what / 2]].match = at;
      } else {
        call_of[what / 2] = at;
      }
    }
  }
  void unlink(uint32_t at) {
    nodes_[nodes_[at].previous].next = nodes_[at].next;
    if (nodes_[at].next != 0) nodes_[nodes_[at].next].previous = nodes_[at].previous;
  }
  void relink(uint32_t at) {
    nodes_[nodes_[at].previous].next = at;
    if (nodes_[at].next != 0) nodes_[nodes_[at].next].previous = at;
  }
  void lift(uint32_t at) {
    unlink(at);
    if (nodes_[at].match != 0) unlink(nodes_[at].match);
  }
  void unlift(uint32_t at) {
    if (nodes_[at].match != 0) relink(nodes_[at].match);
    relink(at);
  }
  bool remember(const std::vector<uint64_t>& placed, int state) {
    return seen_.insert({placed, state}).second;
  }

  std::vector<Node> nodes_;
  std::unordered_set<Entry, EntryHash> seen_;
};

}  // namespace assay::linearizable
