#include "checkers/model.h"

#include <algorithm>

namespace assay {

std::vector<Symbol> Model::touches(const Operation& operation) const { return {operation.key()}; }

CallRole Model::role(const HistoryHeader&, const Operation&, ModelOp& op) const {
  if (op.type == OpType::kOk) return CallRole::kMust;
  if (op.type == OpType::kFail || effect(op) == CallEffect::kObserves) return CallRole::kLeftOut;
  return CallRole::kMay;
}

CallEffect Model::effect(const ModelOp& op) const {
  for (const ModelCall& call : calls()) {
    if (call.f == op.f.text()) return call.effect;
  }
  return CallEffect::kChanges;
}

bool Model::tells(const ModelOp& op) const {
  if (effect(op) == CallEffect::kObserves) return true;
  const std::vector<ModelCall> all = calls();
  return std::none_of(all.begin(), all.end(),
                      [](const ModelCall& call) { return call.effect == CallEffect::kObserves; });
}

std::string Model::did(const Operation& operation) const {
  std::string text = "did " + std::string(operation.f().text());
  const Value argument = operation.argument();
  if (!argument.is_null()) text += " " + argument.to_json();
  if (operation.type() != OpType::kOk || operation.result() == argument) return text;
  return text + " and was answered " + operation.result().to_json();
}

std::string Model::anomaly(const Operation& last) const {
  return std::string(last.f().text()) + " that no order explains";
}

}  // namespace assay
