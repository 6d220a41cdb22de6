#include "harness/experiment.h"

#include <algorithm>
#include <cctype>

#include "checkers/history/json_text.h"
#include "harness/experiments_data.h"

namespace assay {
namespace {

std::string text_of(const Value& object, const char* name) {
  return std::string(object.text_or(name, ""));
}

Result<ExperimentRun> read_run(const Value& value, const std::string& file) {
  ExperimentRun run;
  run.name = text_of(value, "name");
  run.with = value["with"];
  run.expect = std::string(value.text_or("expect", "valid"));
  if (run.name.empty()) return input_error(file + ": a run has no name");
  if (value["clauses"].is_object()) {
    for (const auto& [clause, word] : value["clauses"].as_object()) {
      if (!find_clause(clause.text()))
        return input_error(file + ": unknown clause \"" + std::string(clause.text()) + "\"");
      run.clauses.emplace_back(clause.text(), word.as_text());
    }
  }
  return run;
}

FigureLine read_line(const Value& value) {
  return {text_of(value, "label"), text_of(value, "checker"), text_of(value, "count"),
          text_of(value, "per"), value.int_or("times", 1)};
}

// "$x" in any text of it replaced.
Value substituted(const Value& value, const std::string& x) {
  if (value.is_string()) {
    std::string text(value.as_text());
    for (size_t at = text.find("$x"); at != std::string::npos; at = text.find("$x", at + x.size()))
      text.replace(at, 2, x);
    return Value(text);
  }
  if (value.is_array()) {
    Value::Array items;
    for (const Value& item : value.as_array()) items.push_back(substituted(item, x));
    return Value::array(std::move(items));
  }
  if (value.is_object()) {
    Value::Object members;
    for (const auto& [name, member] : value.as_object())
      members.emplace_back(name, substituted(member, x));
    return Value::object(std::move(members));
  }
  return value;
}

std::string file_safe(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '-';
  return text;
}

std::optional<int64_t> count_in(const Verdict& verdict, const std::string& name) {
  for (const auto& [count, number] : verdict.counts)
    if (count == name) return number;
  return std::nullopt;
}

Result<void> put_over(const Value& members, const std::string& name, TestSpec& spec) {
  if (members.is_null()) return {};
  return parse_spec(members.to_json(), name, spec);
}

Result<PlannedRun> plan_run(const Experiment& experiment, const ExperimentRun& run,
                            const std::string& x, uint64_t seed, const std::string& bin_dir) {
  PlannedRun planned{&experiment, &run, x, {}};
  planned.cell.id = file_safe(experiment.name + "--" + run.name + (x.empty() ? "" : "--" + x));
  TestSpec& spec = planned.cell.spec;
  for (const Value& members : {substituted(experiment.spec, x), substituted(run.with, x)}) {
    if (auto put = put_over(members, experiment.name + "/" + run.name, spec); !put)
      return put.error();
  }
  spec.seed = seed;
  spec.bin_dir = bin_dir;
  return planned;
}

// How a clause stands in a run, as a word.
std::string word_of_clause(const ClauseVerdict& verdict) {
  if (verdict.safety == Safety::kInvalid) return "invalid";
  if (verdict.blocked) return "blocked";
  return std::string(to_string(verdict.safety));
}

}  // namespace

Result<Experiment> parse_experiment(const std::string& text, const std::string& name) {
  auto json = parse_json(text, name);
  if (!json) return json.error();
  Experiment experiment;
  experiment.name = text_of(*json, "name");
  experiment.title = text_of(*json, "title");
  experiment.source = text_of(*json, "source");
  experiment.passage = text_of(*json, "passage");
  experiment.spec = (*json)["spec"];
  experiment.pending = text_of(*json, "pending");
  for (const char* needed : {"name", "title", "source", "passage"})
    if (text_of(*json, needed).empty())
      return input_error(name + ": expected \"" + needed + "\"");
  if ((*json)["runs"].is_array()) {
    for (const Value& value : (*json)["runs"].as_array()) {
      auto run = read_run(value, name);
      if (!run) return run.error();
      experiment.runs.push_back(std::move(*run));
    }
  }
  if (experiment.runs.empty() == experiment.pending.empty())
    return input_error(name + ": expected either runs or why it is pending");
  const Value& sweep = (*json)["sweep"];
  experiment.x_label = text_of(sweep, "label");
  if (sweep["values"].is_array())
    for (const Value& x : sweep["values"].as_array())
      experiment.x_values.emplace_back(x.is_string() ? std::string(x.as_text()) : x.to_json());
  const Value& figure = (*json)["figure"];
  experiment.trend = text_of(figure, "trend");
  if (figure["y"].is_array())
    for (const Value& line : figure["y"].as_array()) experiment.figure.push_back(read_line(line));
  return experiment;
}

const std::vector<Experiment>& all_experiments() {
  static const std::vector<Experiment> experiments = [] {
    std::vector<Experiment> read;
    for (const auto& [file, text] : experiment_files()) {
      auto experiment = parse_experiment(std::string(text), std::string(file));
      ASSAY_CHECK(experiment.ok(), "%s", experiment.error().message.c_str());
      read.push_back(std::move(*experiment));
    }
    return read;
  }();
  return experiments;
}

const Experiment* find_experiment(std::string_view name) {
  for (const Experiment& experiment : all_experiments())
    if (experiment.name == name) return &experiment;
  return nullptr;
}

Result<std::vector<PlannedRun>> plan_experiment(const Experiment& experiment, uint64_t seed,
                                                const std::string& bin_dir) {
  std::vector<PlannedRun> all;
  const std::vector<std::string> once{""};
  for (const std::string& x : experiment.x_values.empty() ? once : experiment.x_values) {
    for (const ExperimentRun& run : experiment.runs) {
      auto planned = plan_run(experiment, run, x, seed, bin_dir);
      if (!planned) return planned.error();
      all.push_back(std::move(*planned));
    }
  }
  return all;
}

std::string mismatch_of(const PlannedRun& planned, const CellResult& result) {
  const ExperimentRun& run = *planned.run;
  if (!result.verdict) return "no verdict: " + result.reason;
  if (result.code == kExitHarness) return "the harness failed: " + result.reason;
  const std::string word = result.word();
  const bool other = run.expect == "sound" ? word == "invalid" : run.expect != "any" && word != run.expect;
  if (other)
    return "expected " + run.expect + ", seen " + word + ": " + result.witness();
  for (const ClauseVerdict& clause : judge_clauses(*result.verdict, planned.cell.spec.workload)) {
    const std::string seen = word_of_clause(clause);
    for (const auto& [id, expected] : run.clauses) {
      if (id != clause.clause->id || seen == expected) continue;
      return id + ": expected " + expected + ", seen " + seen +
             (clause.reason.empty() ? "" : ": " + clause.reason);
    }
  }
  return "";
}

std::optional<double> figure_value(const FigureLine& line, const CellResult& result) {
  const Verdict* verdict = result.verdict ? result.verdict->find(line.checker) : nullptr;
  if (!verdict) return std::nullopt;
  const auto number = count_in(*verdict, line.count);
  if (!number) return std::nullopt;
  if (line.per.empty()) return static_cast<double>(*number * line.times);
  const auto per = count_in(*verdict, line.per);
  if (!per || *per == 0) return std::nullopt;
  return static_cast<double>(*number) * static_cast<double>(line.times) / static_cast<double>(*per);
}

}  // namespace assay
