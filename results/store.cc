#include "results/store.h"

#include <filesystem>
#include <system_error>

#include "checkers/history/json_text.h"
#include "results/files.h"
#include "results/schema.h"
#include "results/verdict_json.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPartMax = 40;

std::string sanitised(std::string_view part) {
  std::string out;
  for (char c : part.substr(0, kPartMax)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '+';
    out += plain ? c : '-';
  }
  return out.empty() ? "none" : out;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A path without the links at its end, still relative where it was: names are for people.
std::string followed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code error;
  for (int i = 0; i < 8 && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path =
        target.is_absolute() ? target.string() : (fs::path(path).parent_path() / target).string();
  }
  return path;
}

Value index_value(const IndexLine& line) {
  const auto object = [](std::initializer_list<std::pair<const char*, Value>> members) {
    Value::Object out;
    for (const auto& [name, value] : members) out.emplace_back(Symbol(name), value);
    return Value::object(std::move(out));
  };
  return object(
      {{"format", "assay-index"},
       {"version", 1},
       {"folder", line.folder},
       {"started", line.started},
       {"target", line.target},
       {"workload", line.workload},
       {"faults", line.faults},
       {"seed", static_cast<int64_t>(line.seed)},
       {"verdict", line.verdict},
       {"reason", line.reason},
       {"operations", object({{"ok", line.ok}, {"fail", line.fail}, {"info", line.info}})},
       {"duration_ms", line.duration_ms}});
}

IndexLine index_line(const Value& value) {  // of the schema's form
  const auto text = [&](const char* name) { return std::string(value[name].as_text()); };
  IndexLine line;
  line.folder = text("folder");
  line.started = text("started");
  line.target = text("target");
  line.workload = text("workload");
  line.faults = text("faults");
  line.seed = static_cast<uint64_t>(value["seed"].as_int());
  line.verdict = text("verdict");
  line.reason = text("reason");
  line.ok = value["operations"]["ok"].as_int();
  line.fail = value["operations"]["fail"].as_int();
  line.info = value["operations"]["info"].as_int();
  line.duration_ms = value["duration_ms"].as_int();
  return line;
}

Result<Value> read_document(const std::string& path, std::string_view schema) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<Value> value = parse_json(*text, path);
  if (!value) return value;
  if (Result<void> valid = validate_form(*value, schema, *text, path); !valid) return valid.error();
  return value;
}

}  // namespace

std::string utc_stamp(std::time_t now) {
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

std::string run_folder_name(const RunName& name, std::time_t now) {
  return utc_stamp(now) + "-" + sanitised(name.target) + "-" + sanitised(name.workload) + "-" +
         sanitised(name.faults) + "-" + std::to_string(name.seed);
}

std::string RunFolder::name() const { return fs::path(path_).filename().string(); }

Result<RunFolder> RunFolder::create(const std::string& runs, const RunName& name, std::time_t now) {
  if (Result<void> made = make_folders(runs); !made) return made.error();
  auto path = make_new_folder(runs + "/" + run_folder_name(name, now));
  if (!path) return path.error();
  RunFolder folder(*path);
  if (Result<void> made = make_folders(folder.file("nodes")); !made) return made.error();
  if (Result<void> linked = point_link(runs + "/latest", folder.name()); !linked) {
    return linked.error();
  }
  return folder;
}

Result<RunFolder> RunFolder::open(const std::string& run, const std::string& runs) {
  const bool bare = run.find('/') == std::string::npos;
  const std::string given = bare && !exists(run) ? runs + "/" + run : run;
  const std::string path = followed(given);
  std::error_code ignored;
  if (!exists(path)) {
    if (path != given) return input_error(given + " points to " + path + ", which is gone");
    return input_error("no run folder " + run + (bare ? " here or in " + runs : ""));
  }
  if (!fs::is_directory(path, ignored)) return input_error(path + " is not a run folder: a file");
  RunFolder folder(path);
  if (!exists(folder.spec_path()) && !exists(folder.history_path())) {
    return input_error(path + " is not a run folder: neither spec.json nor history.jsonl in it");
  }
  return folder;
}

Result<std::string> RunFolder::make_node_folder(std::string_view node) const {
  std::string path = node_path(node);
  if (Result<void> made = make_folders(path); !made) return made.error();
  return path;
}

Result<void> RunFolder::write(std::string_view name, std::string_view text) const {
  return write_file(file(name), text);
}

Result<void> RunFolder::write_spec(const Value& spec) const {
  Value::Object members = {{Symbol("format"), "assay-spec"}, {Symbol("version"), 1}};
  for (const auto& [name, value] : spec.as_object()) {
    if (name.text() != "format" && name.text() != "version") members.emplace_back(name, value);
  }
  return write_file(spec_path(), pretty_json(Value::object(std::move(members))));
}

Result<void> RunFolder::write_verdict(const Verdict& verdict, const History& history) const {
  return write_file(verdict_path(), verdict_to_json(verdict, &history));
}

Result<Value> RunFolder::read_spec() const { return read_document(spec_path(), "spec"); }

Result<Verdict> RunFolder::read_verdict() const {
  Result<std::string> text = read_file(verdict_path());
  if (!text) return text.error();
  return verdict_from_json(*text, verdict_path());
}

Result<void> append_index(const std::string& runs, const IndexLine& line) {
  return append_file_line(runs + "/index.jsonl", index_value(line).to_json());
}

Result<Index> read_index(const std::string& runs) {
  const std::string path = runs + "/index.jsonl";
  Index index;
  if (!exists(path)) return index;
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  std::string_view rest = *text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    Result<Value> value = parse_json(line, "");
    Result<void> valid = value ? validate_form(*value, "index", line, "") : value.error();
    if (valid) {
      index.lines.push_back(index_line(*value));
    } else {  // ":1:column: what" of the line
      index.warnings.push_back(path + ":" + std::to_string(number) +
                               valid.error().message.substr(2));
    }
  }
  return index;
}

}  // namespace assay
