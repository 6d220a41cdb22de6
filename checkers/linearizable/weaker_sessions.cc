#include <algorithm>
#include <map>
#include <unordered_map>

#include "checkers/linearizable/interner.h"
#include "checkers/linearizable/weaker.h"

namespace assay::linearizable {
namespace {

// A value and what made it; positions are one later, so that the initial value comes first.
struct Made {
  uint32_t makers = 0;
  Position call = kOpen;            // the first …
  uint64_t ret = 0;                 // … and the last of its makers; kOpen: never for certain
  ValueId from = Interner::kNone;   // what the cas that made it expected
  bool certain = false;             // it was made: acknowledged, or seen
};

// Two that one process did one after the other, with different values.
struct SessionPair {
  ValueId first, then;
  uint32_t first_id, then_id;
};

class Sessions {
 public:
  Sessions(const History& history, const KeyHistory& key) : history_(history), key_(key) {
    made_of(key.conventions.initial) = {.makers = 1, .call = 0, .ret = 0, .certain = true};
    for (const KeyOp& op : key.ops) take(op);
    find_certain();
  }

  // `writes`: the pairs are of a process's own change and a later read; else of two reads.
  SessionPromise judge(bool writes) {
    find_pairs(writes);
    SessionPromise promise{.pairs = pairs_.size()};
    for (const SessionPair& pair : pairs_) {
      if (!is_older(pair.then, pair.first)) continue;
      promise.kept = Kept::kNo;
      promise.by = {pair.first_id, pair.then_id};
      return promise;
    }
    if (pairs_.empty()) return promise;
    promise.kept = !unique_ ? Kept::kUnknown : has_order() ? Kept::kYes : Kept::kNo;
    return promise;
  }

 private:
  Made& made_of(const Scalar& value) {
    const ValueId id = values_.id(value);
    if (id >= made_.size()) made_.resize(id + 1);
    return made_[id];
  }
  bool reads(const KeyOp& op) const {
    if (op.type != OpType::kOk || !op.is_read()) return false;
    return !(op.value == Scalar{}) || key_.conventions.null_read_is_value;
  }
  void take(const KeyOp& op) {
    if (reads(op)) made_of(op.value).certain = true;
    if (op.is_read() || !op.may_produce()) return;
    if (op.f == Call::kCas) made_of(op.value);
    const ValueId from = op.f == Call::kCas ? values_.find(op.value) : Interner::kNone;
    Made& made = made_of(op.produced());
    unique_ &= ++made.makers == 1;
    made.call = std::min(made.call, op.call + 1);
    made.ret = std::max<uint64_t>(made.ret, op.type == OpType::kOk ? op.ret + 1 : kOpen);
    made.from = from;
    made.certain |= op.type == OpType::kOk;
  }
  // What a cas expected whose value was there, was there.
  void find_certain() {
    for (ValueId v = 0; v < made_.size(); ++v) {
      if (!made_[v].certain) continue;
      for (ValueId from = made_[v].from; from != Interner::kNone; from = made_[from].from) {
        if (made_[from].certain) break;
        made_[from].certain = true;
      }
    }
  }

  void find_pairs(bool writes) {
    struct Last {
      ValueId value;
      uint32_t id;
    };
    std::map<int64_t, Last> last;  // by process
    pairs_.clear();
    for (const KeyOp& op : key_.ops) {
      const int64_t process = history_[op.id].process().id;
      const auto known = last.find(process);
      if (reads(op)) {
        const ValueId value = values_.find(op.value);
        if (known != last.end() && known->second.value != value) {
          pairs_.push_back({known->second.value, value, known->second.id, op.id});
        }
        if (!writes) last[process] = {value, op.id};
      } else if (writes && op.type == OpType::kOk && !op.is_read()) {
        last[process] = {values_.find(op.produced()), op.id};
      }
    }
  }

  // Whatever the choice of makers: by real time, or by a few cas from one to the other.
  bool is_older(ValueId a, ValueId b) const {
    constexpr int kFollowed = 100;
    if (made_[a].makers == 0) return false;
    for (int i = 0; i < kFollowed && b != Interner::kNone; ++i) {
      if (made_[b].makers == 0) return false;
      if (made_[a].ret < made_[b].call) return true;
      if (!unique_) return false;
      b = made_[b].from;
      if (b == a) return true;
    }
    return false;
  }

  // Whether values can be ordered by all at once: no circle. Moments are nodes too, in a row, so
  // that "returned before it was invoked" needs no edge for each pair.
  bool has_order() const {
    std::vector<std::pair<uint64_t, uint32_t>> moments;  // when, 2 * value + return
    for (ValueId v = 0; v < made_.size(); ++v) {
      if (!made_[v].certain || made_[v].makers == 0) continue;
      moments.emplace_back(made_[v].call, 2 * v);
      if (made_[v].ret < kOpen) moments.emplace_back(made_[v].ret, 2 * v + 1);
    }
    std::sort(moments.begin(), moments.end());
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    const auto values = static_cast<uint32_t>(made_.size());
    for (uint32_t m = 0; m < moments.size(); ++m) {
      const uint32_t v = moments[m].second / 2, node = values + m;
      edges.push_back(moments[m].second & 1 ? std::pair(v, node) : std::pair(node, v));
      if (m > 0) edges.emplace_back(node - 1, node);
    }
    for (ValueId v = 0; v < values; ++v) {
      if (made_[v].certain && made_[v].from != Interner::kNone) edges.emplace_back(made_[v].from, v);
    }
    for (const SessionPair& pair : pairs_) edges.emplace_back(pair.first, pair.then);
    return is_acyclic(std::move(edges), values + static_cast<uint32_t>(moments.size()));
  }
  static bool is_acyclic(std::vector<std::pair<uint32_t, uint32_t>> edges, uint32_t nodes) {
    std::sort(edges.begin(), edges.end());
    std::vector<uint32_t> incoming(nodes), ready;
    for (const auto& [from, to] : edges) ++incoming[to];
    for (uint32_t n = 0; n < nodes; ++n) {
      if (incoming[n] == 0) ready.push_back(n);
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      auto edge = std::lower_bound(edges.begin(), edges.end(), std::pair(ready[i], 0u));
      for (; edge != edges.end() && edge->first == ready[i]; ++edge) {
        if (--incoming[edge->second] == 0) ready.push_back(edge->second);
      }
    }
    return ready.size() == nodes;
  }

  const History& history_;
  const KeyHistory& key_;
  Interner values_;
  std::vector<Made> made_;  // by value
  bool unique_ = true;
  std::vector<SessionPair> pairs_;
};

}  // namespace

SessionPromise monotonic_reads(const History& history, const KeyHistory& key) {
  return Sessions(history, key).judge(false);
}

bool follows_sessions(const History& history, const KeyHistory& key,
                      const std::vector<uint32_t>& order, bool own_writes) {
  std::unordered_map<uint32_t, const KeyOp*> ops;
  for (const KeyOp& op : key.ops) ops[op.id] = &op;
  std::unordered_map<uint32_t, size_t> version;  // that it makes, or reads
  size_t versions = 0;
  for (uint32_t id : order) {
    const KeyOp& op = *ops.at(id);
    version[id] = versions += op.may_produce() && !op.is_read();
  }
  std::map<int64_t, size_t> known;  // by process: what it must not go back behind
  for (const KeyOp& op : key.ops) {
    const auto at = version.find(op.id);
    if (at == version.end() || op.type != OpType::kOk) continue;
    size_t& least = known[history[op.id].process().id];
    if (op.is_read() && at->second < least) return false;
    if (op.is_read() != own_writes) least = at->second;
  }
  return !order.empty();
}

SessionPromise read_your_writes(const History& history, const KeyHistory& key) {
  return Sessions(history, key).judge(true);
}

}  // namespace assay::linearizable
