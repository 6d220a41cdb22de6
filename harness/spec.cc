#include "harness/spec.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "checkers/checker.h"
#include "checkers/history/json_text.h"
#include "checkers/history/vocabulary.h"
#include "results/files.h"

namespace assay {
namespace {

Error expected(const std::string& name, const std::string& what, const std::string& found) {
  return input_error("--" + name + ": expected " + what + ", found \"" + found + "\"");
}

Result<int64_t> integer(const std::string& name, const std::string& text, int64_t min,
                        int64_t max) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= min && number <= max) return number;
  return expected(name, "a whole number from " + std::to_string(min) + " to " + std::to_string(max),
                  text);
}

Result<Nanos> duration(const std::string& name, const std::string& text, Nanos min) {
  auto parsed = parse_duration(text);
  if (parsed && *parsed >= min) return *parsed;
  return expected(name, "a time of at least " + format_duration(min) + " such as 30s, 500ms or 10m",
                  text);
}

Result<bool> truth(const std::string& name, const std::string& text) {
  if (text == "true" || text.empty()) return true;
  if (text == "false") return false;
  return expected(name, "true or false", text);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// "kill:leader,kill:all,pause": the shapes of one kind are gathered.
Result<void> set_nemesis(TestSpec& spec, const std::string& text) {
  std::vector<FaultSpec> faults;
  if (text != "none") {
    for (const std::string& item : split(text, ',')) {
      const size_t colon = item.find(':');
      const std::string kind = item.substr(0, colon);
      if (kind.empty() || kind == "none") {
        return expected("nemesis", "none, or faults such as kill:leader,partition,pause", text);
      }
      auto fault = std::find_if(faults.begin(), faults.end(),
                                [&](const FaultSpec& f) { return f.kind == kind; });
      const bool is_new = fault == faults.end();
      if (is_new) fault = faults.insert(faults.end(), FaultSpec{kind, {}});
      if (colon == std::string::npos) {
        fault->shapes.clear();
      } else if (is_new || !fault->shapes.empty()) {
        fault->shapes.push_back(item.substr(colon + 1));
      }
    }
    if (faults.empty())
      return expected("nemesis", "none, or faults such as kill:leader,partition", text);
  }
  spec.nemesis = std::move(faults);
  return {};
}

std::string nemesis_text(const std::vector<FaultSpec>& faults) {
  std::string text;
  for (const FaultSpec& fault : faults) {
    const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ",") + item; };
    if (fault.shapes.empty()) add(fault.kind);
    for (const std::string& shape : fault.shapes) add(fault.kind + ":" + shape);
  }
  return text.empty() ? "none" : text;
}

Result<void> set_concurrency(TestSpec& spec, const std::string& text) {
  const bool per_node = text.ends_with("n");
  auto number =
      integer("concurrency", per_node ? text.substr(0, text.size() - 1) : text, 1, 10'000);
  if (!number)
    return expected("concurrency", "a number of workers such as 20, or per node such as 4n", text);
  spec.concurrency = per_node ? std::nullopt : std::optional(static_cast<int>(*number));
  spec.concurrency_per_node = per_node ? static_cast<int>(*number) : 0;
  return {};
}

// "valid", "invalid:linearizable", "blocked".
Result<void> set_expect(TestSpec& spec, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string word = text.substr(0, colon);
  if (word != "valid" && word != "invalid" && word != "blocked") {
    return expected("expect", "valid, invalid or blocked, with an optional :CHECKER", text);
  }
  const std::string checker =
      colon == std::string::npos ? "" : text.substr(colon + 1, text.find('/') - colon - 1);
  if (colon != std::string::npos && find_checker(checker) == nullptr) {
    std::string known;
    for (const Checker* one : all_checkers())
      known += (known.empty() ? "" : ", ") + std::string(one->name());
    return input_error("--expect: unknown checker \"" + checker + "\": expected one of " + known);
  }
  spec.expect[colon == std::string::npos ? "" : text.substr(colon + 1)] = word;
  return {};
}

Result<void> set_setting(TestSpec& spec, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || text.find('.') > equals) {
    return expected("set", "target.option=value", text);
  }
  spec.set[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

using Setter = Result<void> (*)(TestSpec&, const std::string&);
struct Option {
  const char* name;
  Setter set;
};

// Puts a parsed value where it belongs, or passes the error on.
template <typename T, typename Field>
Result<void> put(Result<T> parsed, Field& field) {
  if (!parsed) return parsed.error();
  field = static_cast<Field>(*parsed);
  return {};
}
template <typename T, typename Field>
Result<void> put(Result<T> parsed, std::optional<Field>& field) {
  if (!parsed) return parsed.error();
  field = static_cast<Field>(*parsed);
  return {};
}

const Option kOptions[] = {
    {"target",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       s.target = v;
       return {};
     }},
    {"workload",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       s.workload = v;
       return {};
     }},
    {"nemesis", set_nemesis},
    {"nodes",
     [](TestSpec& s, const std::string& v) { return put(integer("nodes", v, 1, 64), s.nodes); }},
    {"time-limit",
     [](TestSpec& s, const std::string& v) {
       return put(duration("time-limit", v, milliseconds(1)), s.time_limit);
     }},
    {"rate",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       if (v == "max") {
         s.rate = 0;
         return {};
       }
       return put(integer("rate", v, 1, 100'000'000), s.rate);
     }},
    {"concurrency", set_concurrency},
    {"keys",
     [](TestSpec& s, const std::string& v) {
       return put(integer("keys", v, 0, 1'000'000'000), s.keys);
     }},
    {"ops-per-key",
     [](TestSpec& s, const std::string& v) {
       return put(integer("ops-per-key", v, 1, 1'000'000'000), s.ops_per_key);
     }},
    {"nemesis-interval",
     [](TestSpec& s, const std::string& v) {
       return put(duration("nemesis-interval", v, milliseconds(1)), s.nemesis_interval);
     }},
    {"fault-duration",
     [](TestSpec& s, const std::string& v) {
       return put(duration("fault-duration", v, milliseconds(1)), s.fault_duration);
     }},
    {"op-timeout",
     [](TestSpec& s, const std::string& v) {
       return put(duration("op-timeout", v, milliseconds(1)), s.op_timeout);
     }},
    {"seed", [](TestSpec& s,
                const std::string& v) { return put(integer("seed", v, 0, INT64_MAX), s.seed); }},
    {"out",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       if (v.empty()) return expected("out", "a folder", v);
       s.out = v;
       return {};
     }},
    {"deadline",
     [](TestSpec& s, const std::string& v) {
       return put(duration("deadline", v, milliseconds(1)), s.deadline);
     }},
    {"set", set_setting},
    {"expect", set_expect},
    {"net",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       if (v != "private" && v != "host") return expected("net", "private or host", v);
       s.net = v == "host" ? NetMode::kHost : NetMode::kPrivate;
       return {};
     }},
    {"hosts",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       if (v.empty()) return expected("hosts", "a file", v);
       s.hosts = std::filesystem::absolute(v).lexically_normal().string();
       return {};
     }},
    {"base-port",
     [](TestSpec& s, const std::string& v) {
       return put(integer("base-port", v, 1, 65000), s.base_port);
     }},
    {"leave-running",
     [](TestSpec& s, const std::string& v) {
       return put(truth("leave-running", v), s.leave_running);
     }},
    {"keep-data",
     [](TestSpec& s, const std::string& v) { return put(truth("keep-data", v), s.keep_data); }},
    {"contract",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       if (v != "strong" && v != "weak")
         return input_error("contract: expected strong or weak, found \"" + v + "\"");
       s.weak_contract = v == "weak";
       return {};
     }},
    {"swarm",
     [](TestSpec& s, const std::string& v) { return put(truth("swarm", v), s.swarm); }},
    {"fail-fast",
     [](TestSpec& s, const std::string& v) { return put(truth("fail-fast", v), s.fail_fast); }},
    {"bin-dir",
     [](TestSpec& s, const std::string& v) -> Result<void> {
       s.bin_dir = v;
       return {};
     }},
};

const Option* find_option(const std::string& name) {
  for (const Option& option : kOptions) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}
std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The spelling that the command line would have used.
std::string as_text(const Value& value) {
  return value.is_string() ? std::string(value.as_text()) : value.to_json();
}

// Reads the members of a spec file. Errors come without a place; read() adds that of the member.
class Reader {
 public:
  explicit Reader(TestSpec& spec) : spec_(spec) {}

  Result<void> read(const std::string& text, const std::string& file) {
    auto json = parse_json(text, file);
    if (!json) return json.error();
    if (!json->is_object())
      return input_error(file + ":1:1: expected an object, found " + json->to_json());
    for (const auto& [key, value] : json->as_object()) {
      const std::string name(key.text());
      const bool known = name.find('-') == std::string::npos && is_member(name);
      auto done =
          known ? member(name, value)
                : Result<void>(input_error(
                      "expected the long name of an option with _ for -, found \"" + name + "\""));
      if (!done)
        return input_error(file + ":" + locate_json(text, {name}, !known) + ": " +
                           done.error().message);
    }
    return {};
  }

 private:
  static bool is_member(const std::string& key) {
    static const std::set<std::string> others = {"format", "version", "run", "thresholds",
                                                 "script"};
    return others.count(key) > 0 || is_option(dashed(key));
  }

  Result<void> member(const std::string& key, const Value& value) {
    if (key == "format") return same(value, "assay-spec");
    if (key == "version") return same(value, 1);
    if (key == "run") return {};  // what a run folder adds: who made it, where, with which binaries
    if (key == "set")
      return each(value, [&](const auto& k, const Value& v) {
        return set_option(spec_, "set", k + "=" + as_text(v));
      });
    if (key == "expect" && value.is_object()) {
      return each(value, [&](const auto& k, const Value& v) {
        return set_option(spec_, "expect", as_text(v) + (k.empty() ? "" : ":" + k));
      });
    }
    if (key == "thresholds")
      return each(value, [&](const auto& k, const Value& v) { return threshold(k, v); });
    if (key == "script") return script(value);
    if (key == "nemesis" && value.is_array()) return nemesis_list(value);
    if (!value.is_scalar() || value.is_null())
      return input_error("expected a string, a number or true/false, found " + value.to_json());
    return set_option(spec_, dashed(key), as_text(value));
  }

  static Result<void> same(const Value& value, const Value& wanted) {
    if (value == wanted) return {};
    return input_error("expected " + wanted.to_json() + ", found " + value.to_json());
  }
  static Result<void> each(
      const Value& object,
      const std::function<Result<void>(const std::string&, const Value&)>& fn) {
    if (!object.is_object()) return input_error("expected an object, found " + object.to_json());
    for (const auto& [key, value] : object.as_object()) {
      if (auto done = fn(std::string(key.text()), value); !done) return done;
    }
    return {};
  }
  Result<void> threshold(const std::string& name, const Value& value) {
    if (std::find(std::begin(kThresholds), std::end(kThresholds), name) == std::end(kThresholds)) {
      std::string known;
      for (std::string_view one : kThresholds)
        known += (known.empty() ? "" : ", ") + std::string(one);
      return input_error("unknown threshold \"" + name + "\": expected one of " + known);
    }
    if (!value.is_int() || value.as_int() < 0)
      return input_error(name + ": expected a whole number from 0 on, found " + value.to_json());
    spec_.thresholds[name] = value.as_int();
    return {};
  }
  Result<void> script(const Value& value) {
    if (!value.is_array()) return input_error("expected a list of steps, found " + value.to_json());
    spec_.script = value;
    return {};
  }
  Result<void> nemesis_list(const Value& list) {
    std::string text;
    for (const Value& item : list.as_array()) {
      if (!item.is_string())
        return input_error("expected strings such as \"kill:leader\", found " + item.to_json());
      text += (text.empty() ? "" : ",") + std::string(item.as_text());
    }
    return set_option(spec_, "nemesis", text.empty() ? "none" : text);
  }

  TestSpec& spec_;
};

// In the largest unit that is exact.
std::string exact(Nanos t) {
  const std::pair<int64_t, const char*> units[] = {{3'600'000'000'000, "h"},
                                                   {60'000'000'000, "m"},
                                                   {1'000'000'000, "s"},
                                                   {1'000'000, "ms"},
                                                   {1'000, "us"}};
  for (const auto& [size, name] : units) {
    if (t.count % size == 0) return std::to_string(t.count / size) + name;
  }
  return std::to_string(t.count) + "ns";
}

}  // namespace

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) names.emplace_back(option.name);
  return names;
}

bool is_option(const std::string& name) { return find_option(name) != nullptr; }

Result<void> set_option(TestSpec& spec, const std::string& name, const std::string& value) {
  const Option* option = find_option(name);
  ASSAY_CHECK(option, "option %s", name.c_str());
  return option->set(spec, value);
}

Result<void> parse_spec(const std::string& text, const std::string& name, TestSpec& spec) {
  return Reader(spec).read(text, name);
}

Result<void> read_spec(const std::string& path, TestSpec& spec) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse_spec(*text, path, spec);
}

Value spec_to_value(const TestSpec& spec) {
  Value::Object members;
  const auto put = [&](const std::string& name, Value value) {
    members.emplace_back(Symbol(underscored(name)), std::move(value));
  };
  const auto time = [&](const char* name, Nanos t) { put(name, exact(t)); };
  put("target", spec.target);
  put("workload", spec.workload);
  if (spec.nemesis) put("nemesis", nemesis_text(*spec.nemesis));
  if (spec.nodes) put("nodes", *spec.nodes);
  time("time-limit", spec.time_limit);
  put("rate", spec.rate == 0 ? Value("max") : Value(spec.rate));
  if (spec.concurrency) put("concurrency", *spec.concurrency);
  if (spec.concurrency_per_node)
    put("concurrency", std::to_string(spec.concurrency_per_node) + "n");
  if (spec.keys) put("keys", spec.keys);
  if (spec.ops_per_key) put("ops-per-key", *spec.ops_per_key);
  if (spec.nemesis_interval) time("nemesis-interval", *spec.nemesis_interval);
  if (spec.fault_duration) time("fault-duration", *spec.fault_duration);
  time("op-timeout", spec.op_timeout);
  if (spec.seed) put("seed", static_cast<int64_t>(*spec.seed));
  time("deadline", spec.deadline);
  const auto object = [&](const char* name, const auto& map) {
    Value::Object object;
    for (const auto& [key, value] : map) object.emplace_back(Symbol(key), Value(value));
    if (!object.empty()) put(name, Value::object(std::move(object)));
  };
  object("set", spec.set);
  object("expect", spec.expect);
  object("thresholds", spec.thresholds);
  if (spec.hosts.empty())
    put("net", spec.net == NetMode::kHost ? "host" : "private");
  else
    put("hosts", spec.hosts);
  if (spec.base_port) put("base-port", *spec.base_port);
  if (spec.keep_data) put("keep-data", true);
  if (spec.weak_contract) put("contract", "weak");
  if (spec.swarm) put("swarm", true);
  if (spec.fail_fast) put("fail-fast", true);
  if (!spec.bin_dir.empty()) put("bin-dir", spec.bin_dir);
  if (!spec.script.is_null()) put("script", spec.script);
  return Value::object(std::move(members));
}

}  // namespace assay
