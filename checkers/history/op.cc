#include "checkers/history/op.h"

#include <utility>

namespace assay {

std::string_view to_string(OpType type) {
  switch (type) {
    case OpType::kInvoke:
      return "invoke";
    case OpType::kOk:
      return "ok";
    case OpType::kFail:
      return "fail";
    case OpType::kInfo:
      return "info";
  }
  return "?";
}

Value Token::to_value() const {
  if (none()) return {};
  return is_number() ? Value(number()) : Value(text());
}

Op complete(const Op& invocation, OpType type) {
  Op op;
  op.process = invocation.process;
  op.type = type;
  op.f = invocation.f;
  op.key = invocation.key;
  op.value = invocation.value;
  op.node = invocation.node;
  return op;
}

Op complete(const Op& invocation, OpType type, OpError error) {
  Op op = complete(invocation, type);
  op.error = std::move(error);
  return op;
}

}  // namespace assay
