// watch: writers change a few keys under one prefix, and readers follow them as client-go's
// reflector does: list the prefix, watch from the next revision on, resume where the watch left
// off, and list again when that is forgotten.
//
// A reader is a session (its operations carry its name): it stays with a worker, and so on a node,
// while all goes well; when its watch is cut, is not answered, or now and then, a worker on another
// node goes on with it. There is one session more than workers for them, so somebody always has
// waited for a while. Every few watches a session ends and a new one lists. Now and then a writer
// compacts the store: to a revision that most sessions have left behind, to the very one from which
// a session is to go on (nothing that it wants is forgotten then), or to the last.
//
// Source: client-go's tools/cache/reflector.go.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "checkers/history/vocabulary.h"
#include "checkers/history/watch_value.h"
#include "workloads/gen/combinators.h"
#include "workloads/keyed_run.h"
#include "workloads/registry.h"

namespace assay {
namespace {

const Symbol kSession{"session"}, kPrefix{"w/"};
constexpr int64_t kWatchedKeys = 8;
// A watch of two seconds is told of less than a thousand changes then.
constexpr Nanos kWriteInterval = milliseconds(5);
constexpr Nanos kRest = milliseconds(200);  // of a worker whose operation was refused

struct Session {
  std::string name;
  int64_t next = 0;         // where its next watch begins; 0: it has to list first
  int watches_left = 0;     // then it ends
  Nanos span;               // of its next watch
  Worker home = kNoWorker;  // who goes on with it; kNoWorker: somebody else
  Worker last = kNoWorker;  // who had it last
  bool busy = false;
  uint64_t since = 0;  // it waits
};

// Over the workers that follow.
class Sessions final : public Generator {
 public:
  Sessions(Rng rng, int workers, std::function<int(Worker)> node_of)
      : rng_(rng), node_of_(std::move(node_of)), sessions_(static_cast<size_t>(workers) + 1) {
    for (Session& session : sessions_) begin(session);
  }

  Next next(const Context& context) override {
    Nanos wake = kNever;
    const Worker worker = rested(context, wake);
    if (worker == kNoWorker) return Next::pending(wake);
    end_what_was_missed(context);
    chosen_ = choice_of(worker);
    const Session& session = sessions_[chosen_];
    Op op;
    op.time = context.now;
    op.process = context.workers->process(worker);
    op.key = kPrefix;
    op.extra = Value::object({{kSession, Value(session.name)}});
    op.f = session.next == 0 ? f::list : f::watch;
    if (session.next > 0) op.value = to_value(WatchWish{kPrefix, session.next, session.span});
    return Next::ready(std::move(op), worker);
  }

  void taken(const Context&, const Next& next) override {
    Session& session = sessions_[chosen_];
    session.busy = true;
    session.last = next.worker;
    const auto at = static_cast<size_t>(next.worker);
    if (at >= running_.size()) {
      running_.resize(at + 1, nullptr);
      rests_until_.resize(at + 1);
    }
    running_[at] = &session;
  }

  void update(const Context& context, Worker worker, const Op& completion) override {
    const auto at = static_cast<size_t>(worker);
    if (at >= running_.size() || running_[at] == nullptr) return;
    Session& session = *std::exchange(running_[at], nullptr);
    session.busy = false;
    session.since = ++completions_;
    // A node that is down must not use up all sessions.
    if (completion.type == OpType::kFail) rests_until_[at] = context.now + kRest;
    session.span = drawn_span();
    const bool well =
        completion.f == f::list ? listed(session, completion) : watched(session, completion);
    session.home = well && !rng_.chance(1, 3) ? worker : kNoWorker;
    if (session.watches_left == 0) begin(session);
  }

  // Where the session goes on that has waited longest; 0: none waits.
  int64_t next_wanted() const {
    const Session* longest = nullptr;
    for (const Session& session : sessions_) {
      if (session.busy || session.next == 0) continue;
      if (longest == nullptr || session.since < longest->since) longest = &session;
    }
    return longest == nullptr ? 0 : longest->next;
  }

 private:
  // A free worker that need not rest; else kNoWorker, and when to ask again.
  Worker rested(const Context& context, Nanos& wake) const {
    for (Worker w = context.begin; w < context.end; ++w) {
      if (!context.workers->is_free(w)) continue;
      const auto at = static_cast<size_t>(w);
      if (at >= rests_until_.size() || rests_until_[at] <= context.now) return w;
      wake = std::min(wake, rests_until_[at]);
    }
    return kNoWorker;
  }

  void begin(Session& session) {
    session.name = "s" + std::to_string(++begun_);
    session.next = 0;
    session.watches_left = static_cast<int>(rng_.between(2, 5));
    session.span = drawn_span();
  }
  Nanos drawn_span() { return milliseconds(rng_.between(1000, 2000)); }

  // What completes between two phases of a run is told to nobody: where that watch has come to is
  // not known here, and its session ends.
  void end_what_was_missed(const Context& context) {
    for (size_t worker = 0; worker < running_.size(); ++worker) {
      if (running_[worker] == nullptr || !context.workers->is_free(static_cast<Worker>(worker)))
        continue;
      Session& session = *std::exchange(running_[worker], nullptr);
      session.busy = false;
      session.home = kNoWorker;
      begin(session);
    }
  }

  // Its own; else one that was on another node before, else a new one, else any that nobody has;
  // of these the one that has waited longest.
  size_t choice_of(Worker worker) const {
    size_t best = sessions_.size();
    int best_rank = 0;
    for (size_t i = 0; i < sessions_.size(); ++i) {
      const Session& session = sessions_[i];
      if (session.busy || (session.home != kNoWorker && session.home != worker)) continue;
      const bool fresh = session.next == 0 || session.last == kNoWorker;
      const bool moves = !fresh && node_of_(session.last) != node_of_(worker);
      const int rank = session.home == worker ? 4 : moves ? 3 : fresh ? 2 : 1;
      if (rank > best_rank || (rank == best_rank && session.since < sessions_[best].since)) {
        best = i;
        best_rank = rank;
      }
    }
    ASSAY_CHECK(best < sessions_.size(), "no session for worker %d", worker);
    return best;
  }

  static bool listed(Session& session, const Op& completion) {
    if (completion.type != OpType::kOk || !completion.at.is_number()) return false;
    session.next = completion.at.number() + 1;
    return true;
  }

  // What was not answered is asked again from the same revision.
  static bool watched(Session& session, const Op& completion) {
    if (completion.type != OpType::kFail) --session.watches_left;
    if (completion.type != OpType::kOk) return false;
    const std::string_view end = completion.value.text_or("end", "");
    session.next = end == to_string(WatchEnd::kCompacted) ? 0 : watch_next(completion.value);
    return end == to_string(WatchEnd::kDone);
  }

  Rng rng_;
  const std::function<int(Worker)> node_of_;
  std::vector<Session> sessions_;
  std::vector<Session*> running_;  // by worker
  std::vector<Nanos> rests_until_;
  size_t chosen_ = 0;
  int64_t begun_ = 0;
  uint64_t completions_ = 0;
};

// Every value is written once per run.
class Writers final : public Generator {
 public:
  // `wanted`: Sessions::next_wanted().
  Writers(Rng rng, int64_t keys, std::function<int64_t()> wanted)
      : rng_(rng), keys_(keys > 0 ? keys : kWatchedKeys), wanted_(std::move(wanted)) {}

  Next next(const Context& context) override {
    const Worker worker = context.idlest();
    if (worker == kNoWorker) return Next::pending();
    if (!drawn_) op_ = draw();
    drawn_ = true;
    Op op = op_;
    op.time = context.now;
    op.process = context.workers->process(worker);
    return Next::ready(std::move(op), worker);
  }
  void taken(const Context&, const Next&) override { drawn_ = false; }
  void update(const Context&, Worker, const Op& completion) override {
    if (completion.at.is_number()) highest_ = std::max(highest_, completion.at.number());
  }

 private:
  Op draw() {
    const uint64_t what = rng_.below(100);
    Op op;
    if (what == 0 && highest_ > compacted_ + 1) return compaction();
    op.key = key();
    if (what < 60) {
      op.f = f::write;
      op.value = ++last_value_;
    } else if (what < 80) {
      op.f = f::delete_;
    } else {
      op.f = f::txn;
      op.value = changes(op.key);
      op.key = {};
    }
    return op;
  }

  Symbol key() { return key_of(rng_.between(1, keys_)); }
  static Symbol key_of(int64_t n) { return Symbol("w/" + std::to_string(n)); }

  // Of two keys, where there are two.
  Value changes(Symbol first) {
    Value::Array list{Value::array({Value("w"), first, ++last_value_})};
    const Symbol second = key();
    if (second != first) {
      const Value value = rng_.chance(1, 4) ? Value() : Value(++last_value_);
      list.push_back(Value::array({Value("w"), second, value}));
    }
    return Value::array(std::move(list));
  }

  Op compaction() {
    const uint64_t where = rng_.below(3);
    int64_t to = highest_;
    if (where == 1) to -= rng_.between(0, 300);
    if (where == 2 && wanted_() > 0) to = wanted_();
    compacted_ = std::clamp(to, compacted_ + 1, highest_);
    Op op;
    op.f = f::compact;
    op.value = compacted_;
    return op;
  }

  Rng rng_;
  const int64_t keys_;
  const std::function<int64_t()> wanted_;
  Op op_;
  bool drawn_ = false;
  int64_t last_value_ = 0;
  int64_t highest_ = 0;    // revision that was seen
  int64_t compacted_ = 0;  // that was asked for
};

class WatchRun final : public WorkloadRun {
 public:
  WatchRun(const Workload& workload, const WorkloadOptions& options)
      : workload_(workload),
        options_(options),
        followers_(std::clamp(2 * nodes(), 1, options.concurrency / 2)),
        sessions_(options.rng.stream("sessions"), followers_,
                  [group = options.group_size, nodes = nodes()](Worker w) {
                    return node_of_worker(w, group, nodes);
                  }),
        writers_(options.rng.stream("writers"), options.keys,
                 [this] { return sessions_.next_wanted(); }) {}

  Gen load() override {
    Gen writes = gen::stagger(kWriteInterval, options_.rng.stream("pace"), gen::borrow(writers_));
    return gen::on_workers(
        0, options_.concurrency,
        gen::reserve(gen::reserved(followers_, gen::borrow(sessions_)), std::move(writes)));
  }
  Gen final_reads() override {
    Op list;
    list.f = f::list;
    list.key = kPrefix;
    return final_operations(options_, [list] { return std::vector<Op>{list}; });
  }
  std::vector<Symbol> ops() const override { return workload_.ops(); }
  bool guarded() const override { return false; }

 private:
  int nodes() const { return static_cast<int>(options_.nodes.size()); }

  const Workload& workload_;
  const WorkloadOptions options_;
  const int followers_;
  Sessions sessions_;
  Writers writers_;
};

class WatchWorkload final : public Workload {
 public:
  std::string_view name() const override { return "watch"; }
  std::string_view summary() const override {
    return "list, watch, resume: readers follow the changes of a prefix over cuts and compactions";
  }
  std::vector<Symbol> ops() const override {
    return {f::write, f::delete_, f::txn, f::list, f::watch, f::compact};
  }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"watch", "revisions"});
  }
  Value header() const override { return Value::object({}); }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    if (options.concurrency < 2) {
      return input_error(
          "concurrency: expected at least 2, one who writes and one who watches, "
          "found " +
          std::to_string(options.concurrency));
    }
    if (options.keys < 0)
      return input_error("keys: expected 0 or more, found " + std::to_string(options.keys));
    return std::unique_ptr<WorkloadRun>(std::make_unique<WatchRun>(*this, options));
  }
};

}  // namespace

const Workload& watch_workload() {
  static const WatchWorkload workload;
  return workload;
}

}  // namespace assay
