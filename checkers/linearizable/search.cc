#include "checkers/linearizable/search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "checkers/linearizable/layers.h"

namespace assay::linearizable {
namespace {

constexpr uint32_t kNone = kNoEntry;
constexpr uint32_t kOwnMasksMax = 1000;  // values

// A class of optional operations of which some were invoked. `invoked` does not count those that
// every configuration has used.
struct Lane {
  uint32_t cls = kNone;
  uint32_t invoked = 0;
  uint32_t next_from = kNone;  // of the lanes of C(v,.)?
  uint32_t next_to = kNone;    // of the lanes that make v
};

struct Checkpoint {
  uint32_t event = 0;
  bool truncated = false;
  size_t trace_size = 0;
  std::vector<uint32_t> slots;
  std::vector<std::pair<uint32_t, uint32_t>> lanes;  // class, invoked
  uint32_t lane_words = 0;
  std::vector<uint64_t> layer;
};

// Operations under way that concern a value. Awaiting: reads of it and cas from it.
enum Family : int { kAwaiting, kReads, kWrites, kCasFrom, kCasTo, kMismatches, kFamilies };

// The search over one problem, with masks of kWords words over the operations under way (0: as
// many as it takes).
//
// A configuration is a record of words: the state (and above it the trace), the mask of placed
// operations, the mask of free writes (those overwritten unseen already, or equal to a state that
// was: they may still be used, but need not), and, in lanes of 16 bits, how many of each class of
// optional operations it has used.
template <int kWords>
class Sweep {
 public:
  Sweep(const Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        reductions_(options.reductions),
        words_(static_cast<int>(std::max(problem.pending_max, options.pending_min) + 63) / 64),
        slot_of_(problem.ops.size(), kNone),
        active_(problem.values, 0),
        lanes_from_(problem.values, kNone),
        lanes_to_(problem.values, kNone),
        lane_of_(problem.classes.size(), kNone),
        families_(size_t{1} * kFamilies * words(), 0),
        all_writes_(words(), 0),
        all_cas_(words(), 0),
        all_observers_(words(), 0) {
    active_values_.push_back(0);  // the first stands for every value without pending operations
    // Few values: each has masks of its own from the start.
    own_masks_ = problem.values <= kOwnMasksMax;
    if (own_masks_) {
      for (ValueId v = 0; v < problem.values; ++v) active_[v] = v + 1;
      active_values_.assign(problem.values + 1, 1);
      families_.assign(active_values_.size() * kFamilies * words(), 0);
    }
    for (uint32_t slot = 64 * words(); slot-- > 0;) free_slots_.push_back(slot);
    slots_.assign(64 * words(), kNone);
    earlier_.assign(size_t{64} * words() * words(), 0);
    if (options.want_order) trace_.push_back({0, 0, 0});
  }

  SearchResult run() {
    begin();
    return options_.beam == 0 ? run_full() : run_ladder();
  }

 private:
  int words() const {
    if constexpr (kWords > 0) {
      return kWords;
    } else {
      return words_ > 0 ? words_ : 1;
    }
  }

  // --- Records.
  uint32_t fixed() const { return 1 + 2 * static_cast<uint32_t>(words()); }
  uint32_t stride() const { return fixed() + lane_words_; }
  static ValueId state(const uint64_t* c) { return static_cast<uint32_t>(c[0]); }
  static void set_state(uint64_t* c, ValueId v) { c[0] = (c[0] >> 32 << 32) | v; }
  static uint32_t trace(const uint64_t* c) { return static_cast<uint32_t>(c[0] >> 32); }
  static void set_trace(uint64_t* c, uint64_t id) { c[0] = (id << 32) | state(c); }
  static uint64_t* placed(uint64_t* c) { return c + 1; }
  static const uint64_t* placed(const uint64_t* c) { return c + 1; }
  uint64_t* freed(uint64_t* c) const { return c + 1 + words(); }
  const uint64_t* freed(const uint64_t* c) const { return c + 1 + words(); }
  uint64_t* used(uint64_t* c) const { return c + 1 + 2 * words(); }
  const uint64_t* used(const uint64_t* c) const { return c + 1 + 2 * words(); }
  uint32_t used(const uint64_t* c, uint32_t lane) const {
    return used(c)[lane / kLanesPerWord] >> (16 * (lane % kLanesPerWord)) & 0xffff;
  }
  static bool test(const uint64_t* mask, uint32_t slot) {
    return mask[slot / 64] >> (slot % 64) & 1;
  }
  static void set(uint64_t* mask, uint32_t slot) { mask[slot / 64] |= uint64_t{1} << (slot % 64); }
  static void clear(uint64_t* mask, uint32_t slot) {
    mask[slot / 64] &= ~(uint64_t{1} << (slot % 64));
  }

  // --- Operations under way, by value.
  uint64_t* family(ValueId v, Family which) {
    return families_.data() + (size_t{active_[v]} * kFamilies + which) * words();
  }
  const uint64_t* family(ValueId v, Family which) const {
    return families_.data() + (size_t{active_[v]} * kFamilies + which) * words();
  }
  bool any_unplaced(ValueId v, Family which, const uint64_t* c) const {
    const uint64_t* mask = family(v, which);
    for (int w = 0; w < words(); ++w) {
      if (mask[w] & ~placed(c)[w]) return true;
    }
    return false;
  }
  // A read of v or a cas from it is under way and not placed.
  bool awaited(ValueId v, const uint64_t* c) const {
    return any_unplaced(v, kAwaiting, c);
  }

  void join(ValueId v, Family which, uint32_t slot) {
    if (active_[v] == 0) {
      uint32_t index;
      if (!spare_values_.empty()) {
        index = spare_values_.back();
        spare_values_.pop_back();
      } else {
        index = static_cast<uint32_t>(active_values_.size());
        active_values_.push_back(0);
        families_.resize(families_.size() + size_t{1} * kFamilies * words(), 0);
        if (families_.size() * sizeof(uint64_t) > options_.memory_bytes_max)
          out_of_budget_ = out_of_memory_ = true;
      }
      active_[v] = index;
    }
    active_values_[active_[v]] += !own_masks_;
    set(family(v, which), slot);
    if (which == kReads || which == kCasFrom) set(family(v, kAwaiting), slot);
  }
  void leave(ValueId v, Family which, uint32_t slot) {
    clear(family(v, which), slot);
    clear(family(v, kAwaiting), slot);
    if (own_masks_ || --active_values_[active_[v]] > 0) return;
    spare_values_.push_back(active_[v]);
    active_[v] = 0;
  }

  // Of the operations under way equal in kind and values to that of a slot: which return before it.
  uint64_t* earlier(uint32_t slot) { return earlier_.data() + size_t{slot} * words(); }
  template <typename Fn>
  void for_each_equal(const ProblemOp& o, uint32_t slot, const Fn& fn) {
    const uint64_t* to = family(o.to, o.kind == Kind::kWrite ? kWrites : kCasTo);
    const uint64_t* from = o.kind == Kind::kCas ? family(o.from, kCasFrom) : to;
    for (int w = 0; w < words(); ++w) {
      for (uint64_t rest = to[w] & from[w]; rest; rest &= rest - 1) {
        const uint32_t other = 64 * w + std::countr_zero(rest);
        if (other != slot) fn(other);
      }
    }
  }
  void order_among_equals(const ProblemOp& o, uint32_t slot) {
    std::fill_n(earlier(slot), words(), 0);
    for_each_equal(o, slot, [&](uint32_t other) {
      if (problem_.ops[slots_[other]].ret < o.ret) {
        set(earlier(slot), other);
      } else {
        set(earlier(other), slot);
      }
    });
  }
  void leave_equals(const ProblemOp& o, uint32_t slot) {
    for_each_equal(o, slot, [&](uint32_t other) { clear(earlier(other), slot); });
  }

  void occupy(uint32_t op, uint32_t slot) {
    slot_of_[op] = slot;
    slots_[slot] = op;
    const ProblemOp& o = problem_.ops[op];
    switch (o.kind) {
      case Kind::kRead:
        join(o.from, kReads, slot);
        set(all_observers_.data(), slot);
        break;
      case Kind::kMismatch:
        join(o.from, kMismatches, slot);
        set(all_observers_.data(), slot);
        break;
      case Kind::kWrite:
        join(o.to, kWrites, slot);
        set(all_writes_.data(), slot);
        order_among_equals(o, slot);
        break;
      case Kind::kCas:
        join(o.from, kCasFrom, slot);
        join(o.to, kCasTo, slot);
        set(all_cas_.data(), slot);
        order_among_equals(o, slot);
        break;
    }
  }
  void vacate(uint32_t op) {
    const uint32_t slot = slot_of_[op];
    slots_[slot] = kNone;
    const ProblemOp& o = problem_.ops[op];
    switch (o.kind) {
      case Kind::kRead:
        leave(o.from, kReads, slot);
        clear(all_observers_.data(), slot);
        break;
      case Kind::kMismatch:
        leave(o.from, kMismatches, slot);
        clear(all_observers_.data(), slot);
        break;
      case Kind::kWrite:
        leave_equals(o, slot);
        leave(o.to, kWrites, slot);
        clear(all_writes_.data(), slot);
        break;
      case Kind::kCas:
        leave_equals(o, slot);
        leave(o.from, kCasFrom, slot);
        leave(o.to, kCasTo, slot);
        clear(all_cas_.data(), slot);
        break;
    }
  }

  // --- Optional operations.
  void open_lane(uint32_t cls, uint32_t invoked) {
    uint32_t lane;
    if (!spare_lanes_.empty()) {
      lane = spare_lanes_.back();
      spare_lanes_.pop_back();
    } else {
      lane = static_cast<uint32_t>(lanes_.size());
      lanes_.push_back({});
      if (!unlimited_ && lanes_.size() > size_t{lane_words_} * kLanesPerWord) widen_lanes();
    }
    const OptionalClass& c = problem_.classes[cls];
    lanes_[lane] = {cls, invoked, kNone, lanes_to_[c.to]};
    lanes_to_[c.to] = lane;
    if (c.kind == Kind::kCas) {
      lanes_[lane].next_from = lanes_from_[c.from];
      lanes_from_[c.from] = lane;
    }
    lane_of_[cls] = lane;
    ++open_lanes_;
  }
  void close_lane(uint32_t lane) {
    const OptionalClass& c = problem_.classes[lanes_[lane].cls];
    uint32_t* link = &lanes_to_[c.to];
    while (*link != lane) link = &lanes_[*link].next_to;
    *link = lanes_[lane].next_to;
    if (c.kind == Kind::kCas) {
      link = &lanes_from_[c.from];
      while (*link != lane) link = &lanes_[*link].next_from;
      *link = lanes_[lane].next_from;
    }
    lane_of_[lanes_[lane].cls] = kNone;
    lanes_[lane].cls = kNone;
    spare_lanes_.push_back(lane);
    --open_lanes_;
  }
  void widen_lanes() {
    const uint32_t old_stride = stride();
    lane_words_ = lane_words_ == 0 ? 1 : lane_words_ * 2;
    std::vector<uint64_t> wide;
    for (uint32_t i = 0; i < layer_->count; ++i) {
      wide.insert(wide.end(), layer_->at(i), layer_->at(i) + old_stride);
      wide.resize(size_t{i + 1} * stride(), 0);
    }
    layer_->reset(stride());
    layer_->assign(wide);
  }
  bool available(const uint64_t* c, uint32_t lane) const {
    return unlimited_ || used(c, lane) < std::min(lanes_[lane].invoked, kUsedMax);
  }
  bool any_available(const uint64_t* c, uint32_t lane, uint32_t Lane::*next) const {
    for (; lane != kNone; lane = lanes_[lane].*next) {
      if (available(c, lane)) return true;
    }
    return false;
  }
  bool optional_from(const uint64_t* c, ValueId v) const {
    return any_available(c, lanes_from_[v], &Lane::next_from);
  }
  void use(uint64_t* c, uint32_t lane) {
    if (unlimited_) return;
    used(c)[lane / kLanesPerWord] += uint64_t{1} << (16 * (lane % kLanesPerWord));
    // Beyond what a lane can count the class counts as used up, which cuts.
    if (used(c, lane) == kUsedMax) truncated_ = true;
  }

  // Takes what all have used off the counts, and forgets classes that can never matter again.
  void tidy_lanes() {
    if (open_lanes_ == 0 || layer_->count == 0) return;
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].cls == kNone) continue;
      if (!unlimited_) {
        uint32_t least = kUsedMax;
        for (uint32_t i = 0; i < layer_->count; ++i) {
          least = std::min(least, used(layer_->at(i), lane));
        }
        if (least > 0) {
          shift_lane(lane, least);
          lanes_[lane].invoked -= least;
        }
        if (lanes_[lane].invoked > 0 && wanted_by_anyone(problem_.classes[lanes_[lane].cls].to)) {
          continue;
        }
        for (uint32_t i = 0; i < layer_->count; ++i) {
          uint64_t* c = layer_->at(i);
          used(c)[lane / kLanesPerWord] &= ~(uint64_t{0xffff} << (16 * (lane % kLanesPerWord)));
        }
      } else if (wanted_by_anyone(problem_.classes[lanes_[lane].cls].to)) {
        continue;
      }
      close_lane(lane);
      ++counters_.lanes_released;
    }
  }
  void shift_lane(uint32_t lane, uint64_t by) {
    for (uint32_t i = 0; i < layer_->count; ++i) {
      used(layer_->at(i))[lane / kLanesPerWord] -= by << (16 * (lane % kLanesPerWord));
    }
  }
  // Whether v can be of use to any configuration, now or later.
  bool wanted_by_anyone(ValueId v) const {
    const uint32_t now = event_;
    if (problem_.futures[v].wanted > now || lanes_from_[v] != kNone) return true;
    if (problem_.mismatch_until > now) return true;
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] == kNone) continue;
      const ProblemOp& o = problem_.ops[slots_[slot]];
      if (o.kind == Kind::kMismatch) return true;
      if (o.kind != Kind::kWrite && o.from == v) return true;
    }
    return false;
  }

  // --- Sets.
  uint32_t group_hash(const uint64_t* c) const {
    uint64_t h = state(c) * 0x9e3779b97f4a7c15ull;
    for (int w = 0; w < words(); ++w) {
      h = (h ^ (h >> 29) ^ (placed(c)[w] & all_cas_[w])) * 0xbf58476d1ce4e5b9ull;
    }
    return static_cast<uint32_t>(h >> 32);
  }
  bool same_group(const uint64_t* p, const uint64_t* q) const {
    if (state(p) != state(q)) return false;
    for (int w = 0; w < words(); ++w) {
      if ((placed(p)[w] ^ placed(q)[w]) & all_cas_[w]) return false;
    }
    return true;
  }
  // Whether whatever q can still do, p can. Both of one group.
  bool at_least(const uint64_t* p, const uint64_t* q) const {
    if (!reductions_.dominance) {
      return std::memcmp(p + 1, q + 1, (stride() - 1) * sizeof(uint64_t)) == 0;
    }
    for (int w = 0; w < words(); ++w) {
      const uint64_t pp = placed(p)[w], pq = placed(q)[w];
      const uint64_t fp = freed(p)[w], fq = freed(q)[w];
      if (pq & ~pp & all_observers_[w]) return false;
      if (((pp ^ pq) | (fp ^ fq)) & all_writes_[w] & ~fp) return false;
    }
    constexpr uint64_t kTop = 0x8000800080008000;
    for (uint32_t w = 0; w < lane_words_; ++w) {
      if ((((used(q)[w] | kTop) - used(p)[w]) & kTop) != kTop) return false;
    }
    return true;
  }
  bool insert(ConfigSet& set, const uint64_t* c) {
    return set.insert(
        c, [&](uint32_t i) { return compare(set, i, c); },
        [&](const uint64_t* record) { return group_hash(record); },
        [&](uint64_t* place) { copy(c, place); });
  }
  // False: the i-th makes c redundant. Marks the i-th when it is the other way.
  bool compare(ConfigSet& set, uint32_t i, const uint64_t* c) {
    ++counters_.work;
    if (set.redundant[i] || !same_group(set.at(i), c)) return true;
    if (at_least(set.at(i), c)) {
      ++counters_.dominated;
      return false;
    }
    if (at_least(c, set.at(i))) {
      ++counters_.dominated;
      set.redundant[i] = 1;
      --set.alive;
    }
    return true;
  }

  // --- Values that cannot come back, and values that nobody wants.
  bool is_dead(ValueId v, const uint64_t* c) const {
    const ValueFuture& future = problem_.futures[v];
    if (future.producer > event_ + 1) return false;
    if (future.needed <= event_ + 1 && !awaited(v, c)) return false;
    if (active_[v] != 0 && (any_unplaced(v, kWrites, c) || any_unplaced(v, kCasTo, c))) {
      return false;
    }
    return !any_available(c, lanes_to_[v], &Lane::next_to);
  }
  bool is_wanted(ValueId v, const uint64_t* c) const {
    return problem_.futures[v].wanted > event_ + 1 || problem_.mismatch_other_than(v, event_) ||
           awaited(v, c) || lanes_from_[v] != kNone || any_unplaced(state(c), kMismatches, c);
  }

  // --- Events.
  void on_call(uint32_t op) {
    const ProblemOp& o = problem_.ops[op];
    if (o.optional) {
      if (lane_of_[o.cls] == kNone) {
        open_lane(o.cls, 1);
      } else {
        ++lanes_[lane_of_[o.cls]].invoked;
      }
      return;
    }
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    occupy(op, slot);
    if (o.kind == Kind::kCas) return;
    const ValueId value = o.kind == Kind::kWrite ? o.to : o.from;
    if (o.kind == Kind::kWrite && !reductions_.lazy_writes) return;
    for (uint32_t i = 0; i < layer_->count; ++i) {
      uint64_t* c = layer_->at(i);
      if ((state(c) == value) == (o.kind == Kind::kMismatch)) continue;
      set(o.kind == Kind::kWrite ? freed(c) : placed(c), slot);
    }
  }

  void on_return(uint32_t op) {
    const uint32_t slot = slot_of_[op];
    bool all_placed = true;
    for (uint32_t i = 0; i < layer_->count && all_placed; ++i) {
      all_placed = test(placed(layer_->at(i)), slot);
    }
    if (all_placed) {
      for (uint32_t i = 0; i < layer_->count; ++i) clear(placed(layer_->at(i)), slot);
    } else {
      returning_ = op;
      returning_slot_ = slot;
      sort_out();
      if (frontier_.count > 0) burst();
      next_->compact();
      std::swap(layer_, next_);
      cut_to_beam();
    }
    vacate(op);
    free_slots_.push_back(slot);
    counters_.layer_max = std::max<uint64_t>(counters_.layer_max, layer_->count);
  }

  // Of the layer: into next_ where the returning operation is placed or was overwritten unseen,
  // into frontier_ where it must (or may) still be placed.
  void sort_out() {
    const ProblemOp& o = problem_.ops[returning_];
    next_->reset(stride());
    frontier_.reset(stride());
    if (child_.size() != stride()) child_.resize(stride());
    if (node_.size() != stride()) node_.resize(stride());
    for (uint32_t i = 0; i < layer_->count; ++i) {
      const uint64_t* c = layer_->at(i);
      if (test(placed(c), returning_slot_)) {
        copy(c, child_.data());
        finish();
        continue;
      }
      const bool hidden =
          o.kind == Kind::kWrite && test(freed(c), returning_slot_) && state(c) != o.to;
      if (hidden) {
        ++counters_.hidden;
        copy(c, child_.data());
        set(placed(child_.data()), returning_slot_);
        clear(freed(child_.data()), returning_slot_);
        if (!reductions_.dead_values || !is_dead(o.to, child_.data())) {
          finish();
        } else {
          ++counters_.dead;
        }
        if (reductions_.unwanted && !is_wanted(o.to, c)) {
          ++counters_.unwanted;
          continue;
        }
      }
      insert(frontier_, c);
    }
  }
  void copy(const uint64_t* from, uint64_t* to) const {
    std::memcpy(to, from, fixed() * sizeof(uint64_t));  // of known size, usually
    for (uint32_t i = fixed(); i < fixed() + lane_words_; ++i) to[i] = from[i];
  }
  // child_ has placed the returning operation.
  bool finish() {
    clear(placed(child_.data()), returning_slot_);
    return insert(*next_, child_.data());
  }

  void burst() {
    const bool lean = level_ <= 1 && open_lanes_ > 0;
    if (lean) truncated_ = true;
    spent_.assign(frontier_.count, 0);
    optional_max_ = lean ? 0 : UINT32_MAX;
    expand_all();
    // No way without them: one each, and then as many as there are.
    for (const uint32_t more : {1u, UINT32_MAX}) {
      if (!lean || next_->alive > 0) return;
      ++counters_.lean_retries;
      optional_max_ = more;
      expand_all();
    }
  }
  void expand_all() {
    const uint32_t limit = narrow_ ? std::max(256u, 4 * beam_) : UINT32_MAX;
    uint32_t expanded = 0;
    for (uint32_t i = 0; i < frontier_.count && !out_of_budget_; ++i) {
      if (frontier_.redundant[i]) continue;
      if (expanded++ == limit) {
        truncated_ = true;
        break;
      }
      expand(i);
    }
  }

  // All one-step continuations of a configuration in which the returning operation is not placed.
  void expand(uint32_t index) {
    count_node();
    copy(frontier_.at(index), node_.data());
    node_spent_ = spent_[index];
    const uint64_t* c = node_.data();
    const ValueId s = state(c);
    const ProblemOp& last = problem_.ops[returning_];
    if (last.kind == Kind::kWrite) try_write(last.to, returning_, kNone);
    if (last.kind == Kind::kCas && last.from == s) try_cas(last.to, returning_, kNone);
    // An F that is not placed is one of the current state: any other state satisfies it.
    const bool escape = any_unplaced(s, kMismatches, c);
    expand_cas(s, escape);
    expand_writes(s, escape);
  }

  void expand_cas(ValueId s, bool escape) {
    const uint64_t* c = node_.data();
    for_each_unplaced(family(s, kCasFrom), [&](uint32_t slot) {
      if (slot == returning_slot_ || has_earlier_equal(slot)) return;
      try_cas(problem_.ops[slots_[slot]].to, slots_[slot], kNone);
    });
    if (node_spent_ >= optional_max_) return;
    for (uint32_t lane = lanes_from_[s]; lane != kNone; lane = lanes_[lane].next_from) {
      if (!available(c, lane)) continue;
      const ValueId to = problem_.classes[lanes_[lane].cls].to;
      if (reductions_.symmetry && any_unplaced_cas(s, to, c)) {
        ++counters_.symmetric;
        continue;
      }
      if (reductions_.productive && !escape && !awaited(to, c)) {
        if (!optional_from(c, to)) {
          ++counters_.unproductive;
          continue;
        }
        if (narrow_) {
          truncated_ = true;
          continue;
        }
      }
      try_cas(to, kNone, lane);
    }
  }

  void expand_writes(ValueId s, bool escape) {
    const uint64_t* c = node_.data();
    uint32_t escaping = kNone;  // narrow: of the writes that only satisfy an F, the first to return
    if (escape || anyone_awaits(c)) {
      for_each_unplaced(all_writes_.data(), [&](uint32_t slot) {
        if (slot == returning_slot_ || has_earlier_equal(slot)) return;
        const uint32_t op = slots_[slot];
        const ValueId to = problem_.ops[op].to;
        const Use use = use_of_write(s, to, escape);
        if (use == Use::kNothing) return;
        if (use == Use::kEscape && narrow_) {
          if (escaping != kNone) truncated_ = true;
          if (escaping == kNone || problem_.ops[op].ret < problem_.ops[escaping].ret) escaping = op;
          return;
        }
        try_write(to, op, kNone);
      });
    }
    if (escaping != kNone) try_write(problem_.ops[escaping].to, escaping, kNone);
    if (node_spent_ >= optional_max_) return;
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].cls == kNone || !available(c, lane)) continue;
      const OptionalClass& cls = problem_.classes[lanes_[lane].cls];
      if (cls.kind != Kind::kWrite) continue;
      if (reductions_.symmetry && any_unplaced(cls.to, kWrites, c)) {
        ++counters_.symmetric;
        continue;
      }
      const Use use = use_of_write(s, cls.to, escape);
      if (use == Use::kNothing) continue;
      if (use == Use::kEscape && narrow_) {
        if (escaping != kNone) {
          truncated_ = true;
          continue;
        }
        escaping = lane;
      }
      try_write(cls.to, kNone, lane);
    }
  }

  enum class Use : uint8_t { kNothing, kEscape, kRead };

  // What a write of `to` in state s, before the last of the burst, is good for. One that is good
  // for nothing is left out: the next write makes it free.
  Use use_of_write(ValueId s, ValueId to, bool escape) {
    if (!reductions_.lazy_writes || !reductions_.productive) return Use::kRead;
    const uint64_t* c = node_.data();
    if (to == s) {
      // It changes nothing, but hides the writes before it from a cas that follows.
      if (some_write_not_free(c) && (any_unplaced(s, kCasFrom, c) || optional_from(c, s))) {
        ++counters_.boundaries;
        return Use::kRead;
      }
    } else if (awaited(to, c) || optional_from(c, to)) {
      return Use::kRead;
    } else if (escape) {
      return Use::kEscape;
    }
    ++counters_.unproductive;
    return Use::kNothing;
  }
  bool some_write_not_free(const uint64_t* c) const {
    for (int w = 0; w < words(); ++w) {
      if (all_writes_[w] & ~placed(c)[w] & ~freed(c)[w]) return true;
    }
    return false;
  }
  // Whether a write could be of use: somebody may be waiting for its value.
  bool anyone_awaits(const uint64_t* c) const {
    if (!reductions_.lazy_writes || !reductions_.productive || open_lanes_ > 0) return true;
    for (int w = 0; w < words(); ++w) {
      if ((all_observers_[w] | all_cas_[w]) & ~placed(c)[w]) return true;
    }
    return false;
  }
  bool has_earlier_equal(uint32_t slot) {
    if (!reductions_.symmetry) return false;
    for (int w = 0; w < words(); ++w) {
      if (earlier(slot)[w] & ~placed(node_.data())[w]) {
        ++counters_.symmetric;
        return true;
      }
    }
    return false;
  }
  bool any_unplaced_cas(ValueId from, ValueId to, const uint64_t* c) const {
    for (int w = 0; w < words(); ++w) {
      if (family(from, kCasFrom)[w] & family(to, kCasTo)[w] & ~placed(c)[w]) return true;
    }
    return false;
  }
  template <typename Fn>
  void for_each_unplaced(const uint64_t* mask, const Fn& fn) {
    for (int w = 0; w < words(); ++w) {
      for (uint64_t rest = mask[w] & ~placed(node_.data())[w]; rest; rest &= rest - 1) {
        fn(64 * w + static_cast<uint32_t>(std::countr_zero(rest)));
      }
    }
  }

  // --- One step: an operation, or one of a class, on top of node_.
  void try_write(ValueId to, uint32_t op, uint32_t lane) {
    uint64_t* c = take(op, lane);
    if (reductions_.lazy_writes) {
      for (int w = 0; w < words(); ++w) freed(c)[w] |= all_writes_[w] & ~placed(c)[w];
    }
    enter(to, op, lane);
  }
  void try_cas(ValueId to, uint32_t op, uint32_t lane) {
    uint64_t* c = take(op, lane);
    if (reductions_.lazy_writes) {
      const uint64_t* equal = family(to, kWrites);
      for (int w = 0; w < words(); ++w) freed(c)[w] |= equal[w] & ~placed(c)[w];
    }
    enter(to, op, lane);
  }
  uint64_t* take(uint32_t op, uint32_t lane) {
    uint64_t* c = child_.data();
    copy(node_.data(), c);
    if (op != kNone) {
      set(placed(c), slot_of_[op]);
      clear(freed(c), slot_of_[op]);
    } else {
      use(c, lane);
    }
    return c;
  }
  void enter(ValueId to, uint32_t op, uint32_t lane) {
    uint64_t* c = child_.data();
    const ValueId from = state(c);
    set_state(c, to);
    const uint64_t* reads = family(to, kReads);
    for (int w = 0; w < words(); ++w) placed(c)[w] |= reads[w];
    if (from != to) {
      const uint64_t* mismatches = family(from, kMismatches);
      for (int w = 0; w < words(); ++w) placed(c)[w] |= mismatches[w];
      if (reductions_.dead_values && is_dead(from, c)) {
        ++counters_.dead;
        return;
      }
    }
    const uint32_t parent = trace(c);
    if (options_.want_order) set_trace(c, trace_.size());
    const bool done = test(placed(c), returning_slot_);
    const bool kept = done ? finish() : insert(frontier_, c);
    if (kept && !done) spent_.push_back(node_spent_ + (op == kNone));
    if (kept && options_.want_order) {
      trace_.push_back({parent, op != kNone ? 2 * op : 2 * lanes_[lane].cls + 1, event_});
    }
  }

  // --- The beam.
  void cut_to_beam() {
    if (beam_ == 0 || layer_->count <= beam_) return;
    truncated_ = true;
    ++counters_.beam_cuts;
    scores_.clear();
    for (uint32_t i = 0; i < layer_->count; ++i) scores_.emplace_back(score(layer_->at(i)), i);
    std::nth_element(scores_.begin(), scores_.begin() + beam_, scores_.end());
    scores_.resize(beam_);
    std::sort(scores_.begin(), scores_.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (uint32_t to = 0; to < beam_; ++to) {
      if (scores_[to].second != to) copy(layer_->at(scores_[to].second), layer_->at(to));
    }
    layer_->truncate(beam_);
  }
  uint32_t score(const uint64_t* c) const {
    uint32_t score = 0;
    for (uint32_t lane = 0; lane < size_t{lane_words_} * kLanesPerWord; ++lane) {
      score += 8 * used(c, lane);
    }
    for (int w = 0; w < words(); ++w) {
      score += 2 * std::popcount(all_observers_[w] & ~placed(c)[w]);
      score += std::popcount(all_writes_[w] & ~placed(c)[w] & ~freed(c)[w]);
    }
    return score;
  }

  // --- The sweep, its checkpoints, its budget.
  Step sweep() {
    const auto end = static_cast<uint32_t>(problem_.events.size());
    while (event_ < end) {
      if (level_ > 0 && level_ < kFullLevel && event_ > furthest_ + kCheckpointEvery) set_level(0);
      if (event_ % kCheckpointEvery == 0 && event_ != saved_at_) save();
      const uint32_t event = problem_.events[event_];
      ++counters_.events;
      if (event & 1) {
        on_return(event / 2);
      } else {
        on_call(event / 2);
      }
      if (over_budget()) return Step::kOutOfBudget;
      if (layer_->count == 0) return Step::kDied;
      ++event_;
    }
    return Step::kSurvived;
  }
  void count_node() {
    ++counters_.nodes;
    counters_.work += 8 + static_cast<uint64_t>(words());
    if (counters_.work >= work_max_) out_of_budget_ = true;
    if (counters_.nodes % 1024 == 0) {
      poll();
      if (next_->bytes() + frontier_.bytes() + layer_->bytes() > options_.memory_bytes_max) {
        out_of_budget_ = out_of_memory_ = true;
      }
    }
  }
  bool over_budget() {
    counters_.work += 2 + layer_->count;
    if (counters_.work >= work_max_) out_of_budget_ = true;
    if (counters_.events % 4096 == 0) poll();
    return out_of_budget_;
  }
  void poll() {
    if (options_.exhausted && options_.exhausted()) out_of_budget_ = exhausted_ = true;
  }

  void set_level(int level) {
    level_ = level;
    if (level > static_cast<int>(std::size(kLadder))) {
      beam_ = 0;
    } else {
      beam_ = level == 0 ? options_.beam : std::max(options_.beam, kLadder[level - 1].beam);
    }
    narrow_ = beam_ != 0 && beam_ < kNarrowBeam;
  }
  static constexpr int kFullLevel = static_cast<int>(std::size(kLadder)) + 1;

  void save() {
    tidy_lanes();
    Checkpoint checkpoint{.event = event_,
                          .truncated = truncated_,
                          .trace_size = trace_.size(),
                          .slots = slots_,
                          .lanes = {},
                          .lane_words = lane_words_,
                          .layer = layer_->records()};
    for (const Lane& lane : lanes_) checkpoint.lanes.emplace_back(lane.cls, lane.invoked);
    saved_at_ = event_;
    if (!truncated_ && !unlimited_) exact_ = checkpoint;
    constexpr size_t kKept = kLadder[std::size(kLadder) - 1].back + 2;
    if (checkpoints_.size() == kKept) checkpoints_.erase(checkpoints_.begin());
    checkpoints_.push_back(std::move(checkpoint));
  }
  void restore(const Checkpoint& checkpoint) {
    for (uint32_t op : slots_) {
      if (op != kNone) vacate(op);
    }
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].cls != kNone) close_lane(lane);
    }
    lanes_.clear();
    spare_lanes_.clear();
    event_ = saved_at_ = checkpoint.event;
    truncated_ = checkpoint.truncated;
    trace_.resize(checkpoint.trace_size, {0, 0, 0});
    free_slots_.clear();
    for (uint32_t slot = static_cast<uint32_t>(slots_.size()); slot-- > 0;) {
      if (checkpoint.slots[slot] == kNone) {
        free_slots_.push_back(slot);
      } else {
        occupy(checkpoint.slots[slot], slot);
      }
    }
    lane_words_ = checkpoint.lane_words;
    layer_->reset(stride());
    layer_->assign(checkpoint.layer);
    for (const auto& [cls, invoked] : checkpoint.lanes) {
      const auto lane = static_cast<uint32_t>(lanes_.size());
      if (cls != kNone) {
        open_lane(cls, invoked);
      } else {
        lanes_.push_back({});
        spare_lanes_after_restore_.push_back(lane);
      }
    }
    spare_lanes_.insert(spare_lanes_.end(), spare_lanes_after_restore_.begin(),
                        spare_lanes_after_restore_.end());
    spare_lanes_after_restore_.clear();
  }

  // --- How it goes.
  void begin() {
    set_level(options_.beam == 0 ? kFullLevel : 0);
    layer_->reset(stride());
    for (; event_ < problem_.start; ++event_) {
      const uint32_t event = problem_.events[event_];
      if (event & 1) {
        const uint32_t slot = slot_of_[event / 2];
        vacate(event / 2);
        free_slots_.push_back(slot);
      } else {
        on_call(event / 2);
      }
    }
    problem_.any_state ? begin_anywhere() : begin_at_initial();
    save();
    exact_ = checkpoints_.back();
  }
  void begin_at_initial() {
    child_.assign(stride(), 0);
    set_state(child_.data(), problem_.initial);
    insert(*layer_, child_.data());
    layer_->compact();
  }
  // Every state that may be, with every subset of the cas under way placed; all writes under way
  // free, all observers placed. That is at least as good as any configuration that can have come
  // about.
  void begin_anywhere() {
    std::vector<uint32_t> cas;
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (test(all_cas_.data(), slot)) cas.push_back(slot);
    }
    if (cas.size() > 16) {  // too many subsets: give up, do not guess
      out_of_budget_ = true;
      cas.clear();
    }
    child_.assign(stride(), 0);
    for (ValueId v : problem_.start_states) {
      for (uint32_t subset = 0; subset < uint32_t{1} << cas.size(); ++subset) {
        uint64_t* c = child_.data();
        std::fill(child_.begin(), child_.end(), 0);
        set_state(c, v);
        for (int w = 0; w < words(); ++w) {
          placed(c)[w] = all_observers_[w];
          freed(c)[w] = all_writes_[w];
        }
        for (size_t i = 0; i < cas.size(); ++i) {
          if (subset >> i & 1) set(placed(c), cas[i]);
        }
        insert(*layer_, c);
      }
    }
    layer_->compact();
  }

  SearchResult run_ladder() {
    for (;;) {
      const Step step = sweep();
      const Stage stage = counters_.restarts == 0 ? Stage::kBeam : Stage::kLadder;
      if (step == Step::kSurvived) return result(Outcome::kValid, stage, event_);
      if (step == Step::kOutOfBudget) return unknown();
      if (!truncated_) return result(Outcome::kInvalid, stage, event_);
      if (counters_.restarts == 0 && reductions_.contradiction) {
        const uint32_t event = first_contradiction(problem_);
        if (event != kNoEvent) return result(Outcome::kInvalid, Stage::kContradiction, event);
      }
      furthest_ = std::max(furthest_, event_);
      if (level_ >= std::min(options_.rungs, kFullLevel - 1)) return run_full();
      set_level(level_ + 1);
      ++counters_.restarts;
      climb_from(kLadder[level_ - 1].back);
    }
  }
  void climb_from(uint32_t back) {
    while (checkpoints_.size() > 1 && back-- > 0) checkpoints_.pop_back();
    restore(checkpoints_.back());
  }
  SearchResult run_full() {
    set_level(kFullLevel);
    const bool optional = !problem_.classes.empty();
    if (options_.beam != 0 && optional && options_.over_approximation) {
      restart(true);
      if (options_.work_max != UINT64_MAX) {
        work_max_ = counters_.work + (options_.work_max - counters_.work) / 2;
      }
      if (sweep() == Step::kDied && !truncated_) {
        return result(Outcome::kInvalid, Stage::kOverApproximation, event_);
      }
      furthest_ = std::max(furthest_, event_);
      if (exhausted_) return unknown();
      out_of_budget_ = false;
      work_max_ = options_.work_max;
    }
    restart(false);
    const Step step = sweep();
    if (step == Step::kSurvived) return result(Outcome::kValid, Stage::kFull, event_);
    if (step == Step::kOutOfBudget || truncated_) return unknown();
    return result(Outcome::kInvalid, Stage::kFull, event_);
  }
  // From the last checkpoint before which nothing was cut.
  void restart(bool unlimited) {
    ++counters_.restarts;
    unlimited_ = false;
    restore(exact_);
    if (!unlimited || lane_words_ == 0) {
      unlimited_ = unlimited;
      return;
    }
    const std::vector<uint64_t> counted = layer_->records();
    const uint32_t counted_stride = layer_->stride;
    unlimited_ = true;
    lane_words_ = 0;
    layer_->reset(stride());
    for (size_t i = 0; i < counted.size(); i += counted_stride) {
      insert(*layer_, counted.data() + i);
    }
    layer_->compact();
  }

  SearchResult unknown() {
    SearchResult r = result(Outcome::kUnknown, Stage::kFull, std::max(furthest_, event_));
    r.out_of_memory = out_of_memory_;
    return r;
  }
  SearchResult result(Outcome outcome, Stage stage, uint32_t event) {
    SearchResult r{.outcome = outcome, .stage = stage, .event = event, .counters = counters_};
    if (outcome == Outcome::kValid && options_.want_order) r.placements = placements();
    return r;
  }
  std::vector<Placement> placements() const {
    std::vector<std::vector<uint32_t>> members(problem_.classes.size());
    for (uint32_t op = 0; op < problem_.ops.size(); ++op) {
      if (problem_.ops[op].optional) members[problem_.ops[op].cls].push_back(op);
    }
    std::vector<Placement> placements;
    for (uint32_t id = trace(layer_->at(0)); id != 0; id = trace_[id].parent) {
      placements.push_back({trace_[id].what, trace_[id].event});
    }
    std::reverse(placements.begin(), placements.end());
    std::vector<uint32_t> taken(members.size());
    for (Placement& p : placements) {
      const uint32_t what = p.op;
      p.op = what & 1 ? members[what / 2][taken[what / 2]++] : what / 2;
    }
    return placements;
  }

  const Problem& problem_;
  const SearchOptions& options_;
  const Reductions reductions_;
  const int words_;

  // Operations under way.
  std::vector<uint32_t> slot_of_;  // by operation
  std::vector<uint32_t> slots_;    // operation, or kNone
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> active_;         // by value: where its masks are; 0: no operation under way
  std::vector<uint32_t> active_values_;  // how many operations under way each holds
  std::vector<uint32_t> spare_values_;
  bool own_masks_ = false;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> spare_lanes_;
  std::vector<uint32_t> spare_lanes_after_restore_;
  std::vector<uint32_t> lanes_from_;  // by value
  std::vector<uint32_t> lanes_to_;
  std::vector<uint32_t> lane_of_;  // by class
  std::vector<uint64_t> families_;
  std::vector<uint64_t> earlier_;  // by slot
  std::vector<uint64_t> all_writes_;
  std::vector<uint64_t> all_cas_;
  std::vector<uint64_t> all_observers_;
  uint32_t lane_words_ = 0;
  uint32_t open_lanes_ = 0;

  // The sweep.
  uint32_t event_ = 0;
  uint32_t furthest_ = 0;  // death
  uint32_t saved_at_ = kNone;
  int level_ = 0;
  uint32_t beam_ = 0;
  bool narrow_ = false;
  bool truncated_ = false;  // something was cut: an empty set proves nothing
  bool unlimited_ = false;  // optional operations are not counted
  bool out_of_budget_ = false;
  bool out_of_memory_ = false;
  bool exhausted_ = false;
  uint64_t work_max_ = options_.work_max;
  ConfigSet sets_[2], frontier_;
  ConfigSet* layer_ = &sets_[0];
  ConfigSet* next_ = &sets_[1];
  std::vector<Checkpoint> checkpoints_;
  Checkpoint exact_;

  // One return.
  uint32_t returning_ = kNone;
  uint32_t returning_slot_ = 0;
  uint32_t optional_max_ = 0;      // so many may be placed in this burst
  uint32_t node_spent_ = 0;        // … and so many were
  std::vector<uint32_t> spent_;    // by member of the frontier
  std::vector<uint64_t> node_;
  std::vector<uint64_t> child_;
  std::vector<std::pair<uint32_t, uint32_t>> scores_;

  std::vector<TraceNode> trace_;
  SearchCounters counters_;
};

}  // namespace

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kUnique:
      return "unique values";
    case Stage::kUniqueOrder:
      return "unique values, an order for failed CAS";
    case Stage::kUniqueRepair:
      return "unique values, an order mended for failed CAS";
    case Stage::kContradiction:
      return "a value that cannot have been there";
    case Stage::kBeam:
      return "beam";
    case Stage::kLadder:
      return "ladder";
    case Stage::kOverApproximation:
      return "over-approximation";
    case Stage::kFull:
      return "full search";
  }
  return "";
}

void SearchCounters::add(const SearchCounters& other) {
  events += other.events;
  nodes += other.nodes;
  work += other.work;
  layer_max = std::max(layer_max, other.layer_max);
  dominated += other.dominated;
  dead += other.dead;
  unproductive += other.unproductive;
  boundaries += other.boundaries;
  symmetric += other.symmetric;
  hidden += other.hidden;
  unwanted += other.unwanted;
  beam_cuts += other.beam_cuts;
  lean_retries += other.lean_retries;
  restarts += other.restarts;
  lanes_released += other.lanes_released;
}

namespace {

template <typename Run>
SearchResult with_sweep(const Problem& problem, const SearchOptions& options, const Run& run) {
  const uint32_t pending = std::max(problem.pending_max, options.pending_min);
  if (pending <= 64) return run(Sweep<1>(problem, options));
  if (pending <= 128) return run(Sweep<2>(problem, options));
  if (pending <= 256) return run(Sweep<4>(problem, options));
  return run(Sweep<0>(problem, options));
}

}  // namespace

SearchResult search(const Problem& problem, const SearchOptions& options) {
  return with_sweep(problem, options, [](auto&& sweep) { return sweep.run(); });
}

}  // namespace assay::linearizable
