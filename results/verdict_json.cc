#include "results/verdict_json.h"

#include <algorithm>
#include <array>
#include <set>

#include "checkers/history/json_text.h"
#include "results/schema.h"

namespace assay {
namespace {

constexpr std::array kSafeties = {Safety::kValid, Safety::kVacuous, Safety::kUnknown,
                                  Safety::kInvalid};
constexpr std::array kProgresses = {Progress::kNotDue, Progress::kOk, Progress::kUnknown,
                                    Progress::kBlocked};

template <typename T, size_t N>
T named(const std::array<T, N>& all, std::string_view word) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](T value) { return to_string(value) == word; });
  ASSAY_CHECK(found != all.end(), "the schema let the word %.*s pass",
              static_cast<int>(word.size()), word.data());
  return *found;
}

Value counts_value(const Verdict& verdict) {
  Value::Object members;
  std::set<std::string> names;
  for (const auto& [name, count] : verdict.counts) {
    std::string unique = name;
    for (int n = 2; !names.insert(unique).second; ++n) {
      unique = name + " (" + std::to_string(n) + ")";
    }
    members.emplace_back(Symbol(unique), count);
  }
  return Value::object(std::move(members));
}

Value texts_value(const std::vector<std::string>& lines) {
  return Value::array({lines.begin(), lines.end()});
}

Value facts_value(const Verdict& verdict) {
  Value::Array facts;
  for (const auto& [name, text] : verdict.facts) facts.push_back(Value::pair(name, text));
  return Value::array(std::move(facts));
}

Value order_value(const LastOrder& order) {
  Value::Array steps;
  for (const OrderStep& step : order.steps) {
    steps.push_back(Value::pair(static_cast<int64_t>(step.operation), step.state));
  }
  Value::Object members = {{Symbol("before"), static_cast<int64_t>(order.before)},
                           {Symbol("start"), order.start},
                           {Symbol("steps"), Value::array(std::move(steps))}};
  if (order.breaks) members.emplace_back(Symbol("breaks"), static_cast<int64_t>(*order.breaks));
  if (!order.of.empty()) members.emplace_back(Symbol("of"), order.of);
  return Value::object(std::move(members));
}

Value witness_value(const Witness& witness, const History* history) {
  Value::Array operations;
  Value::Array indexes;
  for (size_t id : witness.operations) {
    operations.emplace_back(static_cast<int64_t>(id));
    if (history == nullptr || id >= history->size()) continue;
    const Operation operation = (*history)[id];
    indexes.push_back(Value::pair(operation.invoke_index(), operation.return_index()));
  }
  Value::Object members = {{Symbol("operations"), Value::array(std::move(operations))},
                           {Symbol("text"), texts_value(witness.lines)}};
  if (history != nullptr) {
    members.emplace_back(Symbol("indexes"), Value::array(std::move(indexes)));
  }
  if (witness.order) members.emplace_back(Symbol("last_order"), order_value(*witness.order));
  return Value::object(std::move(members));
}

Value tree_value(const Verdict& verdict, const std::string& path, const History* history,
                 Value::Object members) {
  const auto put = [&](const char* name, Value value) {
    members.emplace_back(Symbol(name), std::move(value));
  };
  put("path", path);
  put("name", verdict.name);
  put("word", to_string(verdict.word()));
  put("safety", to_string(verdict.safety));
  put("progress", to_string(verdict.progress));
  put("reason", verdict.reason);
  put("counts", counts_value(verdict));
  put("facts", facts_value(verdict));
  if (verdict.witness) put("witness", witness_value(*verdict.witness, history));
  Value::Array children;
  for (const Verdict& child : verdict.children) {
    // Paths are as Verdict::find takes them: from the root's children on.
    const std::string child_path = path == "" ? child.name : path + "/" + child.name;
    children.push_back(tree_value(child, child_path, history, {}));
  }
  put("children", Value::array(std::move(children)));
  return Value::object(std::move(members));
}

std::vector<std::string> texts(const Value& array) {
  std::vector<std::string> lines;
  for (const Value& line : array.as_array()) lines.emplace_back(line.as_text());
  return lines;
}

LastOrder order_from(const Value& value) {
  LastOrder order;
  order.before = static_cast<size_t>(value["before"].as_int());
  order.start = value["start"].as_text();
  for (const Value& step : value["steps"].as_array()) {
    order.steps.push_back({static_cast<size_t>(step.as_array()[0].as_int()),
                           std::string(step.as_array()[1].as_text())});
  }
  if (!value["breaks"].is_null()) order.breaks = static_cast<size_t>(value["breaks"].as_int());
  if (!value["of"].is_null()) order.of = value["of"].as_text();
  return order;
}

Witness witness_from(const Value& value) {
  Witness witness;
  for (const Value& id : value["operations"].as_array()) {
    witness.operations.push_back(static_cast<size_t>(id.as_int()));
  }
  witness.lines = texts(value["text"]);
  if (!value["last_order"].is_null()) witness.order = order_from(value["last_order"]);
  return witness;
}

Verdict tree_from(const Value& value) {  // of the schema's form
  Verdict verdict;
  verdict.name = value["name"].as_text();
  verdict.safety = named(kSafeties, value["safety"].as_text());
  verdict.progress = named(kProgresses, value["progress"].as_text());
  verdict.reason = value["reason"].as_text();
  for (const auto& [name, count] : value["counts"].as_object()) {
    verdict.counts.emplace_back(name.text(), count.as_int());
  }
  for (const Value& fact : value["facts"].as_array()) {
    verdict.facts.emplace_back(fact.as_array()[0].as_text(), fact.as_array()[1].as_text());
  }
  if (!value["witness"].is_null()) verdict.witness = witness_from(value["witness"]);
  for (const Value& child : value["children"].as_array()) {
    verdict.children.push_back(tree_from(child));
  }
  return verdict;
}

}  // namespace

std::string verdict_to_json(const Verdict& verdict, const History* history) {
  return pretty_json(tree_value(verdict, "", history,
                                {{Symbol("format"), "assay-verdict"}, {Symbol("version"), 1}}));
}

Result<Verdict> verdict_from_json(std::string_view text, const std::string& name) {
  Result<Value> value = parse_json(text, name);
  if (!value) return value.error();
  if (Result<void> valid = validate_form(*value, "verdict", text, name); !valid)
    return valid.error();
  return tree_from(*value);
}

}  // namespace assay
