#include "checkers/linearizable/unique.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace assay::linearizable {
namespace {

constexpr ValueId kInitial = 0;
constexpr int kRounds = 3;
constexpr uint32_t kNobody = UINT32_MAX;

Tick tick_of(Position position) { return position == kOpen ? kNever32 : position + kFirstTick; }

}  // namespace

Unique::Unique(const Conventions& conventions, size_t operations)
    : conventions_(conventions), values_(operations) {
  items_.reserve(operations + 1);
  value_id(conventions.initial);
  items_[kInitial] = {.call = kInitialCall, .ret = kInitialReturn};
}

ValueId Unique::value_id(const Scalar& value) {
  const ValueId v = values_.id(value);
  if (v >= items_.size()) items_.emplace_back();
  return v;
}

bool Unique::produce(const Scalar& value, ValueId from, const KeyOp& op) {
  Item& item = items_[value_id(value)];
  if (item.call != kNever32) return false;
  item.call = tick_of(op.call);
  item.ret = op.type == OpType::kOk ? tick_of(op.ret) : kNever32;
  item.from = from;
  return true;
}

bool Unique::add(const KeyOp& op) {
  if (op.call > kNever32 - kFirstTick - 2) return false;  // too long for ticks
  const bool ok = op.type == OpType::kOk;
  first_tick_ = std::min(first_tick_, tick_of(op.call));
  last_tick_ = std::max(last_tick_, tick_of(op.ret != kOpen ? op.ret : op.call));
  if (op.f == Call::kWrite) return op.type == OpType::kFail || produce(op.value, kNoValue, op);
  if (op.f == Call::kCas && op.type == OpType::kFail) {
    if (!conventions_.failed_cas_observes || !op.mismatch) return true;
    // As many as may come: no page is used before it must be.
    if (mismatches_.empty()) mismatches_.reserve(items_.capacity());
    mismatches_.push_back({value_id(op.value), tick_of(op.call), tick_of(op.ret)});
    return true;
  }
  if (op.f == Call::kCas && op.value != op.next) {
    const ValueId from = value_id(op.value);
    return produce(op.next, from, op);
  }
  if (!ok || (op.f == Call::kRead && op.value == Scalar{} && !conventions_.null_read_is_value))
    return true;
  Item& item = items_[value_id(op.value)];
  item.read_return = std::min(item.read_return, tick_of(op.ret));
  item.read_call = std::max(item.read_call, tick_of(op.call));
  return true;
}

// What happened for certain, the acknowledged and what somebody saw of the rest; and what was made
// of it.
bool Unique::link() {
  effective_.assign(items_.size(), 0);
  next_.assign(items_.size(), kNoValue);
  heads_.reserve(items_.size());
  ValueId rootless = kNoValue, second = kNoValue;  // made of nothing; made of what was used up
  for (ValueId v = 0; v < items_.size(); ++v) {
    const Item& item = items_[v];
    const bool produced = item.call != kNever32;
    const bool read = item.read_return != kNever32;
    if (read && !produced) return fail({{item.read_return, v}});
    if (!produced || (!read && item.ret == kNever32)) continue;
    // And so did what it was made of.
    for (ValueId u = v; !effective_[u]; u = items_[u].from) {
      effective_[u] = 1;
      ++effective_count_;
      const ValueId from = items_[u].from;
      if (from == kNoValue) {
        heads_.push_back(u);
        break;
      }
      if (items_[from].call == kNever32) {
        rootless = std::min(rootless, u);
        break;
      }
      if (next_[from] != kNoValue) {
        second = std::min(second, u);
      } else {
        next_[from] = u;
      }
    }
  }
  if (rootless != kNoValue) {
    suspect_producer(rootless);
    return false;
  }
  if (second == kNoValue) return true;
  const ValueId from = items_[second].from;
  suspect_path(from, next_[from]);
  suspect_producer(second);
  return false;
}

bool Unique::check_blocks() {
  zones_.resize(items_.size());
  if (!mismatches_.empty()) bounds_.resize(items_.size());
  size_t reached = 0;
  for (ValueId head : heads_) {
    if (!check_block(head)) return false;
    for (ValueId v = head; v != kNoValue; v = next_[v]) ++reached;
  }
  if (reached == effective_count_) return true;
  // What no chain from a write reaches goes round in a circle.
  std::vector<uint8_t> on_chain(items_.size());
  for (ValueId head : heads_) {
    for (ValueId v = head; v != kNoValue; v = next_[v]) on_chain[v] = 1;
  }
  for (ValueId v = 0; v < items_.size(); ++v) {
    if (effective_[v] && !on_chain[v]) suspect_producer(v);
  }
  return false;
}

bool Unique::check_block(ValueId head) {
  Tick until = 0;  // the last call so far
  Tick first_return = kNever32;
  ValueId last = head;
  auto level = [&](Tick ret, Tick call, ValueId v) {
    if (ret < until) {
      ValueId earlier = head;  // whose call comes too late
      for (ValueId u = head; u != v; u = next_[u]) {
        if (items_[u].call > ret || items_[u].read_call > ret) earlier = u;
      }
      if (ret == items_[v].read_return && items_[v].call > ret) earlier = v;
      const Item& item = items_[earlier];
      const bool read = earlier != v && item.read_call > ret;
      return fail({{read ? item.read_call : item.call, earlier}, {ret, v}});
    }
    until = std::max(until, call);
    first_return = std::min(first_return, ret);
    return true;
  };
  for (ValueId v = head; v != kNoValue; v = next_[v]) {
    const Item& item = items_[v];
    if (item.ret < item.call) return fail({{item.ret, v}, {item.call, v}});  // narrowed to nothing
    if (!level(item.ret, item.call, v)) return false;
    if (!bounds_.empty()) bounds_[v].before = until;
    if (!level(item.read_return, item.read_call, v)) return false;
    if (!bounds_.empty()) bounds_[v].until = until;
    last = v;
  }
  zones_[head] = {first_return, until};
  if (bounds_.empty()) return true;
  for (Tick late = kNever32;; last = items_[last].from) {
    late = std::min({late, items_[last].ret, items_[last].read_return});
    bounds_[last].late = late;
    if (last == head) return true;
  }
}

// No two zones begin at the same tick.
template <typename Fn>
bool Unique::sweep(const Fn& fn) const {
  auto begin = [&](ValueId head) {
    const Tick tick = std::min(zones_[head].first_return, zones_[head].last_call);
    return tick < kFirstTick ? tick : tick - first_tick_ + kFirstTick;
  };
  const size_t span = last_tick_ - std::min(first_tick_, last_tick_) + 1 + kFirstTick;
  if (span > 8 * heads_.size() + 64) {
    std::vector<std::pair<Tick, ValueId>> begins;
    for (ValueId head : heads_) begins.emplace_back(begin(head), head);
    std::sort(begins.begin(), begins.end());
    return std::all_of(begins.begin(), begins.end(),
                       [&](const auto& zone) { return fn(zone.second); });
  }
  // By chunks of time, and inside a chunk by a table: no need to sort.
  constexpr int kChunkBits = 14;
  std::vector<uint32_t> until(span / (1 << kChunkBits) + 2);
  for (ValueId head : heads_) ++until[(begin(head) >> kChunkBits) + 1];
  std::partial_sum(until.begin(), until.end(), until.begin());
  std::vector<ValueId> by_chunk(heads_.size());
  for (ValueId head : heads_) by_chunk[until[begin(head) >> kChunkBits]++] = head;
  std::vector<ValueId> at(1 << kChunkBits);
  std::vector<uint64_t> taken(at.size() / 64);
  uint32_t i = 0;
  for (size_t chunk = 0; i < by_chunk.size(); ++chunk) {
    for (; i < until[chunk]; ++i) {
      const Tick offset = begin(by_chunk[i]) % at.size();
      at[offset] = by_chunk[i];
      taken[offset / 64] |= uint64_t{1} << offset % 64;
    }
    for (size_t word = 0; word < taken.size(); ++word) {
      for (; taken[word] != 0; taken[word] &= taken[word] - 1) {
        if (!fn(at[64 * word + std::countr_zero(taken[word])])) return false;
      }
    }
  }
  return true;
}

bool Unique::check_zones(bool want_order) {
  ValueId open = kNobody;
  ValueId other = kNobody;  // that conflicts with it
  if (want_order) begin_order();
  const bool fit = sweep([&](ValueId head) {
    const Zone& zone = zones_[head];
    const bool forward = zone.first_return < zone.last_call;
    const Tick open_until = open == kNobody ? 0 : zones_[open].last_call;
    other = head;
    if (std::min(zone.first_return, zone.last_call) < open_until) {
      if (forward || zone.first_return < open_until) return false;
    } else if (forward) {
      open = head;
    }
    if (want_order) append(head);
    return true;
  });
  return fit || fail_zones(open, other);
}

// Takes out the failed cas that are decided, until nothing changes. An interval that is narrowed
// makes bounds stale: they are wider than need be, which is safe.
bool Unique::narrow() {
  std::vector<ValueId> changed;
  for (int round = 0; round < kRounds; ++round) {
    if (!narrow_once(changed)) return false;
    if (changed.empty()) return true;
    std::vector<bool> seen(items_.size());
    for (ValueId v : changed) {
      for (; !seen[v] && items_[v].from != kNoValue; v = items_[v].from) seen[v] = true;
      if (!seen[v] && !check_block(v)) return false;
      seen[v] = true;
    }
    changed.clear();
  }
  return true;
}

bool Unique::narrow_once(std::vector<ValueId>& changed) {
  size_t kept = 0;
  for (size_t i = 0; i < mismatches_.size(); ++i) {
    const Mismatch m = mismatches_[i];
    const Bounds* bounds = is_effective(m.value) ? &bounds_[m.value] : nullptr;
    const ValueId next = bounds ? next_[m.value] : kNoValue;
    if (!bounds || bounds->before > m.call ||
        (next != kNoValue && bounds_[next].late < m.ret)) {
      ++result_.always;
      if (!bounds) named_unseen_.push_back(m.value);
      continue;
    }
    const bool came_after = bounds->late >= m.call;  // may have
    const bool went_before = bounds->until <= m.ret;
    if (!went_before && (!came_after || m.value == kInitial)) {
      suspect(m.call);
      ValueId head = m.value;
      while (items_[head].from != kNoValue) head = items_[head].from;
      return fail({clue(head, bounds->until), {kNever32, m.value}, clue(head, bounds->late)});
    }
    if (!went_before) {
      items_[m.value].call = std::max(items_[m.value].call, m.call);
    } else if (!came_after && next != kNoValue) {
      items_[next].ret = std::min(items_[next].ret, m.ret);
    } else {
      mismatches_[kept++] = m;
      continue;
    }
    changed.push_back(m.value);
    ++result_.forced;
  }
  mismatches_.resize(kept);
  return true;
}

void Unique::begin_order() {
  ranks_.resize(items_.size());
  order_.reserve(effective_count_);
  points_.reserve(effective_count_);
}

// Makes each value of a block current as early as the order allows.
void Unique::append(ValueId head) {
  for (ValueId v = head; v != kNoValue; v = next_[v]) {
    ranks_[v] = static_cast<uint32_t>(order_.size());
    order_.push_back(v);
    points_.push_back(now_ = std::max(now_, items_[v].call));
    now_ = std::max(now_, items_[v].read_call);
  }
}

void Unique::insert(const std::vector<Insertion>& insertions) {
  if (insertions.empty()) return;
  const std::vector<ValueId> order = std::move(order_);
  const std::vector<Tick> points = std::move(points_);
  order_.clear();
  points_.clear();
  auto next = insertions.begin();
  auto put = [&](ValueId v, Tick point) {
    effective_[v] = 1;
    ranks_[v] = static_cast<uint32_t>(order_.size());
    order_.push_back(v);
    points_.push_back(point);
  };
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    put(order[rank], points[rank]);
    for (; next != insertions.end() && next->after == rank; ++next) put(next->value, next->point);
  }
}

bool Unique::explains(const Mismatch& m) const {
  const uint32_t k = ranks_[m.value];
  if (points_[k] >= m.call) return true;
  return k + 1 < points_.size() && points_[k + 1] < m.ret;
}

UniqueResult Unique::judge(bool want_order) {
  using Answer = UniqueResult::Answer;
  result_.answer = Answer::kInvalid;
  result_.mismatches = mismatches_.size();
  if (!link() || !check_blocks()) return std::move(result_);
  if (!mismatches_.empty() && !narrow()) return std::move(result_);
  if (!check_zones(want_order || !mismatches_.empty())) return std::move(result_);
  result_.left = mismatches_.size();
  for (uint32_t i = 0; i < mismatches_.size(); ++i) {
    if (!explains(mismatches_[i])) failing_.push_back(i);
  }
  result_.answer = failing_.empty() ? Answer::kValid : Answer::kOpen;
  return result_;
}

bool Unique::place(const KeyOp& op, uint32_t& rank, bool& first) const {
  const bool fail = op.type == OpType::kFail;
  const bool observes = op.f == Call::kRead || op.value == op.next;
  first = false;
  if (op.f == Call::kCas && fail) {
    if (!conventions_.failed_cas_observes || !op.mismatch) return false;
    // The value current just after its call, or else the next one.
    const Tick call = tick_of(op.call);
    rank = static_cast<uint32_t>(std::lower_bound(points_.begin(), points_.end(), call) -
                                 points_.begin()) - 1;
    if (order_[rank] == values_.find(op.value)) ++rank;
    return true;
  }
  if (fail) return false;
  if (op.f == Call::kRead || (op.f == Call::kCas && observes)) {
    if (op.type != OpType::kOk) return false;
    if (op.f == Call::kRead && op.value == Scalar{} && !conventions_.null_read_is_value)
      return false;
    rank = ranks_[values_.find(op.value)];
    return true;
  }
  first = true;
  const ValueId v = values_.find(op.produced());
  if (!is_effective(v)) return false;
  rank = ranks_[v];
  return true;
}

// --- Why it is invalid.

void Unique::suspect(Tick tick) {
  if (tick >= kFirstTick && tick != kNever32) result_.suspects.push_back(tick - kFirstTick);
}

// What produced a value and, where that has an unknown outcome, what shows that it happened.
void Unique::suspect_producer(ValueId v) {
  const ValueId start = v;
  suspect(items_[v].call);
  while (items_[v].ret == kNever32 && items_[v].read_return == kNever32) {
    v = v < next_.size() ? next_[v] : kNoValue;
    if (v == kNoValue || v == start) return;
    suspect(items_[v].call);
  }
  if (items_[v].ret == kNever32) suspect(items_[v].read_return);
}

// The clues are of values in their order on one chain.
bool Unique::fail(std::vector<Clue> clues) {
  for (const Clue& clue : clues) suspect(clue.tick);
  suspect_path(clues.front().value, clues.back().value);
  return false;
}

bool Unique::fail_zones(ValueId a, ValueId b) {
  for (ValueId head : {a, b}) {
    const Clue first = clue(head, zones_[head].first_return);
    const Clue last = clue(head, zones_[head].last_call);
    fail({first, last});
    fail({last, first});
  }
  return false;
}

// Of a block, the value one of whose operations has an event at that tick.
Unique::Clue Unique::clue(ValueId head, Tick tick) const {
  for (ValueId v = head; v != kNoValue; v = next_[v]) {
    const Item& item = items_[v];
    for (Tick t : {item.call, item.ret, item.read_call, item.read_return}) {
      if (t == tick) return {tick, v};
    }
  }
  return {tick, head};
}

// The producers of the values from one to another further down its chain; nothing where it is not.
void Unique::suspect_path(ValueId from, ValueId to) {
  // An interval that was narrowed rests on the value before.
  if (result_.forced > 0 && items_[from].from != kNoValue) from = items_[from].from;
  std::vector<ValueId> path{from};
  while (path.back() != to) {
    const ValueId next = path.back() < next_.size() ? next_[path.back()] : kNoValue;
    if (next == kNoValue || next == from) return;
    path.push_back(next);
  }
  for (ValueId v : path) suspect_producer(v);
}

}  // namespace assay::linearizable
