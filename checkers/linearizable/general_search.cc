#include "checkers/linearizable/general_search.h"

#include <algorithm>
#include <bit>

#include "checkers/linearizable/layered_sweep.h"

namespace assay::linearizable {
namespace {

// Any state that nobody can see any more, where the model's resets overwrite.
constexpr StateId kUnseen = kNoState - 1;
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

// The search over the operations of a model: a state is one of its states.
template <int kWords>
class GeneralSweep
    : public LayeredSweep<GeneralSweep<kWords>, GeneralProblem, GeneralSearchOptions, kWords> {
 public:
  GeneralSweep(const GeneralProblem& problem, const GeneralSearchOptions& options)
      : Base(problem, options),
        states_(options.states ? options.states : problem.model->states()),
        cache_(4 * problem.ops.size()),
        initial_(states_->initial(problem.part)),
        overwrites_(options.general.unseen_states && options.general.lost_states &&
                    options.general.free_changes && problem.model->resets_overwrite()),
        resets_(words(), 0) {
    dominance_ = options.general.dominance;
  }

 private:
  using Base = LayeredSweep<GeneralSweep<kWords>, GeneralProblem, GeneralSearchOptions, kWords>;
  friend Base;
  using typename Base::Checkpoint;
  using Base::words, Base::fixed, Base::state, Base::set_state, Base::placed, Base::freed;
  using Base::test, Base::set, Base::clear, Base::copy, Base::for_each_unplaced, Base::available;
  using Base::use, Base::may_use_optional, Base::insert, Base::finish, Base::watch_memory;
  using Base::problem_, Base::options_, Base::dominance_, Base::slots_, Base::lanes_;
  using Base::observers_, Base::freeable_, Base::event_, Base::narrow_, Base::truncated_;
  using Base::layer_, Base::frontier_, Base::returning_slot_, Base::node_, Base::child_;
  using Base::checkpoints_, Base::exact_, Base::counters_;
  static constexpr uint64_t kPollNodes = 64;

  const GeneralClass& class_at(uint32_t slot) const {
    return problem_.classes[problem_.ops[slots_[slot]].cls];
  }
  StateId step(StateId s, uint32_t cls) {
    ++counters_.work;
    return cache_.get(s, cls, [&] {
      return states_->step(s == kUnseen ? initial_ : s, problem_.classes[cls].op);
    });
  }

  // --- Operations under way.
  void joins(uint32_t op, uint32_t slot) {
    set(problem_.ops[op].observes ? observers_.data() : freeable_.data(), slot);
    if (class_at(slot).resets) set(resets_.data(), slot);
  }
  void leaves(uint32_t /*op*/, uint32_t slot) {
    for (auto* mask : {&observers_, &freeable_, &resets_}) clear(mask->data(), slot);
  }
  // Unplaced operations of a mask, that are not free.
  template <typename Fn>
  void for_each_due(const uint64_t* mask, const uint64_t* c, const Fn& fn) const {
    for_each_unplaced(mask, c, [&](uint32_t slot) {
      if (!test(freed(c), slot)) fn(slot);
    });
  }

  // --- Optional operations.
  void lane_opened(uint32_t) {}
  void lane_closed(uint32_t) {}
  bool is_class_useful(uint32_t cls) const { return problem_.classes[cls].useful_until >= event_; }

  // --- What a state does for the operations under way.
  bool settle(uint64_t* c, uint32_t slot) {
    const GeneralOp& op = problem_.ops[slots_[slot]];
    const StateId next = step(state(c), op.cls);
    ASSAY_CHECK(next == state(c) || next == kNoState,
                "the model %s says that %s observes, but it changes the state",
                std::string(problem_.model->name()).c_str(),
                std::string(problem_.classes[op.cls].op.f.text()).c_str());
    if (next == state(c)) set(placed(c), slot);
    return next == state(c);
  }
  bool settle_observers(uint64_t* c) {
    bool any = false;
    for_each_due(observers_.data(), c, [&](uint32_t slot) { any |= settle(c, slot); });
    return any;
  }
  // Looked for when the state is about to change, which is soon enough.
  void free_what_stays(uint64_t* c) {
    if (!options_.general.free_changes) return;
    for_each_due(freeable_.data(), c, [&](uint32_t slot) {
      if (step(state(c), problem_.ops[slots_[slot]].cls) == state(c)) set(freed(c), slot);
    });
  }
  void free_hidden(uint64_t* c, const GeneralClass& by) {
    if (!by.may_hide || !options_.general.free_changes) return;
    for_each_due(freeable_.data(), c, [&](uint32_t slot) {
      if (hides(*problem_.model, by, class_at(slot))) set(freed(c), slot);
    });
  }
  // What a state, as it has just become, is good for.
  enum class Prospect : uint8_t { kSeen, kUnseen, kLost };
  Prospect prospect(const uint64_t* c) const {
    if (!options_.general.lost_states) return Prospect::kSeen;
    bool is_lost = false, seen = !overwrites_;
    uint32_t until = kNoEvent;  // the first return of an observer under way, or to come
    auto ask = [&](const GeneralOp& observer) {
      const bool no_reset_to_come = observer.reset <= event_ + 1;
      until = std::min(until, observer.ret);
      if (is_lost || (seen && !no_reset_to_come)) return;
      const bool lost = states_->lost(state(c), problem_.classes[observer.cls].op);
      seen |= !lost;
      is_lost = lost && no_reset_to_come && !reset_under_way(c, observer);
    };
    for_each_due(observers_.data(), c, [&](uint32_t slot) { ask(problem_.ops[slots_[slot]]); });
    const uint32_t next = problem_.next_observer[event_ + 1];
    if (next != kNoEvent) ask(problem_.ops[next]);
    if (is_lost) return Prospect::kLost;
    if (seen || until == kNoEvent) return Prospect::kSeen;
    // Whoever is called after that return comes after one that needs another state.
    for (uint32_t o = next; !seen && o != kNoEvent && problem_.ops[o].call < until;
         o = problem_.next_observer[problem_.ops[o].call + 1]) {
      ask(problem_.ops[o]);
    }
    return seen ? Prospect::kSeen : Prospect::kUnseen;
  }
  // One under way that shows in it.
  bool reset_under_way(const uint64_t* c, const GeneralOp& observer) const {
    const ModelOp& op = problem_.classes[observer.cls].op;
    bool resets = false;
    for_each_unplaced(resets_.data(), c, [&](uint32_t slot) {
      resets = resets || problem_.model->shows(op, class_at(slot).op);
    });
    for (size_t lane = 0; lane < lanes_.size() && !resets; ++lane) {
      if (lanes_[lane].cls == kNoEntry) continue;
      const GeneralClass& cls = problem_.classes[lanes_[lane].cls];
      resets = cls.resets && problem_.model->shows(op, cls.op);
    }
    return resets;
  }
  // All states that nobody sees are one; what changes them need not happen.
  void become_unseen(uint64_t* c) {
    set_state(c, kUnseen);
    for (int w = 0; w < words(); ++w) freed(c)[w] |= freeable_[w] & ~placed(c)[w];
  }

  // --- Events.
  void begin_layer() {
    std::vector<Standing> start = options_.start;
    if (start.empty()) start.push_back({initial_, {}, {}});
    for (const Standing& standing : start) {
      std::fill(child_.begin(), child_.end(), 0);
      set_state(child_.data(), standing.state);
      mark(standing.placed, placed(child_.data()));
      mark(standing.freed, freed(child_.data()));
      insert(*layer_, child_.data());
    }
  }
  void mark(const std::vector<uint32_t>& ids, uint64_t* mask) const {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] == kNoEntry) continue;
      const uint32_t id = problem_.ops[slots_[slot]].id;
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) set(mask, slot);
    }
  }
  void before_event() {
    if (states_->bytes() > collect_at_) collect();
    if (options_.seen != nullptr) note_standings();
  }
  size_t more_bytes() const { return states_->bytes(); }
  uint32_t contradiction() const { return kNoEvent; }
  void called(uint32_t op, uint32_t slot) {
    for (uint32_t i = 0; i < layer_->count; ++i) {
      uint64_t* c = layer_->at(i);
      if (state(c) == kUnseen) {
        if (!problem_.ops[op].observes) set(freed(c), slot);
      } else if (problem_.ops[op].observes) {
        settle(c, slot);
        if (prospect(c) == Prospect::kUnseen) become_unseen(c);
      }
    }
  }

  // --- Bursts.
  void sort_out() {
    for (uint32_t i = 0; i < layer_->count; ++i) {
      copy(layer_->at(i), child_.data());
      const bool done = test(placed(child_.data()), returning_slot_);
      const bool is_free = test(freed(child_.data()), returning_slot_);
      if (!done) insert(frontier_, child_.data());
      counters_.hidden += is_free;
      if (done || is_free) finish();
    }
  }
  void expand() {
    watch_memory();  // a step can make a large state
    drop_if_free(node_.data());
    const uint64_t* c = node_.data();
    const StateId s = state(c);
    for_each_unplaced(freeable_.data(), c, [&](uint32_t slot) {
      const bool last = slot == returning_slot_;
      if (!last && options_.general.symmetry && has_better_equal(c, slot)) return;
      if (s == kUnseen && !class_at(slot).resets) return;
      const StateId next = step(s, problem_.ops[slots_[slot]].cls);
      if (next == kNoState) return;
      if (next == s && !last && options_.general.free_changes && !overwrites(c, class_at(slot)))
        return;
      if (narrow_ && !last && !class_at(slot).resets && is_of_no_use(next, c)) {
        truncated_ = true;
        return;
      }
      place(next, slot);
    });
    if (!may_use_optional()) return;
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      const uint32_t cls = lanes_[lane].cls;
      if (cls == kNoEntry || !is_class_useful(cls) || !available(c, lane)) continue;
      if (s == kUnseen && !problem_.classes[cls].resets) continue;
      if (has_acknowledged_equal(c, cls)) continue;
      const StateId next = step(s, cls);
      if (next == kNoState || (next == s && !overwrites(c, problem_.classes[cls]))) continue;
      place_optional(next, lane);
    }
  }
  // A reset that leads where it was may still be what comes after others that must happen.
  bool overwrites(const uint64_t* c, const GeneralClass& cls) const {
    bool any = false;
    if (overwrites_ && cls.resets) for_each_due(freeable_.data(), c, [&](uint32_t) { any = true; });
    return any;
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
    for_each_unplaced(freeable_.data(), c, [&](uint32_t other) {
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
    for_each_unplaced(freeable_.data(), c, [&](uint32_t slot) {
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
    enter(next, slots_[slot], problem_.ops[slots_[slot]].cls);
  }
  void place_optional(StateId next, uint32_t lane) {
    copy(node_.data(), child_.data());
    use(child_.data(), lane);
    enter(next, kNoEntry, lanes_[lane].cls);
  }
  void enter(StateId next, uint32_t op, uint32_t cls) {
    uint64_t* c = child_.data();
    free_hidden(c, problem_.classes[cls]);
    set_state(c, next);
    const bool showed = settle_observers(c);
    const Prospect found = prospect(c);
    if (found == Prospect::kLost) {
      ++counters_.dead;
      return;
    }
    if (found == Prospect::kSeen) return void(Base::enter(op, cls));
    // What shows in nothing is as well left for after the last of the burst.
    const bool done = test(placed(c), returning_slot_);
    if (!done && !showed) return;
    become_unseen(c);
    const bool last_is_free = test(freed(c), returning_slot_);
    if (Base::enter(op, cls) && !done && last_is_free) finish();
  }

  // --- States.
  void note_standings() {
    options_.seen->resize(event_ + 1);
    if (event_ < options_.seen_from || layer_->count > options_.seen_max) return;
    for (uint32_t i = 0; i < layer_->count; ++i) {
      const uint64_t* c = layer_->at(i);
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
  size_t collect_least() const { return std::min<size_t>(kCollectAt, options_.memory_bytes_max / 4); }
  void collect() {
    if (options_.states) return;
    std::vector<StateId> kept;
    for_each_record([&](uint64_t* c) {
      if (state(c) != kUnseen) kept.push_back(state(c));
    });
    kept.push_back(initial_);
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    auto renamed = [&](StateId s) {
      return static_cast<StateId>(std::lower_bound(kept.begin(), kept.end(), s) - kept.begin());
    };
    for_each_record([&](uint64_t* c) {
      if (state(c) != kUnseen) set_state(c, renamed(state(c)));
    });
    initial_ = renamed(initial_);
    states_->keep(kept);
    cache_.clear();
    collect_at_ = std::max(collect_least(), std::min(2 * states_->bytes(), options_.memory_bytes_max / 2));
  }
  template <typename Fn>
  void for_each_record(const Fn& fn) {
    for (uint32_t i = 0; i < layer_->count; ++i) fn(layer_->at(i));
    auto saved = [&](Checkpoint& at) {
      const size_t stride = fixed() + at.lane_words;
      for (size_t i = 0; i < at.layer.size(); i += stride) fn(at.layer.data() + i);
    };
    for (Checkpoint& at : checkpoints_) saved(at);
    saved(exact_);
  }

  const std::shared_ptr<ModelStates> states_;
  StepCache cache_;
  StateId initial_;
  const bool overwrites_;
  std::vector<uint64_t> resets_;
  size_t collect_at_ = collect_least();
};

}  // namespace

SearchResult general_search(const GeneralProblem& problem, const GeneralSearchOptions& options) {
  const uint32_t pending = std::max(problem.pending_max, options.pending_min);
  if (pending <= 64) return GeneralSweep<1>(problem, options).run();
  return GeneralSweep<0>(problem, options).run();
}

}  // namespace assay::linearizable
