// register and cas-register, by the interface that every model has.
#include "checkers/models/registry.h"

namespace assay {
namespace {

class RegisterModel : public ModelOf<Value> {
 public:
  explicit RegisterModel(bool cas) : cas_(cas) {}

  std::string_view name() const override { return cas_ ? "cas-register" : "register"; }
  std::string_view summary() const override {
    return cas_ ? "one value a key, with compare-and-set" : "one value a key";
  }
  std::vector<ModelCall> calls() const override {
    std::vector<ModelCall> calls = {{"read", "answers the value", CallEffect::kObserves},
                                    {"write", "a value", CallEffect::kResets},
                                    {"delete", "makes it null", CallEffect::kResets}};
    if (cas_) calls.push_back({"cas", "[from, to]", CallEffect::kResets});
    return calls;
  }
  std::string wrong(const Operation& operation) const override {
    Scalar from, to;
    if (operation.f() != f::cas || operation.argument_pair(from, to)) return "";
    return "needs [expected, new], found " + operation.argument().to_json();
  }
  CallRole role(const HistoryHeader& header, const Operation& operation,
            ModelOp& op) const override {
    if (op.f == f::cas && op.type == OpType::kFail) {
      return header.failed_cas_observes && compared(operation) ? CallRole::kMust : CallRole::kLeftOut;
    }
    const bool silent = op.result.is_null() && !header.null_read_is_value;
    if (op.f == f::read && silent) return CallRole::kLeftOut;
    const CallRole role = Model::role(header, operation, op);
    if (op.f == f::delete_) op.f = f::write, op.argument = Value();
    if (op.f != f::read) op.result = Value(), op.type = OpType::kOk;
    return role;
  }
  CallEffect effect(const ModelOp& op) const override {
    const bool failed = op.type == OpType::kFail;
    return op.f == f::read || failed ? CallEffect::kObserves : CallEffect::kResets;
  }
  bool tells(const ModelOp& op) const override { return op.f != f::write; }
  bool hides(const ModelOp& later, const ModelOp& earlier) const override {
    return later.f == f::write && earlier.f == f::write;
  }
  bool shows(const ModelOp& later, const ModelOp& change) const override {
    const Value made = change.f == f::cas ? change.argument.as_array()[1] : change.argument;
    if (later.f == f::read) return later.result == made;
    if (later.f != f::cas) return false;
    const bool equal = later.argument.as_array()[0] == made;
    return later.type == OpType::kFail ? !equal : equal;
  }

  Value initial(const ModelPart& part) const override { return part.initial; }
  std::optional<Value> step(const Value& state, const ModelOp& op) const override {
    if (op.f == f::write) return op.argument;
    if (op.f == f::read) return fits(op.result == state, state);
    const bool equal = op.argument.as_array()[0] == state;
    if (op.type == OpType::kFail) return fits(!equal, state);
    return fits(equal, op.argument.as_array()[1]);
  }
  std::string describe(const Value& state) const override { return state.to_json(); }

 private:
  // Whether a failed cas is known to have found another value: not where it compared a token, nor
  // where the error is of another kind.
  static bool compared(const Operation& operation) {
    const std::string_view cls = operation.error_class().text();
    return operation.expected().none() && (cls.empty() || cls == "conflict" || cls == "mismatch");
  }
  static std::optional<Value> fits(bool fit, const Value& next) {
    return fit ? std::optional(next) : std::nullopt;
  }
  bool cas_;
};

}  // namespace

const Model& register_model() {
  static const RegisterModel model(false);
  return model;
}
const Model& cas_register_model() {
  static const RegisterModel model(true);
  return model;
}

}  // namespace assay
