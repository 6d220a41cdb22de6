#include "targets/exec/protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::exec {
namespace {

using Json = nlohmann::json;

constexpr size_t kTextMax = 500;  // of what a program says, in an error
constexpr size_t kShownMax = 80;
constexpr int kDepthMax = 128;  // a Value is destroyed recursively

void put_name(std::string& out, std::string_view name) {
  out += ",\"";
  out += name;
  out += "\":";
}

std::string shown(std::string_view text) {
  std::string out;
  append_json_string(out, text.substr(0, kShownMax));
  return out + (text.size() > kShownMax ? " …" : "");
}
std::string shown(const Json& json) {
  if (json.is_structured()) return json.is_array() ? "an array" : "an object";  // of any depth
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return shown(std::string_view(text));
}

Error lie(std::string what) { return environment_error(std::move(what)); }

// Nothing where a number is none of ours, or it is nested too deep.
std::optional<Value> value_of(const Json& json, int depth = 0) {
  switch (json.type()) {
    case Json::value_t::null:
      return Value();
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return Value(json.get<int64_t>());
    case Json::value_t::number_float: {
      // Whole numbers that no 64 bits hold come as doubles, and several of them as one.
      const auto number = json.get<double>();
      if (std::fabs(number) >= 0x1p63 && number == std::trunc(number)) return std::nullopt;
      return Value(number);
    }
    case Json::value_t::string:
      return Value(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      if (depth == kDepthMax) return std::nullopt;
      Value::Array items;
      for (const Json& item : json) {
        auto value = value_of(item, depth + 1);
        if (!value) return std::nullopt;
        items.push_back(std::move(*value));
      }
      return Value::array(std::move(items));
    }
    case Json::value_t::object: {
      if (depth == kDepthMax) return std::nullopt;
      Value::Object members;
      for (const auto& [name, item] : json.items()) {
        auto value = value_of(item, depth + 1);
        if (!value) return std::nullopt;
        members.emplace_back(Symbol(name), std::move(*value));
      }
      return Value::object(std::move(members));
    }
    default:
      return std::nullopt;
  }
}

const Json* find(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// Reads the members of an answer; keeps the first thing that is wrong.
class AnswerReader {
 public:
  explicit AnswerReader(const Json& json) : json_(json) {}

  Result<Answer> read() {
    Answer answer;
    const Json* id = find(json_, "id");
    if (id == nullptr || !id->is_number_integer())
      return lie("wrote an answer without a number as \"id\": " + shown(json_));
    answer.id = id->get<int64_t>();
    answer.event = value("event");
    answer.value = value("value");
    if (const Json* type = find(json_, "type")) answer.type = type_of(*type);
    answer.revision = token(json_, "revision");
    answer.at = token(json_, "at");
    if (const Json* error = find(json_, "error")) answer.error = error_of(*error);
    if (wrong_.empty()) return answer;
    return lie("wrote an answer in which " + wrong_);
  }

 private:
  void expected(const std::string& name, const std::string& what, const Json& found) {
    if (wrong_.empty()) wrong_ = "\"" + name + "\" is no " + what + ": " + shown(found);
  }

  std::optional<Value> value(const char* name) {
    const Json* json = find(json_, name);
    if (json == nullptr) return std::nullopt;
    auto value = value_of(*json);
    if (!value) expected(name, "value of at most 64 bits and 128 levels", *json);
    return value;
  }

  std::optional<OpType> type_of(const Json& json) {
    for (OpType type : {OpType::kOk, OpType::kFail, OpType::kInfo}) {
      if (json.is_string() && json.get_ref<const std::string&>() == to_string(type)) return type;
    }
    expected("type", "ok, fail or info", json);
    return std::nullopt;
  }

  Token token(const Json& object, const char* name) {
    const Json* json = find(object, name);
    if (json == nullptr || json->is_null()) return {};
    if (json->is_string()) return Token(Symbol(json->get_ref<const std::string&>()));
    const bool fits =
        json->is_number_integer() &&
        (!json->is_number_unsigned() || json->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
    if (fits) return Token(json->get<int64_t>());
    expected(name, "whole number or string", *json);
    return {};
  }

  std::string text(const Json& object, const char* name) {
    const Json* json = find(object, name);
    if (json == nullptr) return "";
    if (json->is_string()) return json->get_ref<const std::string&>().substr(0, kTextMax);
    expected(name, "string", *json);
    return "";
  }

  std::optional<AnswerError> error_of(const Json& json) {
    if (json.is_null()) return std::nullopt;
    if (!json.is_object()) {
      expected("error", "object", json);
      return std::nullopt;
    }
    return AnswerError{text(json, "code"), text(json, "class"), text(json, "text"),
                       token(json, "current")};
  }

  const Json& json_;
  std::string wrong_;
};

}  // namespace

std::string request_line(int64_t id, const Op& op, const RequestTo& to) {
  std::string out;
  out.reserve(160);
  out += "{\"id\":" + std::to_string(id);
  put_name(out, "f");
  append_json_string(out, op.f.text());
  if (!op.key.empty()) {
    put_name(out, "key");
    append_json_string(out, op.key.text());
  }
  if (!op.value.is_null() || op.f == f::write) {
    put_name(out, "value");
    op.value.append_json(out);
  }
  if (!op.expected.none()) {
    put_name(out, "expected");
    op.expected.to_value().append_json(out);
  }
  put_name(out, "node");
  append_json_string(out, to.node);
  put_name(out, "address");
  append_json_string(out, to.address);
  put_name(out, "timeout_ms");
  out += std::to_string(to.timeout.count / 1'000'000);
  return out += "}\n";
}

std::string cancel_line(int64_t id) { return "{\"cancel\":" + std::to_string(id) + "}\n"; }

Result<Answer> parse_answer(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return lie("wrote a line that is not JSON: " + shown(line));
  if (!json.is_object()) return lie("wrote a line that is no JSON object: " + shown(line));
  return AnswerReader(json).read();
}

bool is_stream(Symbol f) {
  static const Symbol lease("lease"), session("session");
  return f == f::watch || f == lease || f == session;
}

// Some answer a cas with the value that it set.
static bool forgets(const Op& op, const Value& answered) {
  return op.f == f::cas ? answered.is_null() : op.f == f::write && answered != op.value;
}
static bool is_change(Symbol f) { return f == f::write || f == f::cas || f == f::delete_; }

Result<Op> completion_of(const Op& op, const Answer& answer, const ErrorTable& errors) {
  static const Symbol unknown("unknown");
  const bool has_code = answer.error && !answer.error->code.empty();
  if (!answer.type && !has_code) return lie("gave an answer with neither a type nor an error code");
  if (answer.value && answer.type != OpType::kFail && forgets(op, *answer.value)) {
    return lie("answered the " + std::string(op.f.text()) + " of " +
               op.value.to_json().substr(0, kShownMax) + " with the value " +
               answer.value->to_json().substr(0, kShownMax) +
               ": expected the argument again, or none");
  }
  if (answer.type == OpType::kOk) {
    if (answer.error) return lie("gave an answer that is ok and has an error");
    if (op.f == f::read && !answer.value) return lie("gave an ok read without a value");
    Op done = complete(op, OpType::kOk);
    if (answer.value && !is_change(op.f)) done.value = *answer.value;
    done.revision = answer.revision;
    done.at = answer.at;
    return done;
  }
  OpType type = answer.type.value_or(OpType::kFail);
  OpError error{unknown, "", {}, {}};
  if (answer.error) {
    if (has_code) {
      const auto meaning = errors.find(answer.error->code);
      const bool listed = meaning != errors.end();
      if (listed ? !meaning->second.definite : !answer.type) type = OpType::kInfo;
      if (listed) error.cls = Symbol(meaning->second.cls);
      error.text = answer.error->code + (answer.error->text.empty() ? "" : ": ");
    }
    if (!answer.error->cls.empty()) error.cls = Symbol(answer.error->cls);
    error.text += answer.error->text;
    error.current = answer.error->current;
  }
  Op done = complete(op, type, std::move(error));
  done.at = answer.at;
  return done;
}

}  // namespace assay::exec
