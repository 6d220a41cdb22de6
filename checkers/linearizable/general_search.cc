#include "checkers/linearizable/general_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checkers/linearizable/layers.h"

namespace assay::linearizable {
namespace {

constexpr size_t kCollectAt = 32u << 20;  // bytes of states, before those not in use are forgotten

// What a step leads to, for the pairs of state and class that were asked last.
class StepCache {
 public:
  explicit StepCache(size_t size) : entries_(std::bit_ceil(std::clamp<size_t>(size, 256, 1 << 18))) {}
  template <typename Step>
  StateId get(StateId state, uint32_t cls, const Step& step) {
    const uint64_t key = uint64_t{state} << 32 | cls;
    Entry& entry = entries_[mix_hash(key) & (entries_.size() - 1)];
    if (entry.key != key) entry = {key, step()};
    return entry.next;
  }
  void clear() { std::fill(entries_.begin(), entries_.end(), Entry{}); }

 private:
  struct Entry {
    uint64_t key = UINT64_MAX;
    StateId next = kNoState;
  };
  std::vector<Entry> entries_;
};

// A class of optional operations of which some were invoked.
struct OpenClass {
  uint32_t cls = kNoEntry;
  uint32_t invoked = 0;
};

struct SavedLayer {
  uint32_t event = 0;
  bool truncated = false;
  size_t trace_size = 0;
  std::vector<uint32_t> slots;
  std::vector<OpenClass> open;
  uint32_t lane_words = 0;
  uint32_t count = 0;
  std::vector<uint64_t> layer;
};

// A configuration is a record of words: the state (and above it the trace), the mask of placed
// operations, the mask of free ones, and, in lanes of 16 bits, how many of each open class are
// used. kWords: of a mask; 0: as many as it takes.
template <int kWords>
class GeneralSweep {
 public:
  GeneralSweep(const GeneralProblem& problem, const GeneralSearchOptions& options)
      : problem_(problem),
        options_(options),
        states_(options.states ? options.states : problem.model->states()),
        cache_(4 * problem.ops.size()),
        words_(static_cast<int>(std::max(problem.pending_max, options.pending_min) + 63) / 64),
        slot_of_(problem.ops.size(), kNoEntry),
        lane_of_(problem.classes.size(), kNoEntry),
        observers_(words(), 0),
        changes_(words(), 0),
        resets_(words(), 0) {
    for (uint32_t slot = 64 * words(); slot-- > 0;) free_slots_.push_back(slot);
    slots_.assign(64 * words(), kNoEntry);
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
  uint32_t stride() const { return 1 + 2 * words() + lane_words_; }
  static StateId state(const uint64_t* c) { return static_cast<uint32_t>(c[0]); }
  static void set_state(uint64_t* c, StateId s) { c[0] = (c[0] >> 32 << 32) | s; }
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
  void copy(const uint64_t* from, uint64_t* to) const {
    std::memcpy(to, from, stride() * sizeof(uint64_t));
  }
  const GeneralClass& class_at(uint32_t slot) const {
    return problem_.classes[problem_.ops[slots_[slot]].cls];
  }
  StateId step(StateId s, uint32_t cls) {
    ++counters_.work;
    return cache_.get(s, cls, [&] { return states_->step(s, problem_.classes[cls].op); });
  }

  // --- Operations under way.
  void occupy(uint32_t op, uint32_t slot) {
    slot_of_[op] = slot;
    slots_[slot] = op;
    set(problem_.ops[op].observes ? observers_.data() : changes_.data(), slot);
    if (class_at(slot).resets) set(resets_.data(), slot);
  }
  void vacate(uint32_t slot) {
    slots_[slot] = kNoEntry;
    for (auto* mask : {&observers_, &changes_, &resets_}) clear(mask->data(), slot);
  }
  // Unplaced operations of a mask, that are not free.
  template <typename Fn>
  void for_each_due(const uint64_t* mask, const uint64_t* c, const Fn& fn) const {
    for (int w = 0; w < words(); ++w) {
      for (uint64_t rest = mask[w] & ~placed(c)[w] & ~freed(c)[w]; rest; rest &= rest - 1) {
        fn(static_cast<uint32_t>(64 * w + std::countr_zero(rest)));
      }
    }
  }
  template <typename Fn>
  void for_each_unplaced(const uint64_t* mask, const uint64_t* c, const Fn& fn) const {
    for (int w = 0; w < words(); ++w) {
      for (uint64_t rest = mask[w] & ~placed(c)[w]; rest; rest &= rest - 1) {
        fn(static_cast<uint32_t>(64 * w + std::countr_zero(rest)));
      }
    }
  }

  // --- Optional operations.
  void invoke_optional(uint32_t cls) {
    if (lane_of_[cls] != kNoEntry) {
      ++open_[lane_of_[cls]].invoked;
      return;
    }
    uint32_t lane = 0;
    while (lane < open_.size() && open_[lane].cls != kNoEntry) ++lane;
    if (lane == open_.size()) open_.push_back({});
    open_[lane] = {cls, 1};
    lane_of_[cls] = lane;
    ++open_classes_;
    if (!unlimited_ && open_.size() > size_t{lane_words_} * kLanesPerWord) widen_lanes();
  }
  void widen_lanes() {
    const uint32_t old_stride = stride();
    lane_words_ = lane_words_ == 0 ? 1 : lane_words_ * 2;
    std::vector<uint64_t> wide;
    for (uint32_t i = 0; i < layer_.count; ++i) {
      wide.insert(wide.end(), layer_.at(i), layer_.at(i) + old_stride);
      wide.resize(size_t{i + 1} * stride(), 0);
    }
    layer_.reset(stride());
    layer_.assign(wide);
  }
  bool available(const uint64_t* c, uint32_t lane) const {
    const OpenClass& open = open_[lane];
    return open.cls != kNoEntry && problem_.classes[open.cls].useful_until >= event_ &&
           (unlimited_ || used(c, lane) < std::min(open.invoked, kUsedMax));
  }
  void use(uint64_t* c, uint32_t lane) {
    if (unlimited_) return;
    used(c)[lane / kLanesPerWord] += uint64_t{1} << (16 * (lane % kLanesPerWord));
    if (used(c, lane) == kUsedMax) truncated_ = true;  // it counts as used up, which cuts
  }
  // Forgets the classes that can show in nothing any more.
  void close_useless() {
    for (uint32_t lane = 0; lane < open_.size() && open_classes_ > 0; ++lane) {
      const uint32_t cls = open_[lane].cls;
      if (cls == kNoEntry || problem_.classes[cls].useful_until >= event_) continue;
      for (uint32_t i = 0; i < layer_.count && !unlimited_; ++i) {
        used(layer_.at(i))[lane / kLanesPerWord] &= ~(uint64_t{0xffff} << (16 * (lane % 4)));
      }
      lane_of_[cls] = kNoEntry;
      open_[lane] = {};
      --open_classes_;
      ++counters_.lanes_released;
    }
  }

  // --- Sets.
  static uint32_t hash_of(const uint64_t* c) {
    return static_cast<uint32_t>(mix_hash(state(c) + 1) >> 32);
  }
  // Whether whatever q can still do, p can. Both of one state.
  bool at_least(const uint64_t* p, const uint64_t* q) const {
    if (!options_.general.dominance) {
      return std::memcmp(p + 1, q + 1, (stride() - 1) * sizeof(uint64_t)) == 0;
    }
    for (int w = 0; w < words(); ++w) {
      const uint64_t pp = placed(p)[w], pq = placed(q)[w];
      const uint64_t fp = freed(p)[w], fq = freed(q)[w];
      if (pq & ~pp & observers_[w]) return false;
      if (((pp ^ pq) | (fp ^ fq)) & changes_[w] & ~fp) return false;
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
        [&](const uint64_t* record) { return hash_of(record); },
        [&](uint64_t* place) { copy(c, place); });
  }
  // False: the i-th makes c redundant. Marks the i-th when it is the other way.
  bool compare(ConfigSet& set, uint32_t i, const uint64_t* c) {
    ++counters_.work;
    if (set.redundant[i] || state(set.at(i)) != state(c)) return true;
    const bool worse = at_least(set.at(i), c);
    const bool better = !worse && at_least(c, set.at(i));
    counters_.dominated += worse || better;
    if (better) {
      set.redundant[i] = 1;
      --set.alive;
    }
    return !worse;
  }

  // --- What a state does for the operations under way.
  void settle(uint64_t* c, uint32_t slot) {
    const GeneralOp& op = problem_.ops[slots_[slot]];
    const StateId next = step(state(c), op.cls);
    ASSAY_CHECK(next == state(c) || next == kNoState,
                "the model %s says that %s observes, but it changes the state",
                std::string(problem_.model->name()).c_str(),
                std::string(problem_.classes[op.cls].op.f.text()).c_str());
    if (next == state(c)) set(placed(c), slot);
  }
  void settle_observers(uint64_t* c) {
    for_each_due(observers_.data(), c, [&](uint32_t slot) { settle(c, slot); });
  }
  // Looked for when the state is about to change, which is soon enough.
  void free_what_stays(uint64_t* c) {
    if (!options_.general.free_changes) return;
    for_each_due(changes_.data(), c, [&](uint32_t slot) {
      if (step(state(c), problem_.ops[slots_[slot]].cls) == state(c)) set(freed(c), slot);
    });
  }
  void free_hidden(uint64_t* c, const GeneralClass& by) {
    if (!by.may_hide || !options_.general.free_changes) return;
    for_each_due(changes_.data(), c, [&](uint32_t slot) {
      if (problem_.model->hides(by.op, class_at(slot).op)) set(freed(c), slot);
    });
  }
  bool is_lost(const uint64_t* c) const {
    if (!options_.general.lost_states) return false;
    bool lost = false;
    for_each_due(observers_.data(), c, [&](uint32_t slot) {
      lost = lost || is_lost_for(c, problem_.ops[slots_[slot]]);
    });
    const uint32_t next = problem_.next_observer[event_ + 1];
    return lost || (next != kNoEvent && is_lost_for(c, problem_.ops[next]));
  }
  // No reset that shows in it is under way or comes in time.
  bool is_lost_for(const uint64_t* c, const GeneralOp& observer) const {
    const ModelOp& op = problem_.classes[observer.cls].op;
    if (observer.reset > event_ + 1 || !states_->lost(state(c), op)) return false;
    bool resets = false;
    for_each_unplaced(resets_.data(), c, [&](uint32_t slot) {
      resets = resets || problem_.model->shows(op, class_at(slot).op);
    });
    for (size_t i = 0; i < open_.size() && !resets; ++i) {
      if (open_[i].cls == kNoEntry) continue;
      const GeneralClass& cls = problem_.classes[open_[i].cls];
      resets = cls.resets && problem_.model->shows(op, cls.op);
    }
    return !resets;
  }

  // --- Events.
  void on_call(uint32_t op) {
    if (problem_.ops[op].optional) return invoke_optional(problem_.ops[op].cls);
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    occupy(op, slot);
    if (!problem_.ops[op].observes) return;
    for (uint32_t i = 0; i < layer_.count; ++i) settle(layer_.at(i), slot);
  }
  void on_return(uint32_t op) {
    const uint32_t slot = slot_of_[op];
    bool all_placed = true;
    for (uint32_t i = 0; i < layer_.count && all_placed; ++i) {
      all_placed = test(placed(layer_.at(i)), slot);
    }
    if (all_placed) {
      for (uint32_t i = 0; i < layer_.count; ++i) clear(placed(layer_.at(i)), slot);
    } else {
      returning_ = op;
      returning_slot_ = slot;
      sort_out();
      if (frontier_.count > 0) burst();
      next_.compact();
      std::swap(layer_, next_);
      cut_to_beam();
    }
    vacate(slot);
    free_slots_.push_back(slot);
    counters_.layer_max = std::max<uint64_t>(counters_.layer_max, layer_.count);
  }
  // Of the layer: into next_ where the returning operation is placed or free, into frontier_ where
  // it must (or may) still be placed.
  void sort_out() {
    next_.reset(stride());
    frontier_.reset(stride());
    child_.resize(stride());
    node_.resize(stride());
    for (uint32_t i = 0; i < layer_.count; ++i) {
      copy(layer_.at(i), child_.data());
      const bool done = test(placed(child_.data()), returning_slot_);
      const bool is_free = test(freed(child_.data()), returning_slot_);
      if (!done) insert(frontier_, child_.data());
      counters_.hidden += is_free;
      if (done || is_free) finish();
    }
  }
  // child_ no longer needs the returning operation.
  bool finish() {
    clear(placed(child_.data()), returning_slot_);
    clear(freed(child_.data()), returning_slot_);
    return insert(next_, child_.data());
  }
  void burst() {
    const bool lean = level_ == 0 && open_classes_ > 0;
    if (lean) truncated_ = true;
    use_optional_ = !lean;
    expand_all();
    if (lean && next_.alive == 0) {
      ++counters_.lean_retries;
      use_optional_ = true;
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
    drop_if_free(node_.data());
    const uint64_t* c = node_.data();
    const StateId s = state(c);
    for_each_unplaced(changes_.data(), c, [&](uint32_t slot) {
      const bool last = slot == returning_slot_;
      if (!last && options_.general.symmetry && has_better_equal(c, slot)) return;
      const StateId next = step(s, problem_.ops[slots_[slot]].cls);
      if (next == kNoState) return;
      if (next == s && !last && options_.general.free_changes) return;
      if (narrow_ && !last && !class_at(slot).resets && is_of_no_use(next, c)) {
        truncated_ = true;
        return;
      }
      place(next, slot);
    });
    if (!use_optional_ || open_classes_ == 0) return;
    for (uint32_t lane = 0; lane < open_.size(); ++lane) {
      if (!available(c, lane) || has_acknowledged_equal(c, open_[lane].cls)) continue;
      const StateId next = step(s, open_[lane].cls);
      if (next != kNoState && next != s) place_optional(next, lane);
    }
  }
  // Nobody in sight can see the state, so that only a reset leads on from it: what need not be
  // placed yet is better kept for after that. A guess, for the beams.
  bool is_of_no_use(StateId next, const uint64_t* c) const {
    if (!options_.general.lost_states) return false;
    bool lost = true, any = false;
    auto look = [&](const GeneralClass& observer) {
      any = true;
      lost = lost && states_->lost(next, observer.op);
    };
    for_each_due(observers_.data(), c, [&](uint32_t slot) { look(class_at(slot)); });
    const uint32_t observer = problem_.next_observer[event_ + 1];
    if (observer != kNoEvent) look(problem_.classes[problem_.ops[observer].cls]);
    return any && lost;
  }
  void drop_if_free(uint64_t* c) {
    const bool before = test(freed(c), returning_slot_);
    free_what_stays(c);
    if (before || !test(freed(c), returning_slot_)) return;
    ++counters_.hidden;
    copy(c, child_.data());
    finish();
  }
  // Another operation, equal to this one, is at least as good a choice.
  bool has_better_equal(const uint64_t* c, uint32_t slot) {
    const GeneralOp& mine = problem_.ops[slots_[slot]];
    bool found = false;
    for_each_unplaced(changes_.data(), c, [&](uint32_t other) {
      const GeneralOp& op = problem_.ops[slots_[other]];
      if (op.cls != mine.cls || op.ret >= mine.ret) return;
      found = found || test(freed(c), slot) || !test(freed(c), other);
    });
    counters_.symmetric += found;
    return found;
  }
  bool has_acknowledged_equal(const uint64_t* c, uint32_t cls) {
    if (!options_.general.symmetry) return false;
    bool found = false;
    for_each_unplaced(changes_.data(), c, [&](uint32_t slot) {
      found = found || problem_.ops[slots_[slot]].cls == cls;
    });
    counters_.symmetric += found;
    return found;
  }

  // --- One step on top of node_.
  void place(StateId next, uint32_t slot) {
    copy(node_.data(), child_.data());
    set(placed(child_.data()), slot);
    clear(freed(child_.data()), slot);
    enter(next, class_at(slot), 2 * slots_[slot]);
  }
  void place_optional(StateId next, uint32_t lane) {
    copy(node_.data(), child_.data());
    use(child_.data(), lane);
    enter(next, problem_.classes[open_[lane].cls], 2 * open_[lane].cls + 1);
  }
  void enter(StateId next, const GeneralClass& by, uint32_t what) {
    uint64_t* c = child_.data();
    free_hidden(c, by);
    set_state(c, next);
    if (is_lost(c)) {
      ++counters_.dead;
      return;
    }
    settle_observers(c);
    const uint32_t parent = trace(c);
    if (options_.want_order) set_trace(c, trace_.size());
    const bool done = test(placed(c), returning_slot_);
    if ((done ? finish() : insert(frontier_, c)) && options_.want_order) {
      trace_.push_back({parent, what, event_});
    }
  }

  // --- The beam.
  void cut_to_beam() {
    if (beam_ == 0 || layer_.count <= beam_) return;
    truncated_ = true;
    ++counters_.beam_cuts;
    scores_.clear();
    for (uint32_t i = 0; i < layer_.count; ++i) scores_.emplace_back(score(layer_.at(i)), i);
    std::nth_element(scores_.begin(), scores_.begin() + beam_, scores_.end());
    scores_.resize(beam_);
    std::sort(scores_.begin(), scores_.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (uint32_t to = 0; to < beam_; ++to) {
      if (scores_[to].second != to) copy(layer_.at(scores_[to].second), layer_.at(to));
    }
    layer_.truncate(beam_);
  }
  uint32_t score(const uint64_t* c) const {
    uint32_t score = 0;
    for (uint32_t lane = 0; lane < size_t{lane_words_} * kLanesPerWord; ++lane) {
      score += 8 * used(c, lane);
    }
    for (int w = 0; w < words(); ++w) {
      score += 2 * std::popcount(observers_[w] & ~placed(c)[w]);
      score += std::popcount(changes_[w] & ~placed(c)[w] & ~freed(c)[w]);
    }
    return score;
  }

  // --- The sweep, its checkpoints, its budget.
  Step sweep() {
    const auto end = static_cast<uint32_t>(problem_.events.size());
    while (event_ < end) {
      if (level_ > 0 && level_ < kFullLevel && event_ > furthest_ + kCheckpointEvery) set_level(0);
      if (event_ % kCheckpointEvery == 0 && event_ != saved_at_) save();
      if (states_->bytes() > collect_at_) collect();
      if (options_.seen != nullptr) note_standings();
      const uint32_t event = problem_.events[event_];
      ++counters_.events;
      event & 1 ? on_return(event / 2) : on_call(event / 2);
      if (over_budget()) return Step::kOutOfBudget;
      if (layer_.count == 0) return Step::kDied;
      ++event_;
    }
    return Step::kSurvived;
  }
  void count_node() {
    ++counters_.nodes;
    counters_.work += 8 + static_cast<uint64_t>(words());
    if (counters_.work >= work_max_) out_of_budget_ = true;
    const size_t sets = next_.bytes() + frontier_.bytes() + layer_.bytes();
    if (sets + states_->bytes() > options_.memory_bytes_max) out_of_budget_ = out_of_memory_ = true;
    if (counters_.nodes % 64 == 0) poll();
  }
  bool over_budget() {
    counters_.work += 2 + layer_.count;
    if (counters_.work >= work_max_) out_of_budget_ = true;
    if (counters_.events % 1024 == 0) poll();
    return out_of_budget_;
  }
  void poll() {
    if (options_.exhausted && options_.exhausted()) out_of_budget_ = exhausted_ = true;
  }
  void note_standings() {
    options_.seen->resize(event_ + 1);
    if (event_ < options_.seen_from || layer_.count > options_.seen_max) return;
    for (uint32_t i = 0; i < layer_.count; ++i) {
      const uint64_t* c = layer_.at(i);
      Standing standing{.state = state(c), .placed = {}, .freed = {}};
      for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot] == kNoEntry) continue;
        const uint32_t id = problem_.ops[slots_[slot]].id;
        if (test(placed(c), slot)) standing.placed.push_back(id);
        if (test(freed(c), slot)) standing.freed.push_back(id);
      }
      options_.seen->back().push_back(std::move(standing));
    }
  }
  // Forgets the states that no configuration is in. Those of another search are not ours to forget.
  void collect() {
    if (options_.states) return;
    std::vector<StateId> kept;
    for_each_record([&](uint64_t* c) { kept.push_back(state(c)); });
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for_each_record([&](uint64_t* c) {
      const auto at = std::lower_bound(kept.begin(), kept.end(), state(c));
      set_state(c, static_cast<StateId>(at - kept.begin()));
    });
    states_->keep(kept);
    cache_.clear();
    collect_at_ = std::max(kCollectAt, 2 * states_->bytes());
  }
  template <typename Fn>
  void for_each_record(const Fn& fn) {
    for (uint32_t i = 0; i < layer_.count; ++i) fn(layer_.at(i));
    auto saved = [&](SavedLayer& s) {
      for (uint32_t i = 0; i < s.count; ++i) fn(s.layer.data() + s.layer.size() / s.count * i);
    };
    for (SavedLayer& s : saved_) saved(s);
    saved(exact_);
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
    close_useless();
    SavedLayer now{event_, truncated_, trace_.size(), slots_, open_, lane_words_, layer_.count,
                   layer_.records()};
    saved_at_ = event_;
    if (!truncated_ && !unlimited_) exact_ = now;
    constexpr size_t kKept = kLadder[std::size(kLadder) - 1].back + 2;
    if (saved_.size() == kKept) saved_.erase(saved_.begin());
    saved_.push_back(std::move(now));
  }
  void restore(const SavedLayer& saved) {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] != kNoEntry) vacate(slot);
    }
    free_slots_.clear();
    for (uint32_t slot = static_cast<uint32_t>(slots_.size()); slot-- > 0;) {
      saved.slots[slot] == kNoEntry ? free_slots_.push_back(slot) : occupy(saved.slots[slot], slot);
    }
    for (const OpenClass& open : open_) {
      if (open.cls != kNoEntry) lane_of_[open.cls] = kNoEntry;
    }
    open_ = saved.open;
    open_classes_ = 0;
    for (uint32_t lane = 0; lane < open_.size(); ++lane) {
      if (open_[lane].cls == kNoEntry) continue;
      lane_of_[open_[lane].cls] = lane;
      ++open_classes_;
    }
    event_ = saved_at_ = saved.event;
    truncated_ = saved.truncated;
    trace_.resize(saved.trace_size, {0, 0, 0});
    lane_words_ = saved.lane_words;
    layer_.reset(stride());
    layer_.assign(saved.layer);
  }

  // --- How it goes.
  void begin() {
    set_level(options_.beam == 0 ? kFullLevel : 0);
    layer_.reset(stride());
    for (; event_ < problem_.start; ++event_) on_call(problem_.events[event_] / 2);
    child_.assign(stride(), 0);
    std::vector<Standing> start = options_.start;
    if (start.empty()) start.push_back({states_->initial(problem_.part), {}, {}});
    for (const Standing& standing : start) {
      std::fill(child_.begin(), child_.end(), 0);
      set_state(child_.data(), standing.state);
      mark(standing.placed, placed(child_.data()));
      mark(standing.freed, freed(child_.data()));
      insert(layer_, child_.data());
    }
    layer_.compact();
    save();
    exact_ = saved_.back();
  }
  void mark(const std::vector<uint32_t>& ids, uint64_t* mask) const {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] == kNoEntry) continue;
      const uint32_t id = problem_.ops[slots_[slot]].id;
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) set(mask, slot);
    }
  }
  SearchResult run_ladder() {
    for (;;) {
      const Step step = sweep();
      const Stage stage = counters_.restarts == 0 ? Stage::kBeam : Stage::kLadder;
      if (step == Step::kSurvived) return result(Outcome::kValid, stage, event_);
      if (step == Step::kOutOfBudget) return unknown();
      if (!truncated_) return result(Outcome::kInvalid, stage, event_);
      furthest_ = std::max(furthest_, event_);
      if (level_ >= std::min(options_.rungs, kFullLevel - 1)) return run_full();
      set_level(level_ + 1);
      ++counters_.restarts;
      for (uint32_t back = kLadder[level_ - 1].back; saved_.size() > 1 && back > 0; --back) {
        saved_.pop_back();
      }
      restore(saved_.back());
    }
  }
  SearchResult run_full() {
    set_level(kFullLevel);
    const bool optional = std::any_of(problem_.ops.begin(), problem_.ops.end(),
                                      [](const GeneralOp& op) { return op.optional; });
    if (options_.beam != 0 && optional && options_.over_approximation) {
      restart(true);
      if (options_.work_max != UINT64_MAX) {
        work_max_ = counters_.work + (options_.work_max - counters_.work) / 2;
      }
      if (sweep() == Step::kDied) {
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
    unlimited_ = unlimited;
    if (!unlimited || lane_words_ == 0) return;
    const ConfigSet counted = layer_;
    const uint32_t counted_stride = stride();
    lane_words_ = 0;
    layer_.reset(stride());
    for (uint32_t i = 0; i < counted.count; ++i) {
      insert(layer_, counted.data.data() + size_t{i} * counted_stride);
    }
    layer_.compact();
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
    for (uint32_t id = trace(layer_.at(0)); id != 0; id = trace_[id].parent) {
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

  const GeneralProblem& problem_;
  const GeneralSearchOptions& options_;
  const std::shared_ptr<ModelStates> states_;
  StepCache cache_;
  const int words_;

  // Operations under way.
  std::vector<uint32_t> slot_of_;  // by operation
  std::vector<uint32_t> slots_;    // operation, or kNoEntry
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> lane_of_;  // by class
  std::vector<OpenClass> open_;    // by lane
  std::vector<uint64_t> observers_, changes_, resets_;
  uint32_t lane_words_ = 0;
  uint32_t open_classes_ = 0;

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
  size_t collect_at_ = kCollectAt;
  ConfigSet layer_, next_, frontier_;
  std::vector<SavedLayer> saved_;
  SavedLayer exact_;

  // One return.
  uint32_t returning_ = kNoEntry;
  uint32_t returning_slot_ = 0;
  bool use_optional_ = true;
  std::vector<uint64_t> node_, child_;
  std::vector<std::pair<uint32_t, uint32_t>> scores_;

  std::vector<TraceNode> trace_;
  SearchCounters counters_;
};

}  // namespace

SearchResult general_search(const GeneralProblem& problem, const GeneralSearchOptions& options) {
  const uint32_t pending = std::max(problem.pending_max, options.pending_min);
  if (pending <= 64) return GeneralSweep<1>(problem, options).run();
  return GeneralSweep<0>(problem, options).run();
}

}  // namespace assay::linearizable
