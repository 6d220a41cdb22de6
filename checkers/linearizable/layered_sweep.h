// LayeredSweep: a search in layers, whatever its operations mean; search.cc and general_search.cc
// say that. The events are swept with a set of configurations: a return keeps those in which the
// operation is placed and replaces the others by all their bursts that end with it.
//
// A configuration is a record of words: the state (and above it the trace), the mask of placed
// operations, the mask of free ones (changes under way that need not happen any more, but may), and,
// in lanes of 16 bits, how many of each class of optional operations it has used. Masks are of the
// slots that operations under way sit in: kWords words, or as many as it takes (0).
//
// Small sets first: a beam, then wider ones from further back (the ladder), then, from where nothing
// was cut yet, all. Valid needs one configuration at the end; invalid, that nothing was cut.
//
// Derived has
//   void joins(op, slot), leaves(op, slot)  keeps its masks of what is under way
//   void begin_layer()         the configurations to start from, into *layer_
//   void called(op, slot)      what a call does to the layer
//   void sort_out()            of the layer: into next_ (finish()) where the operation at
//                              returning_slot_ is placed or free, into frontier_ where it must (or
//                              may) still be placed
//   void expand()              all one-step continuations of node_, by enter()
//   void lane_opened(lane), lane_closed(lane)
//   bool is_class_useful(cls)  whether an optional operation of it can still be of use to anyone
//   void before_event()
//   uint32_t contradiction()   an event that shows the problem to be impossible, or kNoEvent
//   size_t more_bytes()        memory in use beside the sets
//   kPollNodes                 looks for the end of its budget every so many nodes
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "checkers/linearizable/layers.h"
#include "checkers/linearizable/search.h"

namespace assay::linearizable {

template <typename Derived, typename ProblemType, typename OptionsType, int kWords>
class LayeredSweep {
 public:
  SearchResult run() {
    begin();
    return options_.beam == 0 ? run_full() : run_ladder();
  }

 protected:
  // A class of optional operations of which some were invoked. `invoked` does not count those that
  // every configuration has used.
  struct Lane {
    uint32_t cls = kNoEntry;
    uint32_t invoked = 0;
  };
  struct Checkpoint {
    uint32_t event = 0;
    bool truncated = false;
    size_t trace_size = 0;
    std::vector<uint32_t> slots;
    std::vector<Lane> lanes;
    uint32_t lane_words = 0;
    std::vector<uint64_t> layer;
  };
  static constexpr uint64_t kOverApproximationLeast = 30'000'000;  // work
  static constexpr int kFullLevel = static_cast<int>(std::size(kLadder)) + 1;

  LayeredSweep(const ProblemType& problem, const OptionsType& options)
      : problem_(problem),
        options_(options),
        words_(static_cast<int>(std::max(problem.pending_max, options.pending_min) + 63) / 64),
        slot_of_(problem.ops.size(), kNoEntry),
        lane_of_(problem.classes.size(), kNoEntry),
        observers_(words(), 0),
        freeable_(words(), 0),
        rigid_(words(), 0) {
    free_all_slots();
    if (options.want_order) trace_.push_back({0, 0, 0});
  }
  LayeredSweep(const LayeredSweep&) = delete;
  LayeredSweep& operator=(const LayeredSweep&) = delete;

  Derived& self() { return static_cast<Derived&>(*this); }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
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
  static uint32_t state(const uint64_t* c) { return static_cast<uint32_t>(c[0]); }
  static void set_state(uint64_t* c, uint32_t s) { c[0] = (c[0] >> 32 << 32) | s; }
  static uint32_t trace(const uint64_t* c) { return static_cast<uint32_t>(c[0] >> 32); }
  static void set_trace(uint64_t* c, uint64_t id) { c[0] = (id << 32) | state(c); }
  static uint64_t* placed(uint64_t* c) { return c + 1; }
  static const uint64_t* placed(const uint64_t* c) { return c + 1; }
  uint64_t* freed(uint64_t* c) const { return c + 1 + words(); }
  const uint64_t* freed(const uint64_t* c) const { return c + 1 + words(); }
  uint64_t* used(uint64_t* c) const { return c + fixed(); }
  const uint64_t* used(const uint64_t* c) const { return c + fixed(); }
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
  void copy(const uint64_t* from, uint64_t* to) const {
    std::memcpy(to, from, fixed() * sizeof(uint64_t));  // of known size, usually
    for (uint32_t i = fixed(); i < fixed() + lane_words_; ++i) to[i] = from[i];
  }
  // The slots of a mask whose operations are not placed.
  template <typename Fn>
  void for_each_unplaced(const uint64_t* mask, const uint64_t* c, const Fn& fn) const {
    for (int w = 0; w < words(); ++w) {
      for (uint64_t rest = mask[w] & ~placed(c)[w]; rest; rest &= rest - 1) {
        fn(64 * static_cast<uint32_t>(w) + static_cast<uint32_t>(std::countr_zero(rest)));
      }
    }
  }

  // --- Operations under way.
  void free_all_slots() {
    const uint32_t slots = 64 * static_cast<uint32_t>(words());
    free_slots_.clear();
    for (uint32_t slot = slots; slot-- > 0;) free_slots_.push_back(slot);
    slots_.assign(slots, kNoEntry);
  }
  void occupy(uint32_t op, uint32_t slot) {
    slot_of_[op] = slot;
    slots_[slot] = op;
    self().joins(op, slot);
  }
  void vacate(uint32_t op) {
    const uint32_t slot = slot_of_[op];
    slots_[slot] = kNoEntry;
    self().leaves(op, slot);
    free_slots_.push_back(slot);
  }
  void vacate_all() {
    for (uint32_t op : slots_) {
      if (op != kNoEntry) vacate(op);
    }
  }

  // --- Optional operations.
  void invoke_optional(uint32_t cls) {
    if (lane_of_[cls] != kNoEntry) {
      ++lanes_[lane_of_[cls]].invoked;
      return;
    }
    uint32_t lane;
    if (!spare_lanes_.empty()) {
      lane = spare_lanes_.back();
      spare_lanes_.pop_back();
    } else {
      lane = static_cast<uint32_t>(lanes_.size());
      lanes_.push_back({});
      if (!unlimited_ && lanes_.size() > size_t{lane_words_} * kLanesPerWord) widen_lanes();
    }
    open_lane(lane, {cls, 1});
  }
  void open_lane(uint32_t lane, const Lane& with) {
    lanes_[lane] = with;
    lane_of_[with.cls] = lane;
    ++open_lanes_;
    self().lane_opened(lane);
  }
  void close_lane(uint32_t lane) {
    self().lane_closed(lane);
    lane_of_[lanes_[lane].cls] = kNoEntry;
    lanes_[lane] = {};
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
      if (lanes_[lane].cls == kNoEntry) continue;
      if (!unlimited_) take_off_used_by_all(lane);
      const bool left = unlimited_ || lanes_[lane].invoked > 0;
      if (left && self().is_class_useful(lanes_[lane].cls)) continue;
      for (uint32_t i = 0; i < layer_->count && !unlimited_; ++i) {
        used(layer_->at(i))[lane / kLanesPerWord] &=
            ~(uint64_t{0xffff} << (16 * (lane % kLanesPerWord)));
      }
      close_lane(lane);
      ++counters_.lanes_released;
    }
  }
  void take_off_used_by_all(uint32_t lane) {
    uint32_t least = kUsedMax;
    for (uint32_t i = 0; i < layer_->count; ++i) least = std::min(least, used(layer_->at(i), lane));
    if (least == 0) return;
    for (uint32_t i = 0; i < layer_->count; ++i) {
      used(layer_->at(i))[lane / kLanesPerWord] -= uint64_t{least} << (16 * (lane % kLanesPerWord));
    }
    lanes_[lane].invoked -= least;
  }

  // --- Sets. Of one group are those of one state that have placed the same rigid operations.
  uint32_t group_hash(const uint64_t* c) const {
    uint64_t h = state(c) * 0x9e3779b97f4a7c15ull;
    for (int w = 0; w < words(); ++w) {
      h = (h ^ (h >> 29) ^ (placed(c)[w] & rigid_[w])) * 0xbf58476d1ce4e5b9ull;
    }
    return static_cast<uint32_t>(h >> 32);
  }
  bool same_group(const uint64_t* p, const uint64_t* q) const {
    if (state(p) != state(q)) return false;
    for (int w = 0; w < words(); ++w) {
      if ((placed(p)[w] ^ placed(q)[w]) & rigid_[w]) return false;
    }
    return true;
  }
  // Whether whatever q can still do, p can. Both of one group.
  bool at_least(const uint64_t* p, const uint64_t* q) const {
    if (!dominance_) return std::memcmp(p + 1, q + 1, (stride() - 1) * sizeof(uint64_t)) == 0;
    for (int w = 0; w < words(); ++w) {
      const uint64_t pp = placed(p)[w], pq = placed(q)[w];
      const uint64_t fp = freed(p)[w], fq = freed(q)[w];
      if (pq & ~pp & observers_[w]) return false;
      if (((pp ^ pq) | (fp ^ fq)) & freeable_[w] & ~fp) return false;
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

  // --- Events.
  void on_call(uint32_t op) {
    if (problem_.ops[op].optional) return invoke_optional(problem_.ops[op].cls);
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    occupy(op, slot);
    self().called(op, slot);
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
      next_->reset(stride());
      frontier_.reset(stride());
      if (child_.size() != stride()) child_.resize(stride());
      if (node_.size() != stride()) node_.resize(stride());
      self().sort_out();
      if (frontier_.count > 0) burst();
      next_->compact();
      std::swap(layer_, next_);
      cut_to_beam();
    }
    vacate(op);
    counters_.layer_max = std::max<uint64_t>(counters_.layer_max, layer_->count);
  }
  // child_ no longer needs the returning operation.
  bool finish() {
    clear(placed(child_.data()), returning_slot_);
    clear(freed(child_.data()), returning_slot_);
    return insert(*next_, child_.data());
  }
  // At low levels without optional operations, as long as there is a way.
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
      count_node();
      copy(frontier_.at(i), node_.data());
      node_spent_ = spent_[i];
      self().expand();
    }
  }
  bool may_use_optional() const { return open_lanes_ > 0 && node_spent_ < optional_max_; }
  // child_ is node_ after one more operation, or one of a class. False: another one is as good.
  bool enter(uint32_t op, uint32_t cls) {
    uint64_t* c = child_.data();
    const uint32_t parent = trace(c);
    if (options_.want_order) set_trace(c, trace_.size());
    const bool done = test(placed(c), returning_slot_);
    const bool kept = done ? finish() : insert(frontier_, c);
    if (kept && !done) spent_.push_back(node_spent_ + (op == kNoEntry));
    if (kept && options_.want_order) {
      trace_.push_back({parent, op != kNoEntry ? 2 * op : 2 * cls + 1, event_});
    }
    return kept;
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
    for (uint32_t lane = 0; lane < lane_words_ * kLanesPerWord; ++lane) score += 8 * used(c, lane);
    for (int w = 0; w < words(); ++w) {
      score += 2 * static_cast<uint32_t>(std::popcount(observers_[w] & ~placed(c)[w]));
      score += static_cast<uint32_t>(std::popcount(freeable_[w] & ~placed(c)[w] & ~freed(c)[w]));
    }
    return score;
  }

  // --- The sweep, its checkpoints, its budget.
  Step sweep() {
    const auto end = static_cast<uint32_t>(problem_.events.size());
    while (event_ < end) {
      if (level_ > 0 && level_ < kFullLevel && event_ > furthest_ + kCheckpointEvery) set_level(0);
      if (event_ % kCheckpointEvery == 0 && event_ != saved_at_) save();
      self().before_event();
      take_event();
      if (over_budget()) return Step::kOutOfBudget;
      if (layer_->count == 0) return Step::kDied;
      ++event_;
    }
    return Step::kSurvived;
  }
  void take_event() {
    const uint32_t event = problem_.events[event_];
    ++counters_.events;
    (event & 1) ? on_return(event / 2) : on_call(event / 2);
  }
  void count_node() {
    ++counters_.nodes;
    counters_.work += 8 + static_cast<uint64_t>(words());
    if (counters_.work >= work_max_) out_of_budget_ = true;
    if (counters_.nodes % Derived::kPollNodes == 0) {
      poll();
      watch_memory();
    }
  }
  void watch_memory() {
    const size_t sets = next_->bytes() + frontier_.bytes() + layer_->bytes();
    const size_t traces = trace_.capacity() * sizeof(TraceNode);
    if (sets + traces + self().more_bytes() > options_.memory_bytes_max ||
        trace_.size() > UINT32_MAX / 2) {
      out_of_budget_ = out_of_memory_ = true;
    }
  }
  bool over_budget() {
    counters_.work += 2 + layer_->count;
    if (counters_.work >= work_max_) out_of_budget_ = true;
    if (counters_.events % 1024 == 0) poll();
    return out_of_budget_;
  }
  void poll() {
    if (options_.exhausted && options_.exhausted()) out_of_budget_ = exhausted_ = true;
  }

  void set_level(int level) {
    level_ = level;
    if (level >= kFullLevel) {
      beam_ = 0;
    } else {
      beam_ = level == 0 ? options_.beam : std::max(options_.beam, kLadder[level - 1].beam);
    }
    narrow_ = beam_ != 0 && beam_ < kNarrowBeam;
  }

  void save() {
    tidy_lanes();
    if (level_ >= kFullLevel && saved_at_ != kNoEntry) {  // nobody comes back
      saved_at_ = event_;
      return;
    }
    Checkpoint now{event_, truncated_, trace_.size(), slots_, lanes_, lane_words_, layer_->records()};
    saved_at_ = event_;
    if (!truncated_ && !unlimited_) exact_ = now;
    constexpr size_t kKept = kLadder[std::size(kLadder) - 1].back + 2;
    if (checkpoints_.size() == kKept) checkpoints_.erase(checkpoints_.begin());
    checkpoints_.push_back(std::move(now));
  }
  void restore(const Checkpoint& at) {
    vacate_all();
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].cls != kNoEntry) close_lane(lane);
    }
    event_ = saved_at_ = at.event;
    truncated_ = at.truncated;
    trace_.resize(at.trace_size, {0, 0, 0});
    free_slots_.clear();
    for (auto slot = static_cast<uint32_t>(slots_.size()); slot-- > 0;) {
      at.slots[slot] == kNoEntry ? free_slots_.push_back(slot) : occupy(at.slots[slot], slot);
    }
    lane_words_ = at.lane_words;
    layer_->reset(stride());
    layer_->assign(at.layer);
    lanes_.assign(at.lanes.size(), {});
    spare_lanes_.clear();
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      at.lanes[lane].cls == kNoEntry ? spare_lanes_.push_back(lane) : open_lane(lane, at.lanes[lane]);
    }
  }

  // --- How it goes.
  void begin() {
    set_level(options_.beam == 0 ? kFullLevel : 0);
    layer_->reset(stride());
    for (; event_ < problem_.start; ++event_) {
      const uint32_t event = problem_.events[event_];
      (event & 1) ? vacate(event / 2) : on_call(event / 2);
    }
    child_.assign(stride(), 0);
    self().begin_layer();
    layer_->compact();
    save();
  }
  SearchResult run_ladder() {
    for (;;) {
      const Step step = sweep();
      const Stage stage = counters_.restarts == 0 ? Stage::kBeam : Stage::kLadder;
      if (step == Step::kSurvived) return result(Outcome::kValid, stage, event_);
      if (step == Step::kOutOfBudget) return unknown();
      if (!truncated_) return result(Outcome::kInvalid, stage, event_);
      if (counters_.restarts == 0) {
        const uint32_t event = self().contradiction();
        if (event != kNoEvent) return result(Outcome::kInvalid, Stage::kContradiction, event);
      }
      furthest_ = std::max(furthest_, event_);
      if (level_ >= std::min(options_.rungs, kFullLevel - 1)) return run_full();
      set_level(level_ + 1);
      ++counters_.restarts;
      for (uint32_t back = kLadder[level_ - 1].back; checkpoints_.size() > 1 && back > 0; --back) {
        checkpoints_.pop_back();
      }
      restore(checkpoints_.back());
    }
  }
  SearchResult run_full() {
    set_level(kFullLevel);
    checkpoints_.clear();
    const bool optional = std::any_of(problem_.ops.begin(), problem_.ops.end(),
                                      [](const auto& op) { return op.optional; });
    if (options_.beam != 0 && optional && options_.over_approximation) {
      restart(true);
      // At most half of what is left, and as much as all before: it may go on without end where
      // there are always more states.
      work_max_ = counters_.work + std::min((options_.work_max - counters_.work) / 2,
                                            counters_.work + kOverApproximationLeast);
      if (sweep() == Step::kDied && !truncated_) {
        return result(Outcome::kInvalid, Stage::kOverApproximation, event_);
      }
      furthest_ = std::max(furthest_, event_);
      if (exhausted_) return unknown();
      out_of_budget_ = out_of_memory_ = false;
      work_max_ = options_.work_max;
      for (ConfigSet* set : {layer_, next_, &frontier_}) *set = ConfigSet();
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
    unlimited_ = unlimited;
    if (!unlimited || lane_words_ == 0) return;
    const std::vector<uint64_t> counted = layer_->records();
    const uint32_t counted_stride = layer_->stride;
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
    SearchResult r{.outcome = outcome, .stage = stage, .event = event, .placements = {}, .counters = counters_};
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

  const ProblemType& problem_;
  const OptionsType& options_;
  const int words_;
  bool dominance_ = true;  // the reduction of that name

  // Operations under way.
  std::vector<uint32_t> slot_of_;  // by operation
  std::vector<uint32_t> slots_;    // operation, or kNoEntry
  std::vector<uint32_t> free_slots_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> spare_lanes_;
  std::vector<uint32_t> lane_of_;  // by class
  std::vector<uint64_t> observers_;
  std::vector<uint64_t> freeable_;  // changes that may become free …
  std::vector<uint64_t> rigid_;     // … and that may not
  uint32_t lane_words_ = 0;
  uint32_t open_lanes_ = 0;

  // The sweep.
  uint32_t event_ = 0;
  uint32_t furthest_ = 0;  // death
  uint32_t saved_at_ = kNoEntry;
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
  uint32_t returning_ = kNoEntry;
  uint32_t returning_slot_ = 0;
  std::vector<uint64_t> node_;   // what is expanded
  std::vector<uint64_t> child_;  // what it becomes
  uint32_t optional_max_ = 0;    // so many may be placed in this burst
  uint32_t node_spent_ = 0;      // … and so many were
  std::vector<uint32_t> spent_;  // by member of the frontier
  std::vector<std::pair<uint32_t, uint32_t>> scores_;

  std::vector<TraceNode> trace_;
  SearchCounters counters_;
};

}  // namespace assay::linearizable
