#include "checkers/linearizable/search.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "checkers/linearizable/layered_sweep.h"

namespace assay::linearizable {
namespace {

constexpr uint32_t kNone = kNoEntry;
constexpr uint32_t kOwnMasksMax = 1000;  // values

// Operations under way that concern a value. Awaiting: reads of it and cas from it.
enum Family : int { kAwaiting, kReads, kWrites, kCasFrom, kCasTo, kMismatches, kFamilies };

// The search over the operations of a register. A state is a value; a write is free when it was
// overwritten unseen, or equal to a state that was.
template <int kWords>
class Sweep : public LayeredSweep<Sweep<kWords>, Problem, SearchOptions, kWords> {
 public:
  Sweep(const Problem& problem, const SearchOptions& options)
      : Base(problem, options),
        reductions_(options.reductions),
        active_(problem.values, 0),
        lanes_from_(problem.values, kNone),
        lanes_to_(problem.values, kNone),
        families_(size_t{1} * kFamilies * words(), 0),
        earlier_(size_t{64} * words() * words(), 0) {
    dominance_ = reductions_.dominance;
    active_values_.push_back(0);  // the first stands for every value without pending operations
    // Few values: each has masks of its own from the start.
    own_masks_ = problem.values <= kOwnMasksMax;
    if (own_masks_) {
      for (ValueId v = 0; v < problem.values; ++v) active_[v] = v + 1;
      active_values_.assign(problem.values + 1, 1);
      families_.assign(active_values_.size() * kFamilies * words(), 0);
    }
  }

 private:
  using Base = LayeredSweep<Sweep<kWords>, Problem, SearchOptions, kWords>;
  friend Base;
  using Base::words, Base::state, Base::set_state, Base::placed, Base::freed, Base::test;
  using Base::set, Base::clear, Base::copy, Base::for_each_unplaced, Base::available, Base::use;
  using Base::insert, Base::finish, Base::may_use_optional, Base::problem_, Base::options_;
  using Base::dominance_, Base::slot_of_, Base::slots_, Base::lanes_, Base::observers_;
  using Base::freeable_, Base::rigid_, Base::open_lanes_, Base::event_, Base::narrow_;
  using Base::truncated_, Base::out_of_budget_, Base::out_of_memory_, Base::layer_;
  using Base::frontier_, Base::returning_, Base::returning_slot_, Base::node_, Base::child_;
  using Base::counters_;
  static constexpr uint64_t kPollNodes = 1024;

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

  void joins(uint32_t op, uint32_t slot) {
    const ProblemOp& o = problem_.ops[op];
    switch (o.kind) {
      case Kind::kRead:
        join(o.from, kReads, slot);
        return set(observers_.data(), slot);
      case Kind::kMismatch:
        join(o.from, kMismatches, slot);
        return set(observers_.data(), slot);
      case Kind::kWrite:
        join(o.to, kWrites, slot);
        set(freeable_.data(), slot);
        return order_among_equals(o, slot);
      case Kind::kCas:
        join(o.from, kCasFrom, slot);
        join(o.to, kCasTo, slot);
        set(rigid_.data(), slot);
        return order_among_equals(o, slot);
    }
  }
  void leaves(uint32_t op, uint32_t slot) {
    const ProblemOp& o = problem_.ops[op];
    switch (o.kind) {
      case Kind::kRead:
        leave(o.from, kReads, slot);
        return clear(observers_.data(), slot);
      case Kind::kMismatch:
        leave(o.from, kMismatches, slot);
        return clear(observers_.data(), slot);
      case Kind::kWrite:
        leave_equals(o, slot);
        leave(o.to, kWrites, slot);
        return clear(freeable_.data(), slot);
      case Kind::kCas:
        leave_equals(o, slot);
        leave(o.from, kCasFrom, slot);
        leave(o.to, kCasTo, slot);
        return clear(rigid_.data(), slot);
    }
  }

  // --- Optional operations: the lanes of C(v,.)?, and those that make v, are chained.
  struct Links {
    uint32_t from = kNone;
    uint32_t to = kNone;
  };
  void lane_opened(uint32_t lane) {
    if (links_.size() <= lane) links_.resize(lane + 1);
    const OptionalClass& c = problem_.classes[lanes_[lane].cls];
    links_[lane].to = std::exchange(lanes_to_[c.to], lane);
    if (c.kind == Kind::kCas) links_[lane].from = std::exchange(lanes_from_[c.from], lane);
  }
  void lane_closed(uint32_t lane) {
    const OptionalClass& c = problem_.classes[lanes_[lane].cls];
    unlink(&lanes_to_[c.to], lane, &Links::to);
    if (c.kind == Kind::kCas) unlink(&lanes_from_[c.from], lane, &Links::from);
  }
  void unlink(uint32_t* link, uint32_t lane, uint32_t Links::*next) {
    while (*link != lane) link = &(links_[*link].*next);
    *link = links_[lane].*next;
  }
  bool any_available(const uint64_t* c, uint32_t lane, uint32_t Links::*next) const {
    for (; lane != kNone; lane = links_[lane].*next) {
      if (available(c, lane)) return true;
    }
    return false;
  }
  bool optional_from(const uint64_t* c, ValueId v) const {
    return any_available(c, lanes_from_[v], &Links::from);
  }
  bool is_class_useful(uint32_t cls) const { return wanted_by_anyone(problem_.classes[cls].to); }
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

  // --- Values that cannot come back, and values that nobody wants.
  bool is_dead(ValueId v, const uint64_t* c) const {
    const ValueFuture& future = problem_.futures[v];
    if (future.producer > event_ + 1) return false;
    if (future.needed <= event_ + 1 && !awaited(v, c)) return false;
    if (active_[v] != 0 && (any_unplaced(v, kWrites, c) || any_unplaced(v, kCasTo, c))) {
      return false;
    }
    return !any_available(c, lanes_to_[v], &Links::to);
  }
  bool is_wanted(ValueId v, const uint64_t* c) const {
    return problem_.futures[v].wanted > event_ + 1 || problem_.mismatch_other_than(v, event_) ||
           awaited(v, c) || lanes_from_[v] != kNone || any_unplaced(state(c), kMismatches, c);
  }

  // --- Events.
  void begin_layer() { problem_.any_state ? begin_anywhere() : begin_at_initial(); }
  void before_event() {}
  size_t more_bytes() const { return 0; }
  uint32_t contradiction() const {
    return reductions_.contradiction ? first_contradiction(problem_) : kNoEvent;
  }
  void called(uint32_t op, uint32_t slot) {
    const ProblemOp& o = problem_.ops[op];
    if (o.kind == Kind::kCas) return;
    const ValueId value = o.kind == Kind::kWrite ? o.to : o.from;
    if (o.kind == Kind::kWrite && !reductions_.lazy_writes) return;
    for (uint32_t i = 0; i < layer_->count; ++i) {
      uint64_t* c = layer_->at(i);
      if ((state(c) == value) == (o.kind == Kind::kMismatch)) continue;
      set(o.kind == Kind::kWrite ? freed(c) : placed(c), slot);
    }
  }

  void begin_at_initial() {
    set_state(child_.data(), problem_.initial);
    insert(*layer_, child_.data());
  }
  // Every state that may be, with every subset of the cas under way placed; all writes under way
  // free, all observers placed. That is at least as good as any configuration that can have come
  // about.
  void begin_anywhere() {
    std::vector<uint32_t> cas;
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (test(rigid_.data(), slot)) cas.push_back(slot);
    }
    if (cas.size() > 16) {  // too many subsets: give up, do not guess
      out_of_budget_ = true;
      cas.clear();
    }
    for (ValueId v : problem_.start_states) {
      for (uint32_t subset = 0; subset < uint32_t{1} << cas.size(); ++subset) {
        uint64_t* c = child_.data();
        std::fill(child_.begin(), child_.end(), 0);
        set_state(c, v);
        for (int w = 0; w < words(); ++w) {
          placed(c)[w] = observers_[w];
          freed(c)[w] = freeable_[w];
        }
        for (size_t i = 0; i < cas.size(); ++i) {
          if (subset >> i & 1) set(placed(c), cas[i]);
        }
        insert(*layer_, c);
      }
    }
  }

  // --- Bursts.
  void sort_out() {
    const ProblemOp& o = problem_.ops[returning_];
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
  void expand() {
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
    for_each_unplaced(family(s, kCasFrom), c, [&](uint32_t slot) {
      if (slot == returning_slot_ || has_earlier_equal(slot)) return;
      try_cas(problem_.ops[slots_[slot]].to, slots_[slot], kNone);
    });
    if (!may_use_optional()) return;
    for (uint32_t lane = lanes_from_[s]; lane != kNone; lane = links_[lane].from) {
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
      for_each_unplaced(freeable_.data(), c, [&](uint32_t slot) {
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
    if (!may_use_optional()) return;
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
      if (freeable_[w] & ~placed(c)[w] & ~freed(c)[w]) return true;
    }
    return false;
  }
  // Whether a write could be of use: somebody may be waiting for its value.
  bool anyone_awaits(const uint64_t* c) const {
    if (!reductions_.lazy_writes || !reductions_.productive || open_lanes_ > 0) return true;
    for (int w = 0; w < words(); ++w) {
      if ((observers_[w] | rigid_[w]) & ~placed(c)[w]) return true;
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
  // --- One step: an operation, or one of a class, on top of node_.
  void try_write(ValueId to, uint32_t op, uint32_t lane) {
    uint64_t* c = take(op, lane);
    if (reductions_.lazy_writes) {
      for (int w = 0; w < words(); ++w) freed(c)[w] |= freeable_[w] & ~placed(c)[w];
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
    Base::enter(op, op == kNone ? lanes_[lane].cls : kNone);
  }

  const Reductions reductions_;

  // Operations under way.
  std::vector<uint32_t> active_;         // by value: where its masks are; 0: no operation under way
  std::vector<uint32_t> active_values_;  // how many operations under way each holds
  std::vector<uint32_t> spare_values_;
  bool own_masks_ = false;
  std::vector<Links> links_;  // by lane
  std::vector<uint32_t> lanes_from_;  // by value
  std::vector<uint32_t> lanes_to_;
  std::vector<uint64_t> families_;
  std::vector<uint64_t> earlier_;  // by slot
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
