#include "checkers/history/edn_op.h"

#include <algorithm>

#include "checkers/history/history_io_fields.h"
#include "checkers/history/independent_keys.h"

namespace assay {
namespace {

// {"#tag": form} is a tagged form.
const std::pair<Symbol, Value>* tagged(const Value& value) {
  if (!value.is_object() || value.as_object().size() != 1) return nullptr;
  const auto& member = value.as_object()[0];
  return member.first.text().starts_with('#') ? &member : nullptr;
}

bool is_tuple_tag(std::string_view tag) {
  return tag == "#jepsen.independent/tuple" || tag.starts_with("#jepsen.independent.Tuple") ||
         tag.ends_with("MapEntry");
}

bool is_token_or_none(const Value& value) {
  return value.is_null() || value.is_int() || value.is_string();
}

Symbol colon_name(Symbol name) { return Symbol(":" + std::string(name.text())); }

// A member as our own format has it.
std::pair<Symbol, Value> own_member(Symbol name, const Value& value) {
  const std::string_view text = name.text();
  if ((text == "index" || text == "time") && value.is_int() && value.as_int() < 0)
    return {name, Value()};
  if (text == "error") return {name, edn_error_of(value)};
  if (text == "key" && value.is_scalar() && !value.is_null()) return {name, key_named(value)};
  const bool is_token = text == "revision" || text == "at" || text == "expected" || text == "key";
  const bool is_node = text == "node";
  const bool is_time = text == "scheduled";
  const bool fits = (!is_token || is_token_or_none(value)) &&
                    (!is_node || value.is_null() || value.is_string()) &&
                    (!is_time || value.is_null() || (value.is_int() && value.as_int() >= 0));
  return {fits ? name : colon_name(name), value};
}

bool has_member(const Value::Object& members, Symbol name) {
  return std::any_of(members.begin(), members.end(),
                     [name](const auto& member) { return member.first == name; });
}

// Of an object: the tuple becomes key and value.
void split_tuple(Value::Object& members) {
  const Symbol key("key");
  for (auto& [name, value] : members) {
    const auto* tag = name.text() == "value" ? tagged(value) : nullptr;
    if (tag == nullptr || !is_tuple_tag(tag->first.text()) || !tag->second.is_array() ||
        tag->second.as_array().size() != 2 || has_member(members, key))
      continue;
    const Value tuple = tag->second;
    value = tuple.as_array()[1];
    members.emplace_back(key, key_named(tuple.as_array()[0]));
    return;
  }
}

Value own_object(const Value& form) {
  Value::Object members;
  for (const auto& [name, value] : form.as_object()) {
    auto member = own_member(name, value);
    if (!has_member(members, member.first)) members.push_back(std::move(member));
  }
  split_tuple(members);
  return Value::object(std::move(members));
}

// Of the fields that Jepsen writes on every line, as they usually are: what read_op would make of
// them, sooner. False, with op half done, where there is anything else.
bool read_usual(const Value::Object& members, Op& op) {
  static const Symbol index("index"), time("time"), type("type"), process("process"), f("f"),
      value("value");
  static const std::pair<Symbol, OpType> types[] = {{Symbol("invoke"), OpType::kInvoke},
                                                    {Symbol("ok"), OpType::kOk},
                                                    {Symbol("fail"), OpType::kFail},
                                                    {Symbol("info"), OpType::kInfo}};
  op = Op();
  op.process.id = -1;
  bool has_type = false;
  for (const auto& [name, is] : members) {
    if (name == value && tagged(is) == nullptr) {
      op.value = is;
    } else if (name == f && is.is_string()) {
      op.f = is.as_symbol();
    } else if (name == type && is.is_string()) {
      for (const auto& [word, which] : types) {
        has_type = has_type || is.as_symbol() == word;
        if (is.as_symbol() == word) op.type = which;
      }
    } else if (is.is_int() && is.as_int() >= 0 &&
               (name == index || name == time || name == process)) {
      (name == index ? op.index : name == time ? op.time.count : op.process.id) = is.as_int();
    } else {
      return false;
    }
  }
  return has_type && op.process.is_client() && !op.f.empty();
}

}  // namespace

Value edn_error_of(const Value& form) {
  if (form.is_null() || form.is_string()) return form;
  const Symbol cls("class");
  Value::Object error;
  if (form.is_object() && tagged(form) == nullptr) {
    for (const auto& [name, value] : form.as_object()) {
      const bool fits = name == cls || name.text() == "text" ? value.is_string()
                        : name.text() == "current"           ? is_token_or_none(value)
                                                             : true;
      const Symbol own = fits ? name : colon_name(name);
      if (!has_member(error, own)) error.emplace_back(own, value);
    }
    if (!has_member(error, cls) && form["type"].is_string())
      error.emplace(error.begin(), cls, form["type"]);
    return Value::object(std::move(error));
  }
  const bool is_row = form.is_array() && !form.as_array().empty();
  if (!is_row || !form.as_array()[0].is_string())
    return Value::object({{cls, "other"}, {Symbol("value"), form}});
  const Value::Array& row = form.as_array();
  error.emplace_back(cls, row[0]);
  const bool has_text = row.size() > 1 && row[1].is_string();
  if (has_text) error.emplace_back(Symbol("text"), row[1]);
  const size_t said = has_text ? 2 : 1;
  if (row.size() > said)
    error.emplace_back(Symbol("more"), Value::array({row.begin() + said, row.end()}));
  return Value::object(std::move(error));
}

std::optional<EdnError> read_edn_op(EdnParser& parser, Op& op) {
  Value form = parser.take_value();
  if (const auto* tag = tagged(form); tag != nullptr && tag->second.is_object()) {
    const Value inside = tag->second;
    form = inside;
  }
  if (!form.is_object()) {
    std::string found = form.to_json();
    if (found.size() > 60) found = found.substr(0, 60) + "…";
    return EdnError{parser.place(), "an operation, which is a map", found};
  }
  if (read_usual(form.as_object(), op)) return std::nullopt;
  // The columns are ordinals of the parser's members.
  JsonColumns columns;
  for (size_t i = 0; i < parser.members().size(); ++i)
    columns.members.push_back({Symbol(), parser.members()[i].name, i + 2});
  const auto wrong = read_op(own_object(form), columns, op);
  if (!wrong) return std::nullopt;
  const bool has_place = wrong->column >= 2 && wrong->column - 2 < parser.members().size();
  return EdnError{has_place ? parser.members()[wrong->column - 2].place : parser.place(),
                  wrong->expected, wrong->found};
}

}  // namespace assay
