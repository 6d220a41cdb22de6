// counter: increments of a number by intents: each reads it and writes one more, guarded by the
// revision that it read. What an intent that ended ok has added must be in the final value: a store
// that overwrites, and a client that sends again what it does not know the fate of, show in the sum.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

class Increment final : public Change {
 public:
  void begin() override {}
  std::optional<Op> decide(const Op& seen) override {
    Op write;
    write.f = f::write;
    write.value = Value(seen.value.is_int() ? seen.value.as_int() + 1 : int64_t{1});
    write.expected = guard_of(seen);
    return write;
  }
};

class Counter final : public IntentWorkload {
 public:
  std::string_view name() const override { return "counter"; }
  std::string_view summary() const override {
    return "read a number, write one more, guarded; after a conflict read again";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"durable", "update-chain", "conflicts", "reconcile", "revisions",
                                "dirty-reads", "version-order", "one-history", "linearizable"});
  }
  Value header() const override { return cas_register_header(); }

 protected:
  MakeChange changes() const override {
    return [](Symbol, int, Rng) { return std::make_unique<Increment>(); };
  }
};

}  // namespace

const Workload& counter_workload() {
  static const Counter workload;
  return workload;
}

}  // namespace assay
