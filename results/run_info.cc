#include "results/run_info.h"

namespace assay {
namespace {

Value::Array texts(const std::vector<std::string>& lines) { return {lines.begin(), lines.end()}; }

std::vector<std::string> lines_of(const Value& array) {
  std::vector<std::string> lines;
  if (!array.is_array()) return lines;
  for (const Value& line : array.as_array()) {
    if (line.is_string()) lines.emplace_back(line.as_text());
  }
  return lines;
}

Value binaries_value(const std::vector<Binary>& binaries) {
  Value::Array array;
  for (const Binary& binary : binaries) {
    array.push_back(Value::object(
        {{Symbol("name"), Value(binary.name)}, {Symbol("hash"), Value(binary.hash)}}));
  }
  return Value::array(std::move(array));
}

}  // namespace

Value run_member(const RunInfo& info) {
  Value::Object members;
  const auto put = [&](const char* name, Value value) {
    members.emplace_back(Symbol(name), std::move(value));
  };
  put("assay", info.assay_version);
  put("command", info.command);
  put("started", info.started);
  put("faults", info.faults);
  put("environment", info.environment);
  if (info.host.is_object()) put("host", info.host);
  put("binaries", binaries_value(info.binaries));
  put("not_claimed", Value::array(texts(info.not_claimed)));
  put("not_tested", Value::array(texts(info.not_tested)));
  return Value::object(std::move(members));
}

void take_spec(const Value& spec_json, RunInfo& info) {
  if (!spec_json.is_object()) return;
  Value::Object options;
  for (const auto& [name, value] : spec_json.as_object()) {
    if (name.text() != "run" && name.text() != "format" && name.text() != "version") {
      options.emplace_back(name, value);
    }
  }
  info.spec = Value::object(std::move(options));
  if (spec_json["seed"].is_int()) info.seed = static_cast<uint64_t>(spec_json["seed"].as_int());
  const Value& run = spec_json["run"];
  info.assay_version = run.text_or("assay", "");
  info.command = run.text_or("command", "");
  info.started = run.text_or("started", "");
  info.faults = run.text_or("faults", "");
  info.environment = run.text_or("environment", "");
  info.host = run["host"];
  info.binaries.clear();
  if (run["binaries"].is_array()) {
    for (const Value& binary : run["binaries"].as_array()) {
      info.binaries.push_back(
          {std::string(binary.text_or("name", "")), std::string(binary.text_or("hash", ""))});
    }
  }
  info.not_claimed = lines_of(run["not_claimed"]);
  info.not_tested = lines_of(run["not_tested"]);
}

}  // namespace assay
