// set: elements are added and removed, and a read answers all of them, in any order.
#include <algorithm>

#include "checkers/models/registry.h"

namespace assay {
namespace {

// Elements as symbols of their JSON, in ascending order: any order that is the same in all states.
using SetState = std::vector<Symbol>;

Value element(const Value& value) { return Value(Symbol(value.normalized().to_json())); }

// The elements of an array as symbols, in order.
Value elements(const Value& value) {
  Value::Array items;
  if (value.is_array()) {
    for (const Value& item : value.as_array()) items.push_back(element(item));
  }
  std::sort(items.begin(), items.end(),
            [](const Value& a, const Value& b) { return a.as_symbol() < b.as_symbol(); });
  return Value::array(std::move(items));
}

class SetModel : public ModelOf<SetState> {
 public:
  std::string_view name() const override { return "set"; }
  std::string_view summary() const override { return "elements that are added, removed and read"; }
  std::vector<ModelCall> calls() const override {
    return {{"add", "an element"},
            {"remove", "an element", CallEffect::kResets},
            {"read", "answers [element, ...]", CallEffect::kObserves}};
  }
  std::string wrong_answer(const Operation& operation) const override {
    if (operation.f() != f::read || operation.type() != OpType::kOk) return "";
    const Value result = operation.result();
    if (result.is_array() || result.is_null()) return "";
    return "needs an array of elements as its answer, found " + result.to_json();
  }
  std::string wrong_initial(const Value& initial) const override {
    if (initial.is_array() || initial.is_null()) return "";
    return "begins with an array of elements, or null, found " + initial.to_json();
  }
  CallRole role(const HistoryHeader& header, const Operation& operation,
            ModelOp& op) const override {
    const bool read = op.f == f::read;
    if (read && op.result.is_null() && !header.null_read_is_value) return CallRole::kLeftOut;
    const CallRole role = Model::role(header, operation, op);
    op.type = OpType::kOk;
    op.argument = read ? Value() : element(op.argument);
    op.result = read ? elements(op.result) : Value();
    return role;
  }
  bool hides(const ModelOp& later, const ModelOp& earlier) const override {
    return later.f != f::read && earlier.f != f::read && later.argument == earlier.argument;
  }
  bool shows(const ModelOp& later, const ModelOp& change) const override {
    return later.f == f::read && contains(later.result, change.argument) == (change.f == f::add);
  }
  std::string did(const Operation& operation) const override {
    if (operation.f() == f::read) return "read " + operation.result().to_json();
    return (operation.f() == f::add ? "added " : "removed ") + operation.argument().to_json();
  }
  std::string anomaly(const Operation& last) const override {
    return last.f() == f::read ? "read of elements that no order explains" : Model::anomaly(last);
  }

  SetState initial(const ModelPart& part) const override {
    SetState state;
    const Value items = elements(part.initial);
    for (const Value& item : items.as_array()) state.push_back(item.as_symbol());
    state.erase(std::unique(state.begin(), state.end()), state.end());
    return state;
  }
  std::optional<SetState> step(const SetState& state, const ModelOp& op) const override {
    if (op.f == f::read) return same(state, op.result) ? std::optional(state) : std::nullopt;
    SetState next = state;
    const Symbol item = op.argument.as_symbol();
    const auto at = std::lower_bound(next.begin(), next.end(), item);
    const bool there = at != next.end() && *at == item;
    if (op.f == f::add && !there) next.insert(at, item);
    if (op.f != f::add && there) next.erase(at);
    return next;
  }
  // Adding only makes it larger.
  bool lost(const SetState& state, const ModelOp& read) const override {
    return state.size() > read.result.as_array().size() ||
           !std::all_of(state.begin(), state.end(),
                        [&](Symbol item) { return contains(read.result, Value(item)); });
  }
  std::string describe(const SetState& state) const override {
    std::vector<std::string> items;
    for (Symbol item : state) items.emplace_back(item.text());
    std::sort(items.begin(), items.end());
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return "[" + text + "]";
  }

 private:
  static bool contains(const Value& sorted, const Value& item) {
    const Value::Array& items = sorted.as_array();
    return std::binary_search(items.begin(), items.end(), item, [](const Value& a, const Value& b) {
      return a.as_symbol() < b.as_symbol();
    });
  }
  static bool same(const SetState& state, const Value& answer) {
    const Value::Array& items = answer.as_array();
    return std::equal(state.begin(), state.end(), items.begin(), items.end(),
                      [](Symbol a, const Value& b) { return a == b.as_symbol(); });
  }
};

}  // namespace

const Model& set_model() {
  static const SetModel model;
  return model;
}

}  // namespace assay
