// set: sets of elements that are added once and never removed: an element is a key of its own under the
// set's prefix, created on condition that it is absent; looking is one list of the prefix. Whatever was
// acknowledged must be in every later look: the plainest question that there is about durability.
#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

class AddElements final : public Actor {
 public:
  AddElements(std::string prefix, std::shared_ptr<Numbers> elements)
      : prefix_(std::move(prefix)), elements_(std::move(elements)) {}
  Turn turn(Nanos now) override {
    const int64_t element = elements_->next();
    Op op;
    op.f = f::write;
    op.key = Symbol(prefix_ + std::to_string(element));
    op.value = Value(element);
    op.expected = Token(int64_t{0});
    return {std::move(op), now};
  }
  void done(const Op&, Nanos) override {}

 private:
  const std::string prefix_;
  std::shared_ptr<Numbers> elements_;
};

std::string prefix_of(Symbol key) { return std::string(key.text()) + "/"; }

class Set final : public Workload {
 public:
  std::string_view name() const override { return "set"; }
  std::string_view summary() const override {
    return "add elements, each a key of its own; list them";
  }
  std::vector<Symbol> ops() const override { return {f::list, f::write}; }
  bool guarded() const override { return true; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"durable", "revisions", "dirty-reads", "version-order", "one-history"});
  }
  Value header() const override { return set_header(); }
  Result<std::unique_ptr<WorkloadRun>> start(const WorkloadOptions& options) const override {
    const auto elements = std::make_shared<Numbers>();
    const int readers = readers_of_group(options.group_size);
    const auto make_key = [=](Symbol key, Rng rng) {
      const auto make_actor = [=](int place) -> std::unique_ptr<Actor> {
        if (place < readers) return reader(list_of_prefix(prefix_of(key)));
        return std::make_unique<AddElements>(prefix_of(key), elements);
      };
      return actors(make_actor, operations_of_key(options, rng));
    };
    return KeyedRun::start(
        *this, options, make_key,
        {.whole = true, .last_look = [](Symbol key) { return list_of_prefix(prefix_of(key)); }});
  }

 private:
  // Elements are created once: nobody competes for one, so conflicts are not asked for.
  static Value set_header() {
    return Value::object(
        {{Symbol("thresholds"), Value::object({{Symbol("conflicts_percent"), Value(0)}})}});
  }
};

}  // namespace

const Workload& set_workload() {
  static const Set workload;
  return workload;
}

}  // namespace assay
