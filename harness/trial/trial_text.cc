// How a trial is told: a completion, a step, the whole of it.
#include <algorithm>

#include "harness/trial/steps.h"

namespace assay {
namespace trial {

std::string words(const Op& op) {
  std::string text(to_string(op.type));
  if (op.type == OpType::kOk) {
    if (op.f == f::read) text += " " + op.value.to_json();
  } else if (op.error) {
    text += " (" + std::string(op.error->cls.text()) +
            (op.error->text.empty() ? "" : ": " + op.error->text) + ")";
  }
  return text;
}

}  // namespace trial

namespace {

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

}  // namespace

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::kFine:
      return "fine";
    case Grade::kWeak:
      return "weak";
    case Grade::kWrong:
      return "wrong";
    case Grade::kNotTried:
      return "not tried";
  }
  return "";
}

bool TrialResult::conforms() const {
  return std::none_of(steps.begin(), steps.end(), [](const TrialStep& step) {
    return step.grade == Grade::kWeak || step.grade == Grade::kWrong;
  });
}

std::string trial_text(const TrialResult& result) {
  std::string text;
  for (const TrialStep& step : result.steps) {
    text += padded(std::string(to_string(step.grade)), 11) + step.name + "\n";
    text += std::string(11, ' ') + step.seen + "\n";
    if (!step.mend.empty()) text += std::string(11, ' ') + "mend: " + step.mend + "\n";
  }
  if (!result.errors.empty()) {
    text += "\nerrors as seen (?: nobody named this one, so its class is a guess)\n";
    for (const ObservedError& row : result.errors) {
      const Op& op = row.completion;
      text += padded(row.guess ? "  ?" : "", 4) + padded(std::string(to_string(op.type)), 5) +
              padded(op.error ? std::string(op.error->cls.text()) : "-", 14) +
              padded(std::string(op.f.text()), 7) + row.situation +
              (op.error && !op.error->text.empty() ? ": " + op.error->text : "") + "\n";
    }
  }
  return text;
}

Value trial_json(const TrialResult& result) {
  Value::Array steps, errors;
  for (const TrialStep& step : result.steps) {
    steps.push_back(Value::object({{Symbol("step"), Value(step.name)},
                                   {Symbol("grade"), Value(to_string(step.grade))},
                                   {Symbol("seen"), Value(step.seen)},
                                   {Symbol("mend"), Value(step.mend)}}));
  }
  for (const ObservedError& row : result.errors) {
    const Op& op = row.completion;
    errors.push_back(Value::object({{Symbol("situation"), Value(row.situation)},
                                    {Symbol("f"), Value(op.f)},
                                    {Symbol("type"), Value(to_string(op.type))},
                                    {Symbol("class"), op.error ? Value(op.error->cls) : Value()},
                                    {Symbol("text"), op.error ? Value(op.error->text) : Value()},
                                    {Symbol("guess"), Value(row.guess)}}));
  }
  return Value::object({{Symbol("conforms"), Value(result.conforms())},
                        {Symbol("steps"), Value::array(std::move(steps))},
                        {Symbol("errors"), Value::array(std::move(errors))}});
}

}  // namespace assay
