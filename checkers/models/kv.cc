// kv: each key holds a value; what is appended to it makes a longer text. Keys are judged apart.
#include "checkers/models/registry.h"

namespace assay {
namespace {

// 't' and the text, or 'j' and the JSON of any other value. Texts that grow are not interned.
using KvState = std::string;

KvState kv_state(const Value& value) {
  return value.is_string() ? "t" + std::string(value.as_text()) : "j" + value.normalized().to_json();
}
constexpr std::string_view kKvNull = "jnull";
// What an append extends: nothing of null, the digits of a number.
std::string_view kv_text(std::string_view state) {
  return state == kKvNull ? std::string_view() : state.substr(1);
}

class KvModel : public ModelOf<KvState> {
 public:
  std::string_view name() const override { return "kv"; }
  std::string_view summary() const override { return "one value a key, to which text is appended"; }
  std::vector<ModelCall> calls() const override {
    return {{"get", "answers the value", CallEffect::kObserves},
            {"put", "a value", CallEffect::kResets},
            {"append", "a text"},
            {"delete", "makes it null", CallEffect::kResets}};
  }
  std::string wrong(const Operation& operation) const override {
    if (operation.f() != f::append || operation.argument().is_string()) return "";
    return "needs a text, found " + operation.argument().to_json();
  }
  // Text can be appended to it.
  std::string wrong_initial(const Value& initial) const override {
    if (initial.is_scalar()) return "";
    return "begins with a text, a number, true, false or null, found " + initial.to_json();
  }
  CallRole role(const HistoryHeader& header, const Operation& operation,
            ModelOp& op) const override {
    const bool get = op.f.text() == "get";
    if (get && op.result.is_null() && !header.null_read_is_value) return CallRole::kLeftOut;
    const CallRole role = Model::role(header, operation, op);
    if (op.f == f::delete_) op.f = put_, op.argument = Value();
    if (!get) op.result = Value(), op.type = OpType::kOk;
    return role;
  }
  bool hides(const ModelOp& later, const ModelOp& earlier) const override {
    return later.f == put_ && earlier.f.text() != "get";
  }
  bool resets_overwrite() const override { return true; }
  bool shows(const ModelOp& later, const ModelOp& change) const override {
    if (later.f.text() != "get") return false;
    if (change.f == put_ && (change.argument.is_null() || change.argument == later.result)) {
      return true;
    }
    if (!later.result.is_string()) return false;
    const KvState made = kv_state(change.argument);
    const std::string_view text = later.result.as_text();
    return change.f == put_ ? text.starts_with(kv_text(made)) : text.find(kv_text(made)) < text.npos;
  }
  std::string did(const Operation& operation) const override {
    const std::string f(operation.f().text());
    if (f == "get") return "got " + operation.result().to_json();
    if (f == "delete") return "deleted it";
    return (f == "append" ? "appended " : "put ") + operation.argument().to_json();
  }
  std::string anomaly(const Operation& last) const override {
    return last.f().text() == "get" ? "get of a value that no order explains"
                                    : Model::anomaly(last);
  }

  KvState initial(const ModelPart& part) const override { return kv_state(part.initial); }
  std::optional<KvState> step(const KvState& state, const ModelOp& op) const override {
    if (op.f == put_) return kv_state(op.argument);
    if (op.f == f::append) {
      return "t" + std::string(kv_text(state)) + std::string(op.argument.as_text());
    }
    return holds(state, op.result) ? std::optional(state) : std::nullopt;
  }
  // Appends only make it longer.
  bool lost(const KvState& state, const ModelOp& get) const override {
    if (holds(state, get.result)) return false;
    return !get.result.is_string() || !get.result.as_text().starts_with(kv_text(state));
  }
  std::string describe(const KvState& state) const override {
    std::string text;
    if (state[0] != 't') return state.substr(1);
    append_json_string(text, kv_text(state));
    return text;
  }

 private:
  static bool holds(const KvState& state, const Value& value) {
    if (value.is_string()) return state[0] == 't' && kv_text(state) == value.as_text();
    return state[0] == 'j' && kv_state(value) == state;
  }
  const Symbol put_{"put"};
};

}  // namespace

const Model& kv_model() {
  static const KvModel model;
  return model;
}

}  // namespace assay
