// mutex: a lock that one may hold at a time. Who holds it is not judged: a release by another
// process than the last to acquire is legal, as it is where leases run out.
#include "checkers/models/registry.h"

namespace assay {
namespace {

class MutexModel : public ModelOf<bool> {
 public:
  std::string_view name() const override { return "mutex"; }
  std::string_view summary() const override { return "a lock that one may hold at a time"; }
  std::vector<ModelCall> calls() const override {
    return {{"acquire", "succeeds when it is free"}, {"release", "succeeds when it is held"}};
  }
  std::string wrong_initial(const Value& initial) const override {
    for (const Value& known : {Value(), Value(false), Value("free"), Value(true), Value("held")}) {
      if (initial == known) return "";
    }
    return "begins with \"free\" (or null, false) or \"held\" (or true), found " +
           initial.to_json();
  }
  CallRole role(const HistoryHeader& header, const Operation& operation,
            ModelOp& op) const override {
    const CallRole role = Model::role(header, operation, op);
    op.argument = op.result = Value();  // say nothing; the fewer differ, the better
    op.type = OpType::kOk;
    return role;
  }
  std::string did(const Operation& operation) const override {
    return operation.f().text() == "acquire" ? "acquired the lock" : "released the lock";
  }
  std::string anomaly(const Operation& last) const override {
    return last.f().text() == "acquire" ? "lock acquired while it was held"
                                        : "lock released while it was free";
  }

  // free: null, false or "free".
  bool initial(const ModelPart& part) const override {
    return !(part.initial.is_null() || part.initial == Value(false) ||
             part.initial == Value("free"));
  }
  std::optional<bool> step(const bool& held, const ModelOp& op) const override {
    const bool acquires = op.f.text() == "acquire";
    return acquires == held ? std::nullopt : std::optional(acquires);
  }
  std::string describe(const bool& held) const override { return held ? "held" : "free"; }
};

}  // namespace

const Model& mutex_model() {
  static const MutexModel model;
  return model;
}

}  // namespace assay
