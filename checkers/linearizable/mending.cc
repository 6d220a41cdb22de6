#include "checkers/linearizable/mending.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "checkers/linearizable/order.h"

namespace assay::linearizable {

class Mending {
 public:
  Mending(Unique& unique, const SearchOptions& options) : unique_(unique), options_(options) {
    options_.want_order = true;
    find_unseen();
    found_.stage = Stage::kUniqueRepair;
  }

  SearchResult run() {
    // The one that was mended may be searched again beside the next, but stays explained.
    uint32_t turn = 0;
    for (const uint32_t i : unique_.failing_) {
      if (++turn % kPollEvery == 0 && options_.exhausted && options_.exhausted()) return found_;
      const Unique::Mismatch& m = unique_.mismatches_[i];
      if (!explains(m) && !mend_around(m)) return found_;
    }
    insert_unseen();
    found_.outcome = Outcome::kValid;
    return std::move(found_);
  }

 private:
  static constexpr uint32_t kPollEvery = 64;
  static constexpr uint32_t kRoom = 8;  // ranks before and behind, at first
  static constexpr uint32_t kRoomMax = 1 << 13;
  static constexpr uint32_t kUnseenMax = 8, kUnseenLooked = 64;  // for a window
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // Of the ranks from `first` until before `last`, which become current from just after `begin`
  // until just after `end`.
  struct Window {
    uint32_t first;
    uint32_t last;
    Tick begin;
    Tick end;
    // Positions of events: of two at a tick, what is just before it comes first.
    Position after(Tick tick) const { return tick <= begin ? 1 : 2 * (tick - begin) + 1; }
    Position before(Tick tick) const { return 2 * (std::min(tick, end + 1) - begin); }
  };
  // What is behind an operation of the problem.
  struct Part {
    Tick call;
    ValueId value;               // that it makes, or none
    uint32_t unseen = kNowhere;  // … or none of those
  };

  // What may have happened though nobody saw it: it can come between two values, and is put into
  // the order at the end.
  struct Unseen {
    Tick call;
    ValueId value;
    uint32_t after = kNowhere;  // the rank that it follows
    Tick point = 0;
  };

  // No failed cas may name them: it would have to be explained as well.
  void find_unseen() {
    std::vector<bool> named(unique_.items_.size());
    for (ValueId v : unique_.named_unseen_) named[v] = true;
    for (ValueId v = 0; v < named.size(); ++v) {
      const Tick call = unique_.items_[v].call;
      if (call != kNever32 && !unique_.effective_[v] && !named[v]) unseen_.push_back({call, v});
    }
    std::sort(unseen_.begin(), unseen_.end(),
              [](const Unseen& a, const Unseen& b) { return a.call < b.call; });
  }
  void insert_unseen() {
    std::vector<Unique::Insertion> all;
    for (const auto& [rank, unseen] : between_) {
      for (const uint32_t u : unseen) all.push_back({rank, unseen_[u].value, unseen_[u].point});
    }
    unique_.insert(all);
  }
  bool explains(const Unique::Mismatch& m) const {
    const auto next = between_.find(unique_.ranks_[m.value]);
    return unique_.explains(m) ||
           (next != between_.end() && unseen_[next->second.front()].point < m.ret);
  }

  bool mend_around(const Unique::Mismatch& m) {
    const auto ranks = static_cast<uint32_t>(unique_.order_.size());
    const uint32_t rank = unique_.ranks_[m.value];
    for (uint32_t room = kRoom;; room *= 4) {
      const uint32_t first = rank - std::min(rank - std::min(rank, 1u), room) + (rank == 0);
      const uint32_t last = rank + std::min(ranks - rank, room + 1);
      if (first < last && search(window(first, last), room)) return true;
      if (room >= kRoomMax || last - first + 1 == ranks || budget() == 0) return false;
    }
  }
  const Unique::Item& item(uint32_t rank) const { return unique_.items_[unique_.order_[rank]]; }
  Window window(uint32_t first, uint32_t last) const {
    const bool ends = last == unique_.order_.size();
    return {.first = first,
            .last = last,
            .begin = std::max(unique_.points_[first - 1], item(first - 1).read_call),
            .end = ends ? unique_.last_tick_ + 1 : unique_.points_[last]};
  }
  uint64_t budget() const {
    return options_.work_max - std::min(options_.work_max, found_.counters.work);
  }

  bool search(const Window& window, uint64_t room) {
    const Problem problem = prepare(window);
    SearchOptions options = options_;
    options.work_max = std::min(budget(), kWorkPerRoom * room);
    const SearchResult found = linearizable::search(problem, options);
    found_.counters.add(found.counters);
    if (found.outcome != Outcome::kValid) return false;
    settle(window, linear_order(problem, found.placements));
    return true;
  }
  static constexpr uint64_t kWorkPerRoom = 4096;

  // The window as a problem of its own. Values: 0 is the one before it, then those inside in order,
  // then one for all those that nobody can tell apart.
  Problem prepare(const Window& window) {
    const uint32_t size = window.last - window.first;
    Problem problem;
    problem.values = size + 2;
    parts_.clear();
    observed_.assign(size + 1, 0);
    add_mismatches(window, problem);
    for (uint32_t rank = window.first; rank < window.last; ++rank) add_value(window, rank, problem);
    add_unseen(window, problem);
    // What was made of the last one outside needs it.
    if (window.last < unique_.order_.size() && item(window.last).from != Unique::kNoValue)
      observe(problem, Kind::kRead, size, window.end, {window.after(window.end + 1), window.after(window.end + 2)});
    for (ProblemOp& op : problem.ops) {
      if (op.produces() && (op.optional || !observed_[op.to])) op.to = size + 1;
    }
    std::sort(problem.ops.begin(), problem.ops.end(), [](const ProblemOp& a, const ProblemOp& b) {
      return std::pair(a.call, a.source) < std::pair(b.call, b.source);
    });
    problem.lay_out();
    return problem;
  }
  void observe(Problem& problem, Kind kind, ValueId value, Tick call,
               std::pair<Position, Position> interval) {
    problem.ops.push_back({.kind = kind,
                           .from = value,
                           .call = interval.first,
                           .ret = interval.second,
                           .source = add_part(call, Unique::kNoValue)});
    observed_[value] = 1;
  }
  uint32_t add_part(Tick call, ValueId value) {
    parts_.push_back({call, value});
    return static_cast<uint32_t>(parts_.size()) - 1;
  }

  // Its producer, whose interval says that it became current before the first return of a read; and
  // one read, as short as may be, which says that it still was at the last call of one.
  void add_value(const Window& window, uint32_t rank, Problem& problem) {
    const ValueId value = unique_.order_[rank];
    const Unique::Item& item = unique_.items_[value];
    const Tick late = unique_.bounds_[value].late;
    const ValueId local = rank - window.first + 1;
    ProblemOp op{.kind = Kind::kWrite,
                 .to = local,
                 .call = window.after(item.call),
                 .ret = window.before(late),
                 .source = add_part(item.call, value)};
    if (item.from != Unique::kNoValue) {
      op.kind = Kind::kCas;
      op.from = unique_.ranks_[item.from] + 1 - window.first;
      observed_[op.from] = 1;
    }
    problem.ops.push_back(op);
    if (item.read_call <= std::max(item.call, window.begin)) return;
    const Position call = window.after(item.read_call);
    observe(problem, Kind::kRead, local, item.read_call,
            {call, std::max(call + 1, window.before(late))});
  }

  // Those that its order could break: of the value before it, and of those inside. Not those that
  // were called before it, while another value was current, or return behind it, when one is again.
  void add_mismatches(const Window& window, Problem& problem) {
    const auto& all = unique_.mismatches_;
    const Tick begin = unique_.points_[window.first - 1];
    auto m = std::upper_bound(all.begin(), all.end(), begin,
                              [](Tick t, const Unique::Mismatch& m) { return t < m.call; });
    for (; m != all.end() && m->call < window.end; ++m) {
      const uint32_t rank = unique_.ranks_[m->value];
      if (rank + 1 < window.first || rank >= window.last) continue;
      if (m->ret > window.end || m->ret <= window.begin) continue;
      if (m->call <= window.begin && rank >= window.first) continue;
      observe(problem, Kind::kMismatch, rank + 1 - window.first, m->call,
              {window.after(m->call), window.before(m->ret)});
    }
  }

  // Those called last, but for those that are in the order outside.
  void add_unseen(const Window& window, Problem& problem) {
    auto u = std::partition_point(unseen_.begin(), unseen_.end(),
                                  [&](const Unseen& u) { return u.call < window.end; });
    const auto oldest = u - std::min<std::ptrdiff_t>(u - unseen_.begin(), kUnseenLooked);
    for (uint32_t count = 0; u != oldest && count < kUnseenMax;) {
      --u;
      const bool used = u->after != kNowhere;
      if (used && (u->after + 1 < window.first || u->after >= window.last)) continue;
      ProblemOp op{.kind = Kind::kWrite, .optional = true, .call = window.after(u->call)};
      if (const ValueId from = unique_.items_[u->value].from; from != Unique::kNoValue) {
        const uint32_t rank = unique_.ranks_[from];
        if (!unique_.effective_[from] || rank + 1 < window.first || rank >= window.last) continue;
        op.kind = Kind::kCas;
        op.from = rank + 1 - window.first;
        observed_[op.from] = 1;
      }
      op.source = add_part(u->call, Unique::kNoValue);
      parts_.back().unseen = static_cast<uint32_t>(u - unseen_.begin());
      problem.ops.push_back(op);
      ++count;
    }
  }

  // Everything happens as soon as its call and what comes before it allow.
  void settle(const Window& window, const std::vector<uint32_t>& order) {
    const auto gone = between_.lower_bound(window.first - 1);
    const auto kept = between_.lower_bound(window.last);
    for (auto i = gone; i != kept; ++i) {
      for (const uint32_t u : i->second) unseen_[u].after = kNowhere;
    }
    between_.erase(gone, kept);
    uint32_t rank = window.first;
    Tick now = window.begin;
    for (const uint32_t source : order) {
      const Part& part = parts_[source];
      now = std::max(now, part.call);
      if (part.unseen != kNowhere) {
        unseen_[part.unseen].after = rank - 1;
        unseen_[part.unseen].point = now;
        between_[rank - 1].push_back(part.unseen);
      }
      if (part.value == Unique::kNoValue) continue;
      unique_.order_[rank] = part.value;
      unique_.ranks_[part.value] = rank;
      unique_.points_[rank++] = now;
    }
  }

  Unique& unique_;
  SearchOptions options_;
  SearchResult found_;
  std::vector<Unseen> unseen_;                         // by call
  std::map<uint32_t, std::vector<uint32_t>> between_;  // by rank, those that follow it
  std::vector<Part> parts_;                            // by source
  std::vector<uint8_t> observed_;                      // by value
};

SearchResult mend(Unique& unique, const SearchOptions& options) {
  return Mending(unique, options).run();
}

}  // namespace assay::linearizable
