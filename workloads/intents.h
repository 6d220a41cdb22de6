// Intents: the writer of INV-009 (versioned truth): it observes, decides, and writes on condition
// that what it has observed is still current; after a conflict it observes again before it decides
// anew, up to a bound. All operations of one intent carry its number in extra "intent"; the attempt
// with which it gives up, should that conflict too, carries "gives_up".
//
// Source of the retry policies: k8s.io/client-go/util/retry, DefaultRetry and DefaultBackoff.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "checkers/history/rng.h"
#include "checkers/history/vocabulary.h"
#include "workloads/actors.h"
#include "workloads/settings.h"

namespace assay {

struct Retry {
  int64_t attempts_max = 5;  // writes per intent
  Nanos pause = milliseconds(10);
  int64_t factor = 1;           // of the pause, after each attempt
  int64_t jitter_percent = 10;  // of the pause, drawn and added
};

// The options "retry", "think" and "rest" of a workload whose writers are intents.
std::vector<WorkloadOption> intent_options();

struct IntentOptions {
  Retry retry;
  Nanos think_max;  // between observing and writing: drawn in [0, this]
  Nanos rest_max;   // between one intent and the next, likewise
};
IntentOptions read_intent_options(SettingsReader& settings);

// Numbers that are used once in a run.
class Numbers {
 public:
  int64_t next() { return ++last_; }

 private:
  int64_t last_ = 0;
};

// What an intent is about. One object of one writer; begin() starts the next intent.
class Change {
 public:
  virtual ~Change() = default;
  virtual void begin() = 0;
  // The operation that observes: a read unless it says otherwise. Its key may stay empty where the
  // key is given by others (gen::ConcurrentKeys).
  virtual Op look() const {
    Op op;
    op.f = f::read;
    return op;
  }
  // The write, given an ok completion of look(): f, value, guard and extra. Nothing: there is nothing
  // to do, and the intent is over.
  virtual std::optional<Op> decide(const Op& seen) = 0;
  // It thinks for up to so long between observing and writing, where that is more than the option.
  virtual Nanos think_max() const { return {}; }
};

// The guard of a write that follows a read: its revision; 0 where the key was absent; none where the
// store gives no token.
Token guard_of(const Op& read);

// Puts a member into op.extra.
void put_extra(Op& op, const char* name, Value value);

std::unique_ptr<Actor> intents(std::unique_ptr<Change> change, IntentOptions options,
                               std::shared_ptr<Numbers> numbers, Rng rng);

// Reads its key for ever, or does what `look` says.
std::unique_ptr<Actor> reader(Op look);
std::unique_ptr<Actor> reader();

}  // namespace assay
