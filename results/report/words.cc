#include "results/report/words.h"

#include "results/report/markup.h"

namespace assay::report {

std::string value_text(const Value& value, size_t max) {
  const bool bare = value.is_string() && !value.as_text().empty();
  return shortened(bare ? std::string(value.as_text()) : value.to_json(), max);
}

std::string operation_text(const Operation& operation, size_t value_max) {
  const std::string_view f = operation.f().text();
  std::string out(f);
  const Value argument = operation.argument();
  const bool ok = operation.type() == OpType::kOk;
  if (f == "cas" && argument.is_array() && argument.as_array().size() == 2) {
    return out + " " + value_text(argument.as_array()[0], value_max) + " → " +
           value_text(argument.as_array()[1], value_max);
  }
  if (!argument.is_null()) out += " " + value_text(argument, value_max);
  // A completion that repeats its argument (a write) says nothing new.
  const Value result = operation.result();
  if (ok && (f == "read" || (!result.is_null() && !(result == argument)))) {
    out += " → " + value_text(result, value_max);
  }
  return out;
}

std::string outcome_text(const Operation& operation) {
  std::string out(to_string(operation.type()));
  if (operation.return_position() == kOpen) return out + " (never returned)";
  if (!operation.error_class().empty()) {
    out += " (" + std::string(operation.error_class().text()) + ")";
  }
  return out;
}

bool is_open(const Operation& operation) { return operation.type() == OpType::kInfo; }

bool has_times(const History& history) {
  if (history.size() == 0) return true;
  return history[0].invoke_time() >= Nanos{0} && history.end_time() >= milliseconds(1);
}

std::string point_text(Nanos time, int decimals) {
  return fixed(to_seconds(time), decimals) + " s";
}

}  // namespace assay::report
