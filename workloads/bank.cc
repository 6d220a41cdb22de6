// bank: accounts with a fixed sum. A transfer lists all accounts of a bank, and moves money from one to
// another in one transaction that is guarded by the revisions of both. Every list must show the sum.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr int kAccounts = 5;
constexpr int64_t kEach = 10;

std::string prefix_of(Symbol key) { return std::string(key.text()) + "/"; }

Value write_of(Symbol key, int64_t balance) {
  return Value::array({Value("w"), Value(key), Value(balance)});
}
Value guard_on(Symbol key, Token token) { return Value::pair(Value(key), token.to_value()); }

Op txn_of(Value::Array writes, Value::Array guards) {
  Op op;
  op.f = f::txn;
  op.value = Value::array(std::move(writes));
  put_extra(op, "guards", Value::array(std::move(guards)));
  return op;
}

class Transfer final : public Change {
 public:
  Transfer(Symbol key, Rng rng) : prefix_(prefix_of(key)), rng_(rng) {}
  void begin() override {
    from_ = rng_.below(kAccounts);
    to_ = (from_ + 1 + rng_.below(kAccounts - 1)) % kAccounts;
    amount_ = rng_.between(1, 5);
  }
  Op look() const override { return list_of_prefix(prefix_); }
  std::optional<Op> decide(const Op& seen) override {
    if (listed_all(seen).empty()) return opening();
    const Listed from = listed_at(seen, account(from_)), to = listed_at(seen, account(to_));
    if (!from.value.is_int() || !to.value.is_int()) return std::nullopt;  // a bank in pieces
    if (from.value.as_int() < amount_) return std::nullopt;
    return txn_of({write_of(account(from_), from.value.as_int() - amount_),
                   write_of(account(to_), to.value.as_int() + amount_)},
                  {guard_on(account(from_), from.token), guard_on(account(to_), to.token)});
  }

 private:
  Symbol account(uint64_t i) const { return Symbol(prefix_ + "a" + std::to_string(i)); }
  Op opening() const {
    Value::Array writes, guards;
    for (uint64_t i = 0; i < kAccounts; ++i) {
      writes.push_back(write_of(account(i), kEach));
      guards.push_back(guard_on(account(i), Token(int64_t{0})));
    }
    return txn_of(std::move(writes), std::move(guards));
  }

  const std::string prefix_;
  Rng rng_;
  uint64_t from_ = 0, to_ = 0;
  int64_t amount_ = 0;
};

class Bank final : public IntentWorkload {
 public:
  std::string_view name() const override { return "bank"; }
  std::string_view summary() const override {
    return "transfers between accounts in guarded transactions; the sum stays";
  }
  std::vector<Symbol> ops() const override { return {f::list, f::txn}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"bank", "revisions", "dirty-reads", "reconcile", "version-order", "one-history"});
  }
  Value header() const override {
    return Value::object({{Symbol("total"), Value(kAccounts * kEach)}});
  }

 protected:
  MakeChange changes() const override {
    return [](Symbol key, int, Rng rng) { return std::make_unique<Transfer>(key, rng); };
  }
  Op look(Symbol key) const override { return list_of_prefix(prefix_of(key)); }
};

}  // namespace

const Workload& bank_workload() {
  static const Bank workload;
  return workload;
}

}  // namespace assay
