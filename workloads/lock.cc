// lock-without-timeout, lock-with-timeout, lock-with-fencing, leader-election: INV-009's "lock the
// object", as clients build it on guarded writes. The lock's key (k1/lock) holds {"holder", "fence",
// "ttl_ms"}; its holder works on an object (k1/object) in plain reads and writes, then lets go. Every
// acquisition has a fence number, one higher than the last.
//
// Some holders die: they forget the lock and come back as somebody new. Some are slow: they pause, for
// longer than any time-out that is short, and do not know it. A lock is taken from a
// holder when a contender has seen it unchanged for its time-out, by the contender's own clock
// (leaderelection of k8s.io/client-go). 0: never.
//
// What guards the object ("effects"): plain: nothing, the lock is trusted. fenced: a transaction that
// also compares the lock's revision with that of the acquisition. guarded: the object's own revision,
// whoever holds the lock.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr Nanos kPoll = milliseconds(20);
constexpr Nanos kRest = milliseconds(5);  // between two holds
constexpr int kWritesPerHold = 2;

enum class Effects { kPlain, kFenced, kGuarded };

struct LockOptions {
  Nanos ttl;
  Nanos work;  // of a hold, on average
  int64_t slow_percent = 0;
  Nanos pause;  // of a slow holder: up to so long
  int64_t dies_percent = 0;
  Effects effects = Effects::kPlain;
  bool renews = false;
};

class Contender final : public Actor {
 public:
  Contender(Symbol key, const LockOptions& options, std::shared_ptr<Numbers> numbers, Rng rng)
      : lock_(std::string(key.text()) + "/lock"),
        object_(std::string(key.text()) + "/object"),
        options_(options),
        numbers_(std::move(numbers)),
        rng_(rng) {}

  bool between() const override { return step_ == Step::kRest; }

  Turn turn(Nanos now) override {
    if (step_ == Step::kRest) {
      step_ = Step::kLookAtLock;
      self_ = numbers_->next();
    }
    return {next_op(), std::max(now, not_before_)};
  }

  void done(const Op& completion, Nanos now) override {
    not_before_ = now;
    // Whoever does not know whether it holds the lock starts anew as somebody else.
    if (completion.type == OpType::kInfo) return rest(now);
    const bool ok = completion.type == OpType::kOk;
    switch (step_) {
      case Step::kLookAtLock: return ok ? looked(completion, now) : wait(now, kPoll);
      case Step::kAcquire: return ok ? acquired(completion, now) : look_again(now);
      case Step::kRenew: return ok ? renewed(completion) : rest(now);
      case Step::kLookAtObject: return ok ? saw_object(completion, now) : wait(now, kPoll);
      case Step::kWriteObject: return wrote(now);
      case Step::kRelease: return rest(now);
      case Step::kRest: return;
    }
  }

 private:
  enum class Step { kRest, kLookAtLock, kAcquire, kRenew, kLookAtObject, kWriteObject, kRelease };

  Op next_op() const {
    Op op;
    op.key = lock_;
    op.f = f::write;
    if (step_ == Step::kLookAtLock) op.f = f::read;
    if (step_ == Step::kAcquire) {
      op.value = record(Value(self_), fence_);
      op.expected = seen_;
    }
    if (step_ == Step::kRenew) {
      op.value = record(Value(self_), fence_);
      op.expected = held_;
    }
    if (step_ == Step::kRelease) {
      op.value = record(Value(), fence_);
      op.expected = held_;
    }
    if (step_ == Step::kLookAtObject) {
      op.f = f::read;
      op.key = object_;
    }
    if (step_ == Step::kWriteObject) op = write_of_object();
    put_extra(op, "intent", Value(self_));
    return op;
  }

  Op write_of_object() const {
    Op op;
    op.f = f::write;
    op.key = object_;
    op.value = Value::object({{Symbol("changes"), Value(object_value_["changes"].is_int()
                                                            ? object_value_["changes"].as_int() + 1
                                                            : int64_t{1})},
                              {Symbol("by"), Value(self_)}});
    if (options_.effects == Effects::kGuarded) {
      op.expected = object_token_;
      return op;
    }
    if (options_.effects == Effects::kFenced) {
      op.f = f::txn;
      op.key = Symbol();
      op.value = Value::array({Value::array({Value("w"), Value(object_), op.value})});
      put_extra(op, "guards",
                Value::array({Value::pair(Value(lock_), held_.to_value())}));
    }
    put_extra(op, "fence", Value(fence_));
    return op;
  }

  Value record(Value holder, int64_t fence) const {
    return Value::object({{Symbol("holder"), std::move(holder)},
                          {Symbol("fence"), Value(fence)},
                          {Symbol("ttl_ms"), Value(options_.ttl.count / 1'000'000)}});
  }

  void rest(Nanos now) {
    step_ = Step::kRest;
    not_before_ = now + kRest;
  }
  void wait(Nanos now, Nanos span) { not_before_ = now + span; }
  void look_again(Nanos now) {
    step_ = Step::kLookAtLock;
    wait(now, kPoll);
  }

  void looked(const Op& read, Nanos now) {
    const Token token = guard_of(read);
    if (!(token == seen_) || first_seen_ == kNever) first_seen_ = now;
    seen_ = token;
    const bool held = read.value.is_object() && !read.value["holder"].is_null();
    const bool expired = options_.ttl > Nanos{} && now - first_seen_ > options_.ttl;
    if (held && !expired) return wait(now, kPoll);
    fence_ = read.value.int_or("fence", 0) + 1;
    step_ = Step::kAcquire;
  }

  void acquired(const Op& completion, Nanos now) {
    held_ = completion.revision;
    renewed_at_ = now;
    writes_left_ = kWritesPerHold;
    if (rng_.chance(static_cast<uint64_t>(options_.dies_percent), 100)) return rest(now);
    step_ = Step::kLookAtObject;
    const bool slow = rng_.chance(static_cast<uint64_t>(options_.slow_percent), 100);
    slow_ = slow;
    wait(now, Nanos{rng_.between(0, slow ? options_.pause.count : options_.work.count)});
  }
  void renewed(const Op& completion) {
    held_ = completion.revision;
    step_ = Step::kLookAtObject;
  }

  void saw_object(const Op& read, Nanos now) {
    object_value_ = read.value;
    object_token_ = guard_of(read);
    step_ = Step::kWriteObject;
    wait(now, Nanos{rng_.between(0, options_.work.count)});
  }

  void wrote(Nanos now) {
    if (--writes_left_ <= 0) {
      step_ = Step::kRelease;
      return;
    }
    const bool due = options_.renews && !slow_ && now - renewed_at_ > options_.ttl / 3;
    if (due) renewed_at_ = now;
    step_ = due ? Step::kRenew : Step::kLookAtObject;
  }

  const Symbol lock_, object_;
  const LockOptions options_;
  std::shared_ptr<Numbers> numbers_;
  Rng rng_;
  Step step_ = Step::kRest;
  Nanos not_before_;
  int64_t self_ = 0;  // who it is, anew each time that it begins to want the lock
  Token seen_;        // the lock's revision that it looked at last,
  Nanos first_seen_ = kNever;  // … and since when it has been that
  int64_t fence_ = 0;
  Token held_;
  Nanos renewed_at_;
  bool slow_ = false;
  int writes_left_ = 0;
  Value object_value_;
  Token object_token_;
};

struct Kind {
  const char* name;
  const char* summary;
  const char* ttl;
  const char* effects;
  const char* slow;
  const char* dies;
  bool renews = false;
};
constexpr Kind kWithoutTimeout{"lock-without-timeout",
                               "a lock that only its holder releases; some holders die", "0ms",
                               "plain", "0", "20"};
constexpr Kind kWithTimeout{"lock-with-timeout",
                            "a lock that others take after a time-out; some holders are slow",
                            "200ms", "plain", "10", "5"};
constexpr Kind kWithFencing{"lock-with-fencing",
                            "the same, and the object refuses who does not hold the lock any more",
                            "200ms", "fenced", "10", "5"};
constexpr Kind kElection{"leader-election",
                         "a lease that its holder renews; its effects are guarded by themselves",
                         "200ms", "guarded", "10", "5", true};

class Lock final : public Workload {
 public:
  explicit Lock(const Kind& kind) : kind_(kind) {}
  std::string_view name() const override { return kind_.name; }
  std::string_view summary() const override { return kind_.summary; }
  std::vector<Symbol> ops() const override {
    if (kind_.effects == std::string_view("fenced")) return {f::read, f::write, f::txn};
    return {f::read, f::write};
  }
  bool guarded() const override { return true; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers(
        {"lock", "update-chain", "conflicts", "revisions", "dirty-reads", "version-order", "one-history"});
  }
  // A lock that nobody takes from its holder is to be told soon that it is stuck.
  Value header() const override {
    if (kind_.ttl != std::string_view("0ms")) return Value::object({});
    return Value::object(
        {{Symbol("thresholds"), Value::object({{Symbol("lock_ms_max"), Value(2000)}})}});
  }
  std::vector<WorkloadOption> options() const override {
    return {{"ttl", kind_.ttl, "a lock seen unchanged for so long is taken from its holder; 0: never"},
            {"work", "20ms", "between the steps of a holder: up to so long"},
            {"slow", kind_.slow, "of 100 holders so many pause"},
            {"pause", "1s", "of a slow holder: up to so long"},
            {"dies", kind_.dies, "of 100 holders so many forget the lock"},
            {"effects", kind_.effects, "what guards the object: plain, fenced, guarded"}};
  }

  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    SettingsReader settings(*this, options);
    LockOptions lock{.ttl = settings.duration("ttl"),
                     .work = settings.duration("work"),
                     .slow_percent = settings.number("slow", 0, 100),
                     .pause = settings.duration("pause"),
                     .dies_percent = settings.number("dies", 0, 100),
                     .renews = kind_.renews};
    const std::string effects = settings.one_of("effects", {"plain", "fenced", "guarded"});
    if (settings.mistake()) return *settings.mistake();
    if (effects == "fenced") lock.effects = Effects::kFenced;
    if (effects == "guarded") lock.effects = Effects::kGuarded;
    const auto numbers = std::make_shared<Numbers>();
    const auto make_key = [=](Symbol key, Rng rng) {
      const auto make_actor = [=](int place) {
        return std::make_unique<Contender>(key, lock, numbers,
                                           rng.stream("contender" + std::to_string(place)));
      };
      return actors(make_actor, operations_of_key(options, rng));
    };
    return KeyedRun::start(*this, options, make_key, {.whole = true, .last_look = [](Symbol key) {
                                                        Op op;
                                                        op.f = f::read;
                                                        op.key = Symbol(std::string(key.text()) +
                                                                        "/object");
                                                        return op;
                                                      }});
  }

 private:
  const Kind& kind_;
};

}  // namespace

const Workload& lock_without_timeout_workload() {
  static const Lock workload(kWithoutTimeout);
  return workload;
}
const Workload& lock_with_timeout_workload() {
  static const Lock workload(kWithTimeout);
  return workload;
}
const Workload& lock_with_fencing_workload() {
  static const Lock workload(kWithFencing);
  return workload;
}
const Workload& leader_election_workload() {
  static const Lock workload(kElection);
  return workload;
}

}  // namespace assay
