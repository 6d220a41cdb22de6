// controller: INV-008's ReplicaSet controllers, several at once: each asks how many objects there
// should be and how many there are, and creates the difference, one by one. Somebody raises the wanted
// number now and then, so there may never be more objects than the highest number wanted so far.
//
// guarded: what a controller creates is written in one transaction with a record of the key's state, on
// condition that this record is as it was when the controller looked. plain: a new key is created, and
// nothing stops a controller that looked at a copy of yesterday.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr int kWantedMax = 8;
constexpr Nanos kUserPause = milliseconds(400);  // between two wishes: up to so long

struct Names {
  explicit Names(Symbol key)
      : prefix(std::string(key.text()) + "/"), wanted(prefix + "wanted"), state(prefix + "state") {}
  const std::string prefix;
  const Symbol wanted, state;
  std::string object_prefix() const { return prefix + "object/"; }
};

class Wish final : public Change {
 public:
  explicit Wish(Symbol key) : names_(key) {}
  void begin() override {}
  Op look() const override {
    Op op;
    op.f = f::read;
    op.key = names_.wanted;
    return op;
  }
  std::optional<Op> decide(const Op& seen) override {
    const int64_t now = seen.value.is_int() ? seen.value.as_int() : 0;
    if (now >= kWantedMax) return std::nullopt;
    Op op;
    op.f = f::write;
    op.key = names_.wanted;
    op.value = Value(now + 1);
    op.expected = guard_of(seen);
    return op;
  }
  Nanos think_max() const override { return kUserPause; }

 private:
  const Names names_;
};

class Create final : public Change {
 public:
  Create(Symbol key, bool guarded, std::shared_ptr<Numbers> objects)
      : names_(key), guarded_(guarded), objects_(std::move(objects)) {}
  void begin() override {}
  Op look() const override { return list_of_prefix(names_.prefix); }
  std::optional<Op> decide(const Op& seen) override {
    int64_t objects = 0;
    for (const auto& [name, listed] : listed_all(seen))
      objects += name.text().starts_with(names_.object_prefix());
    const Value wanted = listed_at(seen, names_.wanted).value;
    if (!wanted.is_int() || objects >= wanted.as_int()) return std::nullopt;
    return guarded_ ? in_one_transaction(listed_at(seen, names_.state).token) : created();
  }

 private:
  Symbol fresh() { return Symbol(names_.object_prefix() + std::to_string(objects_->next())); }
  Op created() {
    Op op;
    op.f = f::write;
    op.key = fresh();
    op.value = Value(1);
    op.expected = Token(int64_t{0});
    return op;
  }
  Op in_one_transaction(Token state) {
    const Symbol object = fresh();
    Op op;
    op.f = f::txn;
    op.value = Value::array({Value::array({Value("w"), Value(object), Value(1)}),
                             Value::array({Value("w"), Value(names_.state), Value(object)})});
    put_extra(op, "guards", Value::array({Value::pair(Value(names_.state), state.to_value())}));
    return op;
  }

  const Names names_;
  const bool guarded_;
  std::shared_ptr<Numbers> objects_;
};

class Controller final : public Workload {
 public:
  std::string_view name() const override { return "controller"; }
  std::string_view summary() const override {
    return "controllers read how many objects there should be, list them, create the difference";
  }
  std::vector<Symbol> ops() const override { return {f::list, f::read, f::write, f::txn}; }
  bool guarded() const override { return true; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"object-count", "revisions", "dirty-reads", "version-order", "one-history"});
  }
  Value header() const override {
    return Value::object(
        {{Symbol("thresholds"), Value::object({{Symbol("ok_per_f"), Value(3)},
                                                {Symbol("conflicts_percent"), Value(0)}})}});
  }
  std::vector<WorkloadOption> options() const override {
    auto options = intent_options();
    options.push_back({"creation", "guarded", "of objects: guarded by what was looked at, or plain"});
    return options;
  }

  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    SettingsReader settings(*this, options);
    const IntentOptions intent = read_intent_options(settings);
    const bool guarded = settings.one_of("creation", {"guarded", "plain"}) == "guarded";
    if (settings.mistake()) return *settings.mistake();
    const auto numbers = std::make_shared<Numbers>();
    const auto objects = std::make_shared<Numbers>();
    const auto make_key = [=](Symbol key, Rng rng) {
      const auto make_actor = [=](int place) {
        std::unique_ptr<Change> change;
        if (place == 0) change = std::make_unique<Wish>(key);
        else change = std::make_unique<Create>(key, guarded, objects);
        return intents(std::move(change), intent, numbers, rng.stream(std::to_string(place)));
      };
      return actors(make_actor, operations_of_key(options, rng));
    };
    return KeyedRun::start(*this, options, make_key, {.whole = true, .last_look = [](Symbol key) {
                                                        return list_of_prefix(Names(key).prefix);
                                                      }});
  }
};

}  // namespace

const Workload& controller_workload() {
  static const Controller workload;
  return workload;
}

}  // namespace assay
