// field-ownership: INV-009's two correct writers: objects whose fields each belong to one writer, who
// reads the whole object, changes its own field, and writes the whole object back, guarded by the
// revision that it read ("scale to five" against "add a label"). Every value of a field is written
// once per run.
#include <algorithm>
#include <array>

#include "workloads/intent_workload.h"
#include "workloads/registry.h"

namespace assay {
namespace {

constexpr std::array kFields = {"replicas", "labels", "image", "paused", "selector", "strategy"};

// The object with one member set.
Value with_member(const Value& object, Symbol field, Value value) {
  Value::Object members;
  if (object.is_object()) members = object.as_object();
  const auto at = std::find_if(members.begin(), members.end(),
                               [&](const auto& member) { return member.first == field; });
  if (at == members.end()) {
    members.emplace_back(field, std::move(value));
  } else {
    at->second = std::move(value);
  }
  return Value::object(std::move(members));
}

class SetField final : public Change {
 public:
  SetField(Symbol field, std::shared_ptr<Numbers> values)
      : field_(field), values_(std::move(values)) {}
  void begin() override { value_ = values_->next(); }
  std::optional<Op> decide(const Op& seen) override {
    Op write;
    write.f = f::write;
    write.value = with_member(seen.value, field_, Value(value_));
    write.expected = guard_of(seen);
    put_extra(write, "sets", Value(field_));
    return write;
  }

 private:
  const Symbol field_;
  std::shared_ptr<Numbers> values_;
  int64_t value_ = 0;
};

class FieldOwnership final : public IntentWorkload {
 public:
  std::string_view name() const override { return "field-ownership"; }
  std::string_view summary() const override {
    return "writers that own a field each read the object and write it back whole, guarded";
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write}; }
  std::vector<std::string> checkers() const override {
    return with_usual_checkers({"field-ownership", "update-chain", "conflicts", "reconcile",
                                "revisions", "dirty-reads", "version-order", "one-history", "linearizable"});
  }
  Value header() const override { return cas_register_header(); }

 protected:
  MakeChange changes() const override {
    return [values = std::make_shared<Numbers>()](Symbol, int writer, Rng) {
      return std::make_unique<SetField>(Symbol(kFields[writer]), values);
    };
  }
  int writers_max() const override { return static_cast<int>(kFields.size()); }
};

}  // namespace

const Workload& field_ownership_workload() {
  static const FieldOwnership workload;
  return workload;
}

}  // namespace assay
