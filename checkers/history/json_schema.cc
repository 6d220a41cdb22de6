#include "checkers/history/json_schema.h"

#include <algorithm>

#include "checkers/history/json_text.h"

namespace assay {
namespace {

std::string_view type_of(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_int()) return "integer";
  if (value.is_double()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

std::string shown(const Value& value) {
  constexpr size_t kShownMax = 60;
  std::string json = value.to_json();
  if (json.size() <= kShownMax) return json;
  return "an " + std::string(type_of(value)) + " of " + std::to_string(json.size()) + " bytes";
}

std::string joined(const Value::Array& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " or " : ", ";
    out += items[i].is_string() ? std::string(items[i].as_text()) : items[i].to_json();
  }
  return out;
}

const Value* member(const Value& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  for (const auto& [key, value] : object.as_object()) {
    if (key.text() == name) return &value;
  }
  return nullptr;
}

class Validator {
 public:
  explicit Validator(const Value& root) : root_(root) {}

  std::optional<Violation> check(const Value& schema, const Value& document) {
    for (const auto& [keyword, rule] : schema.as_object()) {
      if (auto violation = apply(keyword.text(), rule, schema, document)) return violation;
    }
    return std::nullopt;
  }

 private:
  using Found = std::optional<Violation>;

  Found apply(std::string_view keyword, const Value& rule, const Value& schema,
              const Value& document) {
    if (keyword == "type") return check_type(rule, document);
    if (keyword == "const") return check_one_of({rule}, document);
    if (keyword == "enum") return check_one_of(rule.as_array(), document);
    if (keyword == "required") return check_required(rule, document);
    if (keyword == "properties") return check_properties(rule, document);
    if (keyword == "additionalProperties") return check_additional(rule, schema, document);
    if (keyword == "items") return check_items(rule, document);
    if (keyword == "minItems" || keyword == "maxItems") return check_size(keyword, rule, document);
    if (keyword == "minimum" || keyword == "maximum") return check_bound(keyword, rule, document);
    if (keyword == "anyOf") return check_any(rule, document);
    if (keyword == "$ref") return check(resolve(rule.as_text()), document);
    constexpr std::string_view kNotes[] = {"$schema", "$id", "$defs", "title", "description"};
    ASSAY_CHECK(std::find(std::begin(kNotes), std::end(kNotes), keyword) != std::end(kNotes),
                "the validator does not know the keyword %.*s", static_cast<int>(keyword.size()),
                keyword.data());
    return std::nullopt;
  }

  Found wrong(std::string message) const { return Violation{path_, false, std::move(message)}; }

  Found check_type(const Value& rule, const Value& document) const {
    const Value::Array types = rule.is_array() ? rule.as_array() : Value::Array{rule};
    const std::string_view type = type_of(document);
    for (const Value& allowed : types) {
      if (allowed.as_text() == type) return std::nullopt;
      if (allowed.as_text() == "number" && type == "integer") return std::nullopt;
    }
    return wrong("expected " + joined(types) + ", found " + shown(document));
  }

  Found check_one_of(const Value::Array& allowed, const Value& document) const {
    if (std::find(allowed.begin(), allowed.end(), document) != allowed.end()) return std::nullopt;
    return wrong("expected " + joined(allowed) + ", found " + shown(document));
  }

  Found check_required(const Value& names, const Value& document) const {
    if (!document.is_object()) return std::nullopt;
    for (const Value& name : names.as_array()) {
      if (member(document, name.as_text()) == nullptr) {
        return wrong("expected a member \"" + std::string(name.as_text()) + "\", found none");
      }
    }
    return std::nullopt;
  }

  Found check_properties(const Value& properties, const Value& document) {
    for (const auto& [name, rule] : properties.as_object()) {
      const Value* value = member(document, name.text());
      if (value == nullptr) continue;
      if (Found found = inside(std::string(name.text()), rule, *value)) return found;
    }
    return std::nullopt;
  }

  Found check_additional(const Value& rule, const Value& schema, const Value& document) {
    if (!document.is_object()) return std::nullopt;
    const Value* properties = member(schema, "properties");
    for (const auto& [name, value] : document.as_object()) {
      if (properties != nullptr && member(*properties, name.text()) != nullptr) continue;
      if (rule.is_bool() && rule.as_bool()) continue;
      if (rule.is_bool()) {
        Violation violation{path_, true, "unknown member \"" + std::string(name.text()) + "\""};
        violation.path.emplace_back(name.text());
        return violation;
      }
      if (Found found = inside(std::string(name.text()), rule, value)) return found;
    }
    return std::nullopt;
  }

  Found check_items(const Value& rule, const Value& document) {
    if (!document.is_array()) return std::nullopt;
    for (size_t i = 0; i < document.as_array().size(); ++i) {
      if (Found found = inside(std::to_string(i), rule, document.as_array()[i])) return found;
    }
    return std::nullopt;
  }

  Found check_size(std::string_view keyword, const Value& rule, const Value& document) const {
    if (!document.is_array()) return std::nullopt;
    const auto size = static_cast<int64_t>(document.as_array().size());
    const bool least = keyword == "minItems";
    if (least ? size >= rule.as_int() : size <= rule.as_int()) return std::nullopt;
    return wrong(std::string("expected at ") + (least ? "least " : "most ") + rule.to_json() +
                 " items, found " + std::to_string(size));
  }

  Found check_bound(std::string_view keyword, const Value& rule, const Value& document) const {
    const bool number = document.is_int() || document.is_double();
    const double value = document.is_int()      ? static_cast<double>(document.as_int())
                         : document.is_double() ? document.as_double()
                                                : 0;
    const bool least = keyword == "minimum";
    const auto bound = static_cast<double>(rule.as_int());
    if (!number || (least ? value >= bound : value <= bound)) return std::nullopt;
    return wrong((least ? "expected at least " : "expected at most ") + rule.to_json() + ", found " +
                 shown(document));
  }

  Found check_any(const Value& rules, const Value& document) {
    Found first;
    for (const Value& rule : rules.as_array()) {
      Found found = check(rule, document);
      if (!found) return std::nullopt;
      // Of several forms that do not fit, tell of the one that fits best: deepest inside.
      if (!first || found->path.size() > first->path.size()) first = std::move(found);
    }
    return first;
  }

  const Value& resolve(std::string_view reference) const {
    constexpr std::string_view kPrefix = "#/$defs/";
    const Value* definitions = member(root_, "$defs");
    const Value* found = definitions == nullptr || !reference.starts_with(kPrefix)
                             ? nullptr
                             : member(*definitions, reference.substr(kPrefix.size()));
    ASSAY_CHECK(found != nullptr, "no definition %.*s", static_cast<int>(reference.size()),
                reference.data());
    return *found;
  }

  Found inside(std::string step, const Value& rule, const Value& document) {
    path_.push_back(std::move(step));
    Found found = check(rule, document);
    path_.pop_back();
    return found;
  }

  const Value& root_;
  std::vector<std::string> path_;
};

std::string dotted(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& step : path) out += (out.empty() ? "" : ".") + step;
  return out;
}

}  // namespace

std::optional<Violation> find_violation(const Value& schema, const Value& document) {
  return Validator(schema).check(schema, document);
}

Result<void> validate(const Value& document, std::string_view schema, std::string_view text,
                      const std::string& file) {
  const Result<Value> rules = parse_json(schema, "schema");
  ASSAY_CHECK(rules.ok(), "%s", rules.error().message.c_str());
  const std::optional<Violation> violation = find_violation(*rules, document);
  if (!violation) return {};
  std::string where = violation->of_name ? "" : dotted(violation->path);
  if (!where.empty()) where += ": ";
  return input_error(file + ":" + locate_json(text, violation->path, violation->of_name) + ": " +
                     where + violation->message);
}

}  // namespace assay
