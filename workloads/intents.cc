#include "workloads/intents.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr Nanos kRefusedPause = milliseconds(20);  // a refusal that comes at once is not answered at once

class IntentActor final : public Actor {
 public:
  IntentActor(std::unique_ptr<Change> change, IntentOptions options,
              std::shared_ptr<Numbers> numbers, Rng rng)
      : change_(std::move(change)),
        options_(options),
        numbers_(std::move(numbers)),
        rng_(rng) {}

  bool between() const override { return step_ == Step::kBegin; }

  Turn turn(Nanos now) override {
    if (step_ == Step::kBegin) {
      if (intent_ == 0) rest(now);  // not all at once
      begin();
    }
    if (step_ == Step::kWrite) return {write_, std::max(now, not_before_)};
    Op look = change_->look();
    put_extra(look, "intent", Value(intent_));
    return {std::move(look), std::max(now, not_before_)};
  }

  void done(const Op& completion, Nanos now) override {
    not_before_ = now;
    if (completion.type == OpType::kInfo) return end();
    const bool ok = completion.type == OpType::kOk;
    if (step_ == Step::kLook) return ok ? saw(completion, now) : pause(now, kRefusedPause);
    if (ok) return end();
    static const Symbol conflict("conflict");
    const bool lost = completion.error && completion.error->cls == conflict;
    if (attempts_ >= options_.retry.attempts_max) return end();
    step_ = Step::kLook;
    pause(now, lost ? next_pause() : kRefusedPause);
  }

 private:
  enum class Step { kBegin, kLook, kWrite };

  void begin() {
    intent_ = numbers_->next();
    attempts_ = 0;
    pause_ = options_.retry.pause;
    change_->begin();
    step_ = Step::kLook;
  }

  void end() {
    step_ = Step::kBegin;
    rest(not_before_);
  }
  void rest(Nanos now) {
    if (options_.rest_max > Nanos{})
      not_before_ = now + Nanos{rng_.between(0, options_.rest_max.count)};
  }

  void saw(const Op& seen, Nanos now) {
    std::optional<Op> write = change_->decide(seen);
    if (!write) return end();
    write_ = std::move(*write);
    ++attempts_;
    put_extra(write_, "intent", Value(intent_));
    if (attempts_ >= options_.retry.attempts_max) put_extra(write_, "gives_up", Value(true));
    step_ = Step::kWrite;
    not_before_ = now + Nanos{rng_.between(0, std::max(options_.think_max, change_->think_max()).count)};
  }

  void pause(Nanos now, Nanos span) { not_before_ = now + span; }

  Nanos next_pause() {
    const Nanos base = pause_;
    pause_ = Nanos{pause_.count * options_.retry.factor};
    const int64_t jitter = base.count * options_.retry.jitter_percent / 100;
    return base + Nanos{rng_.between(0, jitter)};
  }

  std::unique_ptr<Change> change_;
  const IntentOptions options_;
  std::shared_ptr<Numbers> numbers_;
  Rng rng_;
  Step step_ = Step::kBegin;
  int64_t intent_ = 0;
  int64_t attempts_ = 0;
  Nanos pause_;
  Nanos not_before_;
  Op write_;
};

class Reader final : public Actor {
 public:
  explicit Reader(Op look) : look_(std::move(look)) {}
  Turn turn(Nanos) override { return {look_, not_before_}; }
  void done(const Op& completion, Nanos now) override {
    not_before_ = completion.type == OpType::kFail ? now + kRefusedPause : now;
  }

 private:
  Op look_;
  Nanos not_before_;
};

}  // namespace

std::vector<WorkloadOption> intent_options() {
  return {{"retry", "default",
           "after a conflict: default (5 attempts, 10 ms apart), backoff (4 attempts, 10 ms and 5 "
           "times more each), forever, never"},
          {"think", "0ms", "between observing and writing: up to so long"},
          {"rest", "0ms", "between one intent of a writer and its next: up to so long"}};
}

IntentOptions read_intent_options(SettingsReader& settings) {
  IntentOptions options;
  const std::string retry =
      settings.one_of("retry", {"default", "backoff", "forever", "never"});
  if (retry == "backoff") options.retry = {.attempts_max = 4, .factor = 5};
  if (retry == "forever") options.retry.attempts_max = INT64_MAX;
  if (retry == "never") options.retry.attempts_max = 1;
  options.think_max = settings.duration("think");
  options.rest_max = settings.duration("rest");
  return options;
}

Token guard_of(const Op& read) {
  if (!read.revision.none()) return read.revision;
  return read.value.is_null() ? Token(int64_t{0}) : Token();
}

void put_extra(Op& op, const char* name, Value value) {
  Value::Object members;
  if (op.extra.is_object()) members = op.extra.as_object();
  members.emplace_back(Symbol(name), std::move(value));
  op.extra = Value::object(std::move(members));
}

std::unique_ptr<Actor> intents(std::unique_ptr<Change> change, IntentOptions options,
                               std::shared_ptr<Numbers> numbers, Rng rng) {
  return std::make_unique<IntentActor>(std::move(change), options, std::move(numbers), rng);
}

std::unique_ptr<Actor> reader(Op look) { return std::make_unique<Reader>(std::move(look)); }

std::unique_ptr<Actor> reader() {
  Op op;
  op.f = f::read;
  return reader(std::move(op));
}

}  // namespace assay
