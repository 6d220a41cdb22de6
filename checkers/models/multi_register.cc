// multi-register: registers that transactions read and write at one instant. An operation txn has
// an array of steps ["read", register, value] and ["write", register, value] ("r" and "w", as
// Jepsen has it, are these), done in that order; registers that no transaction connects are judged
// apart. `read` and `write` of one key are transactions of one step.
#include <algorithm>

#include "checkers/models/registry.h"

namespace assay {
namespace {

// By register, in ascending order of symbols; every register of the part is in it.
using Registers = std::vector<std::pair<Symbol, Value>>;

template <typename State>
auto* register_in(State& state, Symbol name) {
  for (auto& [key, value] : state) {
    if (key == name) return &value;
  }
  return static_cast<decltype(&state[0].second)>(nullptr);
}

Symbol register_name(const Value& step) {
  const Value& name = step.as_array()[1];
  return name.is_string() ? name.as_symbol() : Symbol(name.normalized().to_json());
}
// Jepsen has r and w.
bool is_step_of(const Value& step, std::string_view what) {
  const std::string_view word = step.as_array()[0].as_text();
  return word == what || word == what.substr(0, 1);
}
bool is_step(const Value& step) {
  if (!step.is_array() || step.as_array().size() != 3 || !step.as_array()[0].is_string()) {
    return false;
  }
  return is_step_of(step, "read") || is_step_of(step, "write");
}

// The same steps, with what the reads found.
bool answers(const Value& asked, const Value& done) {
  if (!asked.is_array() || !done.is_array()) return done.is_null();
  return std::equal(asked.as_array().begin(), asked.as_array().end(), done.as_array().begin(),
                    done.as_array().end(), [](const Value& ask, const Value& did) {
                      if (!is_step(ask) || !is_step(did)) return false;
                      return is_step_of(ask, "read") == is_step_of(did, "read") &&
                             register_name(ask) == register_name(did) &&
                             (is_step_of(ask, "read") || ask.as_array()[2] == did.as_array()[2]);
                    });
}

class MultiRegisterModel : public ModelOf<Registers> {
 public:
  std::string_view name() const override { return "multi-register"; }
  std::string_view summary() const override {
    return "registers that transactions read and write at one instant";
  }
  std::vector<ModelCall> calls() const override {
    return {{"txn", "[[\"read\", register, value], [\"write\", register, value], ...]"},
            {"read", "answers the value", CallEffect::kObserves},
            {"write", "a value"}};
  }
  std::string wrong(const Operation& operation) const override {
    return operation.f() == f::txn ? wrong_steps(operation.argument()) : "";
  }
  std::string wrong_answer(const Operation& operation) const override {
    const Value result = operation.result();
    if (operation.f() != f::txn || operation.type() != OpType::kOk || result.is_null()) return "";
    if (std::string wrong = wrong_steps(result); !wrong.empty()) return wrong;
    if (answers(operation.argument(), result)) return "";
    return "needs an answer to the steps that were asked for, " + operation.argument().to_json() +
           ", found " + operation.result().to_json();
  }
  std::vector<Symbol> touches(const Operation& operation) const override {
    if (operation.f() != f::txn) return {operation.key()};
    std::vector<Symbol> names;
    const Value steps = steps_of(operation);
    for (const Value& step : steps.as_array()) names.push_back(register_name(step));
    if (names.empty()) names.emplace_back();
    return names;
  }
  // As a transaction whose argument is its steps, reads with what they found; of one whose outcome
  // is unknown only the writes are left.
  CallRole role(const HistoryHeader& header, const Operation&, ModelOp& op) const override {
    const bool ok = op.type == OpType::kOk;
    if (op.type == OpType::kFail) return CallRole::kLeftOut;
    Value::Array steps;
    const Value all = as_steps(op);
    for (const Value& step : all.as_array()) {
      const bool silent = !ok || (step.as_array()[2].is_null() && !header.null_read_is_value);
      if (is_step_of(step, "write") || !silent) steps.push_back(step);
    }
    op = {.f = f::txn, .key = Symbol(), .argument = Value::array(std::move(steps))};
    if (op.argument.as_array().empty()) return CallRole::kLeftOut;
    if (ok) return CallRole::kMust;
    return effect(op) == CallEffect::kObserves ? CallRole::kLeftOut : CallRole::kMay;
  }
  CallEffect effect(const ModelOp& op) const override {
    return any(op, "write") ? CallEffect::kChanges : CallEffect::kObserves;
  }
  bool tells(const ModelOp& op) const override { return any(op, "read"); }
  // Nothing is read, and everything that the earlier one writes is written again.
  bool hides(const ModelOp& later, const ModelOp& earlier) const override {
    if (any(later, "read") || any(earlier, "read")) return false;
    const auto& steps = earlier.argument.as_array();
    return std::all_of(steps.begin(), steps.end(),
                       [&](const Value& step) { return mentions(later, register_name(step)); });
  }
  bool shows(const ModelOp& later, const ModelOp& change) const override {
    for (const Value& step : later.argument.as_array()) {
      if (!is_step_of(step, "read")) continue;
      for (const Value& made : change.argument.as_array()) {
        if (register_name(made) == register_name(step) &&
            made.as_array()[2] == step.as_array()[2]) {
          return true;
        }
      }
    }
    return false;
  }
  std::string did(const Operation& operation) const override {
    std::string text;
    ModelOp op{operation.f(), operation.key(), operation.argument(), operation.result(),
               operation.type()};
    const Value steps = as_steps(op);
    for (const Value& step : steps.as_array()) {
      const bool read = is_step_of(step, "read");
      text += (text.empty() ? "" : " and ") + std::string(read ? "read " : "wrote ") +
              std::string(register_name(step).text());
      if (!read || op.type == OpType::kOk) text += " = " + step.as_array()[2].to_json();
    }
    return text.empty() ? "did nothing" : text;
  }
  std::string anomaly(const Operation&) const override {
    return "values of registers that no order explains";
  }

  Registers initial(const ModelPart& part) const override {
    Registers state;
    for (size_t i = 0; i < part.names.size(); ++i) {
      state.emplace_back(part.names[i], part.initial_of[i]);
    }
    std::sort(state.begin(), state.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return state;
  }
  std::optional<Registers> step(const Registers& state, const ModelOp& op) const override {
    Registers next = state;
    for (const Value& step : op.argument.as_array()) {
      Value* value = register_in(next, register_name(step));
      if (is_step_of(step, "write")) {
        *value = step.as_array()[2];
      } else if (*value != step.as_array()[2]) {
        return std::nullopt;
      }
    }
    return next;
  }
  std::string describe(const Registers& state) const override {
    std::vector<std::string> items;
    for (const auto& [name, value] : state) {
      items.push_back(std::string(name.text()) + " = " + value.to_json());
    }
    std::sort(items.begin(), items.end());
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
    return text;
  }

 private:
  static std::string wrong_steps(const Value& steps) {
    const bool fine = steps.is_array() && !steps.as_array().empty() &&
                      std::all_of(steps.as_array().begin(), steps.as_array().end(), is_step);
    if (fine) return "";
    return "needs [[\"read\" or \"write\", register, value], ...], found " + steps.to_json();
  }
  // The answer's steps hold what was read.
  static Value steps_of(const Operation& operation) {
    const Value result = operation.type() == OpType::kOk ? operation.result() : Value();
    return result.is_null() ? operation.argument() : result;
  }
  static Value as_steps(const ModelOp& op) {
    const bool ok = op.type == OpType::kOk;
    if (op.f == f::txn) return ok && !op.result.is_null() ? op.result : op.argument;
    const bool read = op.f == f::read;
    const Value what = read ? (ok ? op.result : Value()) : op.argument;
    return Value::array({Value::array({Value(op.f), Value(op.key), what})});
  }
  static bool any(const ModelOp& op, std::string_view what) {
    const auto& steps = op.argument.as_array();
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Value& step) { return is_step_of(step, what); });
  }
  static bool mentions(const ModelOp& op, Symbol name) {
    const auto& steps = op.argument.as_array();
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Value& step) { return register_name(step) == name; });
  }
};

}  // namespace

const Model& multi_register_model() {
  static const MultiRegisterModel model;
  return model;
}

}  // namespace assay
