#include "checkers/history/history_io_fields.h"

#include <algorithm>
#include <initializer_list>

namespace assay {
namespace {

namespace name {
const Symbol index{"index"}, time{"time"}, process{"process"}, type{"type"}, f{"f"}, key{"key"},
    value{"value"}, node{"node"}, revision{"revision"}, at{"at"}, expected{"expected"},
    error{"error"}, scheduled{"scheduled"}, cls{"class"}, text{"text"}, current{"current"};
}  // namespace name

const std::initializer_list<Symbol> kOpFields = {
    name::index,    name::time,  name::process,  name::type,     name::f,
    name::key,      name::value, name::node,     name::revision, name::at,
    name::expected, name::error, name::scheduled};

std::string shown(const Value& value) {
  constexpr size_t kMost = 60;
  std::string json = value.to_json();
  if (json.size() <= kMost) return json;
  size_t end = kMost;
  while (end > 0 && (json[end] & 0xc0) == 0x80) --end;  // not in the middle of a character
  return json.substr(0, end) + "…";
}

// The members of an object, by name; the first that is wrong makes the error, the rest is skipped.
class Fields {
 public:
  Fields(const Value& object, const JsonColumns& columns, std::string parent = "")
      : object_(object), columns_(columns), parent_(std::move(parent)) {}

  const Value& get(std::string_view field) const { return object_[field]; }

  void wrong(std::string_view field, const std::string& expected) {
    if (error_) return;
    std::string path = parent_.empty() ? "" : parent_ + ".";
    path += field;
    const Value& value = get(field);
    error_ = JsonError{columns_.of(parent_, field), expected + " as \"" + path + "\"",
                       value.is_null() ? "none" : shown(value), false};
  }

  void text(std::string_view field, std::string& out) {
    const Value& value = get(field);
    if (value.is_string()) {
      out = value.as_text();
    } else if (!value.is_null()) {
      wrong(field, "a string");
    }
  }

  void symbol(std::string_view field, Symbol& out) {
    const Value& value = get(field);
    if (value.is_string()) {
      out = value.as_symbol();
    } else if (!value.is_null()) {
      wrong(field, "a string");
    }
  }

  void texts(std::string_view field, std::vector<std::string>& out) {
    const Value& value = get(field);
    if (value.is_null()) return;
    if (!value.is_array() || !std::all_of(value.as_array().begin(), value.as_array().end(),
                                          [](const Value& item) { return item.is_string(); }))
      return wrong(field, "an array of strings");
    for (const Value& item : value.as_array()) out.emplace_back(item.as_text());
  }

  void not_negative(std::string_view field, int64_t& out) {
    const Value& value = get(field);
    if (value.is_int() && value.as_int() >= 0) {
      out = value.as_int();
    } else if (!value.is_null()) {
      wrong(field, "an integer from 0");
    }
  }

  void token(std::string_view field, Token& out) {
    const Value& value = get(field);
    if (value.is_int()) {
      out = Token(value.as_int());
    } else if (value.is_string()) {
      out = Token(value.as_symbol());
    } else if (!value.is_null()) {
      wrong(field, "an integer or a string");
    }
  }

  // One of two words; the first stands for true.
  void choice(std::string_view field, const char* yes, const char* no, bool& out) {
    const Value& value = get(field);
    if (value.is_null()) return;
    if (value == Value(yes)) {
      out = true;
    } else if (value == Value(no)) {
      out = false;
    } else {
      wrong(field, std::string("\"") + yes + "\" or \"" + no + "\"");
    }
  }

  void take(std::optional<JsonError> error) {
    if (!error_) error_ = std::move(error);
  }

  std::optional<JsonError> take_error() { return std::move(error_); }

 private:
  const Value& object_;
  const JsonColumns& columns_;
  std::string parent_;
  std::optional<JsonError> error_;
};

void read_process(Fields& fields, Process& process) {
  const Value& value = fields.get("process");
  if (value.is_int() && value.as_int() >= 0) {
    process.id = value.as_int();
  } else if (value == Value("nemesis") || value == Value(":nemesis")) {
    process = kNemesis;
  } else if (value == Value("observer")) {
    process = kObserver;
  } else {
    fields.wrong("process", "an integer from 0, \"nemesis\" or \"observer\"");
  }
}

void read_type(Fields& fields, OpType& type) {
  for (OpType candidate : {OpType::kInvoke, OpType::kOk, OpType::kFail, OpType::kInfo}) {
    if (fields.get("type") == Value(to_string(candidate))) {
      type = candidate;
      return;
    }
  }
  fields.wrong("type", "\"invoke\", \"ok\", \"fail\" or \"info\"");
}

void read_f(Fields& fields, Symbol& f) {
  const Value& value = fields.get("f");
  if (value.is_string() && !value.as_symbol().empty()) {
    f = value.as_symbol();
  } else {
    fields.wrong("f", "a word");
  }
}

void read_key(Fields& fields, Symbol& key) {
  const Value& value = fields.get("key");
  if (value.is_int()) {
    key = Symbol(std::to_string(value.as_int()));
  } else {
    fields.symbol("key", key);
  }
}

// The members that have no place of their own; null when there are none.
Value rest_of(const Value& object, std::initializer_list<Symbol> known) {
  Value::Object rest;
  for (const auto& member : object.as_object())
    if (std::find(known.begin(), known.end(), member.first) == known.end()) rest.push_back(member);
  return rest.empty() ? Value() : Value::object(std::move(rest));
}

// A bare string, as other tools write it, is the class.
std::optional<JsonError> read_op_error(const Value& value, const JsonColumns& columns,
                                       std::optional<OpError>& out) {
  if (value.is_null()) return std::nullopt;
  OpError error;
  if (value.is_string()) {
    error.cls = value.as_symbol();
    out = std::move(error);
    return std::nullopt;
  }
  Fields fields(value, columns, "error");
  fields.symbol("class", error.cls);
  fields.text("text", error.text);
  fields.token("current", error.current);
  error.extra = rest_of(value, {name::cls, name::text, name::current});
  out = std::move(error);
  return fields.take_error();
}

}  // namespace

bool is_op_field(Symbol field) {
  return std::find(kOpFields.begin(), kOpFields.end(), field) != kOpFields.end();
}

bool is_header(const Value& line) {
  return !line["format"].is_null() && line["process"].is_null() && line["type"].is_null();
}

std::optional<JsonError> read_op(const Value& line, const JsonColumns& columns, Op& op) {
  op = Op();
  if (!line.is_object()) return JsonError{1, "an object, one a line", shown(line), false};
  Fields fields(line, columns);
  fields.not_negative("index", op.index);
  fields.not_negative("time", op.time.count);
  read_process(fields, op.process);
  read_type(fields, op.type);
  read_f(fields, op.f);
  read_key(fields, op.key);
  op.value = line["value"];
  fields.symbol("node", op.node);
  fields.token("revision", op.revision);
  fields.token("at", op.at);
  fields.token("expected", op.expected);
  const Value& error = line["error"];
  if (error.is_object() || error.is_string()) {
    fields.take(read_op_error(error, columns, op.error));
  } else if (!error.is_null()) {
    fields.wrong("error", "an object or a string");
  }
  fields.not_negative("scheduled", op.scheduled.count);
  op.extra = rest_of(line, kOpFields);
  return fields.take_error();
}

std::optional<JsonError> read_header(const Value& line, const JsonColumns& columns,
                                     HistoryHeader& header) {
  if (!line.is_object()) return JsonError{1, "a header object", shown(line), false};
  header = HistoryHeader();
  header.present = true;
  header.raw = line;
  Fields fields(line, columns);
  if (line["format"] != Value("assay-history")) fields.wrong("format", "\"assay-history\"");
  if (line["version"] != Value(1)) fields.wrong("version", "1");
  if (!line["time_unit"].is_null() && line["time_unit"] != Value("ns"))
    fields.wrong("time_unit", "\"ns\"");
  fields.text("target", header.target);
  fields.text("workload", header.workload);
  fields.texts("checkers", header.checkers);
  fields.text("model", header.model);
  if (line["model"] == Value("")) fields.wrong("model", "the name of a model");
  header.initial = line["initial"];
  fields.choice("failed_cas", "observe", "ignore", header.failed_cas_observes);
  fields.choice("null_read", "value", "unknown", header.null_read_is_value);
  if (line["token"] != Value("none"))  // a store without tokens
    fields.choice("token", "orderable", "opaque", header.token_orderable);
  fields.texts("nodes", header.nodes);
  fields.texts("faults", header.faults);
  const Value& claims = line["claims"];
  const std::string_view reads = claims.text_or("read", "");
  const bool known = reads == "linearizable" || reads == "sequential" || reads == "stale";
  if (!claims.is_null() && !(claims.is_object() && (claims["read"].is_null() || known)))
    fields.wrong("claims", R"(an object whose "read" is linearizable, sequential or stale)");
  int64_t seed = 0;
  fields.not_negative("seed", seed);
  header.seed = static_cast<uint64_t>(seed);
  return fields.take_error();
}

}  // namespace assay
