// unique-names: names that have one owner at most. A claim creates the name's key on condition that it
// is absent; whoever finds it taken frees it, by a delete guarded by the revision that it read. Few
// names, so that many want the same one.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr int kNames = 4;

std::string prefix_of(Symbol key) { return std::string(key.text()) + "/"; }

class Claim final : public Change {
 public:
  Claim(Symbol key, std::shared_ptr<Numbers> owners, Rng rng)
      : prefix_(prefix_of(key)), owners_(std::move(owners)), rng_(rng) {}
  void begin() override {
    name_ = Symbol(prefix_ + "name" + std::to_string(rng_.below(kNames)));
    owner_ = owners_->next();
  }
  Op look() const override {
    Op op;
    op.f = f::read;
    op.key = name_;
    return op;
  }
  std::optional<Op> decide(const Op& seen) override {
    Op op;
    op.key = name_;
    if (seen.value.is_null()) {
      op.f = f::write;
      op.value = Value(owner_);
      op.expected = Token(int64_t{0});
      return op;
    }
    op.f = f::delete_;
    op.expected = guard_of(seen);
    return op;
  }

 private:
  const std::string prefix_;
  std::shared_ptr<Numbers> owners_;
  Rng rng_;
  Symbol name_;
  int64_t owner_ = 0;
};

class UniqueNames final : public IntentWorkload {
 public:
  std::string_view name() const override { return "unique-names"; }
  std::string_view summary() const override {
    return "claim a name by creating its key, free it by a guarded delete";
  }
  std::vector<Symbol> ops() const override { return {f::list, f::read, f::write, f::delete_}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"unique-names", "update-chain", "conflicts", "revisions",
                                "dirty-reads", "version-order", "one-history"});
  }
  Value header() const override { return Value::object({}); }

 protected:
  MakeChange changes() const override {
    return [owners = std::make_shared<Numbers>()](Symbol key, int, Rng rng) {
      return std::make_unique<Claim>(key, owners, rng);
    };
  }
  Op look(Symbol key) const override { return list_of_prefix(prefix_of(key)); }
};

}  // namespace

const Workload& unique_names_workload() {
  static const UniqueNames workload;
  return workload;
}

}  // namespace assay
