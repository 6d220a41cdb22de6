// aba: the state comes back, and with it nothing else may. Some writers turn a key's value to and fro
// between 1 and 2, delete it and create it again; others read, hold on to what they have read while the
// value goes and returns, and then write, guarded by the token of that time. Only a store whose token
// names the accepted state, and not its content, refuses them.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr Nanos kHeldMax = milliseconds(300);
constexpr int kDeletesPercent = 20;

class Turn final : public Change {
 public:
  explicit Turn(Rng rng) : rng_(rng) {}
  void begin() override { deletes_ = rng_.chance(kDeletesPercent, 100); }
  std::optional<Op> decide(const Op& seen) override {
    Op op;
    const bool present = !seen.value.is_null();
    op.f = present && deletes_ ? f::delete_ : f::write;
    if (op.f == f::write) op.value = Value(seen.value == Value(1) ? 2 : 1);
    op.expected = guard_of(seen);
    return op;
  }

 private:
  Rng rng_;
  bool deletes_ = false;
};

class HeldOn final : public Change {
 public:
  explicit HeldOn(std::shared_ptr<Numbers> values) : values_(std::move(values)) {}
  void begin() override { value_ = 100 + values_->next(); }
  std::optional<Op> decide(const Op& seen) override {
    if (seen.value.is_null()) return std::nullopt;  // 0 is no token: nothing to hold on to
    Op write;
    write.f = f::write;
    write.value = Value(value_);
    write.expected = guard_of(seen);
    return write;
  }
  Nanos think_max() const override { return kHeldMax; }

 private:
  std::shared_ptr<Numbers> values_;
  int64_t value_ = 0;
};

class Aba final : public IntentWorkload {
 public:
  std::string_view name() const override { return "aba"; }
  std::string_view summary() const override {
    return "values that go and return, delete and create; writers that hold on to an old token";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write, f::delete_}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"revisions", "update-chain", "conflicts", "dirty-reads",
                                "version-order", "one-history", "linearizable"});
  }
  // Deletes are few, and most of them compete.
  Value header() const override {
    Value::Object members = cas_register_header().as_object();
    members.emplace_back(Symbol("thresholds"), Value::object({{Symbol("ok_per_f"), Value(3)}}));
    return Value::object(std::move(members));
  }

 protected:
  // By turns, beginning with one of each.
  MakeChange changes() const override {
    return [values = std::make_shared<Numbers>()](Symbol, int writer,
                                                  Rng rng) -> std::unique_ptr<Change> {
      if (writer % 2 == 0) return std::make_unique<Turn>(rng);
      return std::make_unique<HeldOn>(values);
    };
  }
};

}  // namespace

const Workload& aba_workload() {
  static const Aba workload;
  return workload;
}

}  // namespace assay
