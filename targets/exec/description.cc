#include "targets/exec/description.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "checkers/history/json_schema.h"
#include "checkers/history/json_text.h"
#include "targets/exec/placeholders.h"

namespace assay::exec {
namespace {

namespace fs = std::filesystem;
constexpr Nanos kFaultMax = seconds(300);  // for a command of a fault
using Path = std::vector<std::string>;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
}

// Reads a document that fits the schema; what a schema cannot say is judged here. Keeps the first
// error.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Description> read(const Value& json) {
    Description d;
    d.file = file_;
    d.folder = fs::absolute(file_).lexically_normal().parent_path();
    d.name = json["name"].as_text();
    word(d.name, {"name"}, false);
    d.summary = json.text_or("summary", "the store that " + file_ + " describes");
    options(json["options"], d);
    d.start = command(json, {"start"});
    for (const auto& [name, value] : members(json["env"])) {
      d.env[std::string(name.text())] = value.as_text();
      filled(value, {"env", std::string(name.text())});
    }
    d.install = command(json, {"install"});
    d.wipe = command(json, {"wipe"});
    d.stop = command(json, {"stop"});
    d.ready.tcp = json["ready"].bool_or("tcp", true);
    d.ready.command = command(json, {"ready", "command"});
    d.ready.within = duration(json, {"ready", "within"}, d.ready.within);
    if (!d.ready.tcp && d.ready.command.empty())
      wrong({"ready"}, "expected a \"command\" where \"tcp\" is false, found none");
    d.logs = command(json, {"logs"});
    d.binaries = command(json, {"binaries"});
    for (const auto& [text, meaning] : members(json["findings"]))
      d.findings.emplace_back(text.text(), meaning.as_text());
    d.client = command(json, {"client"});
    d.client_status = json["status"].is_string();
    if (!d.client_status) d.status = command(json, {"status"});
    d.diagnose = command(json, {"diagnose"});
    if (json["ops"].is_array()) d.ops.clear();
    for (const Value& op : items(json["ops"])) d.ops.push_back(op.as_symbol());
    for (const auto& [code, meaning] : members(json["errors"])) {
      d.errors[std::string(code.text())] = {meaning["definite"].as_bool(),
                                            std::string(meaning.text_or("class", code.text()))};
    }
    claims(json, d);
    faults(json, d);
    if (error_) return *error_;
    return d;
  }

 private:
  static const Value::Object& members(const Value& value) {
    static const Value::Object none;
    return value.is_object() ? value.as_object() : none;
  }
  static const Value::Array& items(const Value& value) {
    static const Value::Array none;
    return value.is_array() ? value.as_array() : none;
  }

  void wrong(const Path& path, const std::string& message, bool of_name = false) {
    if (error_) return;
    std::string dotted;
    for (const std::string& step : path) dotted += (dotted.empty() ? "" : ".") + step;
    error_ = input_error(file_ + ":" + locate_json(text_, path, of_name) + ": " + dotted + ": " +
                         message);
  }

  void word(std::string_view text, const Path& path, bool of_name) {
    if (is_word(text)) return;
    wrong(path, "expected letters, digits, - and _, found " + Value(text).to_json(), of_name);
  }

  // Placeholders are tried with nodes that do not matter.
  void filled(const Value& text, const Path& path) {
    static const Layout layout{
        .nodes = {{0, "n1", "10.0.0.1", 1, 2, "/n1"}, {1, "n2", "10.0.0.2", 1, 2, "/n2"}}};
    auto done = fill(text.as_text(), {layout, layout.nodes[0], file_, settings_});
    if (!done) wrong(path, done.error().message);
  }

  // An array of texts with placeholders.
  Command command(const Value& json, Path path) {
    const Value* value = &json;
    for (const std::string& step : path) value = &(*value)[step];
    Command command;
    for (const Value& word : items(*value)) {
      path.push_back(std::to_string(command.size()));
      filled(word, path);
      path.pop_back();
      command.emplace_back(word.as_text());
    }
    path.emplace_back("0");
    if (!command.empty() && command[0].empty()) wrong(path, "expected a program, found \"\"");
    return command;
  }

  Nanos duration(const Value& json, const Path& path, Nanos fallback) {
    const Value* value = &json;
    for (const std::string& step : path) value = &(*value)[step];
    if (!value->is_string()) return fallback;
    const auto parsed = parse_duration(std::string(value->as_text()));
    if (parsed && *parsed > Nanos{}) return *parsed;
    wrong(path, "expected a time such as 10s or 500ms, found " + value->to_json());
    return fallback;
  }

  void options(const Value& json, Description& d) {
    for (const auto& [name, option] : members(json)) {
      const std::string text(name.text());
      word(text, {"options", text}, true);
      d.options.push_back({text, std::string(option["default"].as_text()),
                           std::string(option.text_or("summary", "")),
                           option.bool_or("canary", false)});
      settings_.emplace_back(text, d.options.back().fallback);
    }
  }

  // What is not said is not claimed.
  void claims(const Value& json, Description& d) {
    const Value& claims = json["claims"];
    d.claims.read = claims["read"].as_text();
    d.claims.guarded_write = claims.bool_or("guarded_write", false);
    d.claims.orderable = claims.bool_or("orderable", false);
    d.claims.durable = claims.text_or("durable", "none");
    if (claims.text_or("clock", "") == "libfaketime") d.claims.clock = "libfaketime";
    d.claims.election_timeout_min = duration(json, {"claims", "election_timeout_min"}, Nanos{});
    d.claims.watch = claims.bool_or("watch", false);
    const bool has_status = d.client_status || !d.status.empty();
    if (d.claims.election_timeout_min > Nanos{} && !has_status) {
      wrong({"claims", "election_timeout_min"},
            "expected a \"status\" that names the leader beside it, found none");
    }
  }

  void faults(const Value& json, Description& d) {
    for (const auto& [name, fault] : members(json["faults"])) {
      const std::string kind(name.text());
      word(kind, {"faults", kind}, true);
      if (kind == "none" || kind == "partition" || kind == "pause" || kind == "kill" ||
          kind == "delay")
        wrong({"faults", kind}, "expected a name that no fault of Assay's has", true);
      DescribedFault& own = d.faults.emplace_back();
      own.kind = kind;
      own.summary = fault.text_or("summary", "a fault of the store's own");
      own.begin = command(json, {"faults", kind, "begin"});
      own.end = command(json, {"faults", kind, "end"});
      own.verify = command(json, {"faults", kind, "verify"});
      own.within = duration(json, {"faults", kind, "within"}, own.within);
      if (own.within > kFaultMax)
        wrong({"faults", kind, "within"}, "expected at most " + format_duration(kFaultMax) +
                                              ", found " + format_duration(own.within));
    }
  }

  std::string_view text_;
  const std::string& file_;
  TargetInfo::Settings settings_;
  std::optional<Error> error_;
};

}  // namespace

Result<Description> parse_description(std::string_view text, const std::string& file) {
  const auto json = parse_json(text, file);
  if (!json) return json.error();
  if (auto valid = validate(*json, description_schema(), text, file); !valid) return valid.error();
  return Reader(text, file).read(*json);
}

Result<Description> read_description(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  std::error_code ignored;
  if (!stream || fs::is_directory(file, ignored) || !(text << stream.rdbuf()))
    return input_error(file + ": expected the description of a target, found no readable file");
  return parse_description(text.str(), file);
}

}  // namespace assay::exec
