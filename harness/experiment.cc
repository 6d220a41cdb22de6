#include "harness/experiment.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "checkers/history/json_text.h"
#include "checkers/history/vocabulary.h"
#include "checkers/history/watch_value.h"
#include "harness/experiments_data.h"
#include "harness/quorum.h"

namespace assay {
namespace {

std::string text_of(const Value& object, const char* name) {
  return std::string(object.text_or(name, ""));
}

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> texts;
  if (list.is_array())
    for (const Value& x : list.as_array())
      texts.emplace_back(x.is_string() ? std::string(x.as_text()) : x.to_json());
  return texts;
}

Result<ExperimentRun> read_run(const Value& value, const std::string& file) {
  ExperimentRun run;
  run.name = text_of(value, "name");
  run.with = value["with"];
  run.expect = std::string(value.text_or("expect", "valid"));
  run.x_values = texts_of(value["values"]);
  run.quorum = text_of(value, "quorum");
  if (value["answers"].is_object())
    for (const auto& [step, word] : value["answers"].as_object())
      run.answers.emplace_back(step.text(), word.as_text());
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

FigureLine read_line(const Value& value, const std::vector<std::string>& x_values) {
  FigureLine line{.label = text_of(value, "label"),
                  .run = text_of(value, "run"),
                  .checker = text_of(value, "checker"),
                  .count = text_of(value, "count"),
                  .per = text_of(value, "per"),
                  .times = value.int_or("times", 1),
                  .trend = text_of(value, "trend")};
  if (value["margin"].is_int()) line.margin = static_cast<double>(value["margin"].as_int());
  line.zero = value["zero"].is_string() ? x_values : texts_of(value["zero"]);
  return line;
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
  if (experiment.quorum_patience)
    spec.script = quorum_script(spec.nodes.value_or(5), *experiment.quorum_patience);
  spec.seed = seed;
  spec.bin_dir = bin_dir;
  return planned;
}

std::string two_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", number);
  return text;
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
  experiment.x_values = texts_of(sweep["values"]);
  for (ExperimentRun& run : experiment.runs)
    if (run.x_values.empty()) run.x_values = experiment.x_values;
  const Value& figure = (*json)["figure"];
  if (figure["y"].is_array())
    for (const Value& line : figure["y"].as_array())
      experiment.figure.push_back(read_line(line, experiment.x_values));
  for (const FigureLine& line : experiment.figure) {
    const bool known = line.run.empty() || std::any_of(experiment.runs.begin(), experiment.runs.end(),
                                                       [&](const auto& run) { return run.name == line.run; });
    if (!known) return input_error(name + ": a line of the figure is of no run: \"" + line.run + "\"");
  }
  if (!(*json)["quorum"].is_null()) {
    auto patience = parse_duration(text_of((*json)["quorum"], "patience"));
    if (!patience) return input_error(name + ": \"patience\": " + patience.error().message);
    experiment.quorum_patience = *patience;
  }
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
      if (!x.empty() && std::find(run.x_values.begin(), run.x_values.end(), x) == run.x_values.end())
        continue;
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

std::string answer_word(const Operation& operation) {
  if (operation.type() == OpType::kInfo) return "unknown";
  if (operation.f() == f::watch) {
    const auto seen = watch_seen(operation.result());
    if (seen && seen->end == WatchEnd::kCompacted) return "compacted";
  }
  if (operation.type() == OpType::kOk) return "ok";
  static const Symbol conflict("conflict");
  if (operation.error_class() != conflict) return std::string(operation.error_class().text());
  const Token absent(int64_t{0});
  if (operation.expected() == absent) return "already exists";
  return operation.error_current() == absent ? "not found" : "conflict";
}

std::string answers_mismatch(const ExperimentRun& run, const History& history) {
  for (const auto& [step, expected] : run.answers) {
    std::string seen = "nothing: it was not performed";
    for (size_t id = 0; id < history.size(); ++id)
      if (history[id].invoke_extra().text_or("step", "") == step) seen = answer_word(history[id]);
    if (seen != expected) return "step \"" + step + "\": expected " + expected + ", answered " + seen;
  }
  return "";
}

std::string line_mismatch(const FigureLine& line, const std::vector<std::string>& x,
                          const std::vector<std::optional<double>>& y) {
  std::vector<double> known;
  const bool falls = line.trend == "falling";
  double farthest = 0;  // in the direction of the trend
  for (size_t i = 0; i < y.size(); ++i) {
    if (!y[i]) continue;
    const bool zero = std::find(line.zero.begin(), line.zero.end(), x[i]) != line.zero.end();
    if (zero && *y[i] != 0) return line.label + " is " + two_digits(*y[i]) + " at " + x[i] + ", expected 0";
    const double height = falls ? -*y[i] : *y[i];
    if (!known.empty() && line.margin && !line.trend.empty() && height < farthest - *line.margin)
      return line.label + " is " + two_digits(*y[i]) + " at " + x[i] + " after " +
             two_digits(falls ? -farthest : farthest) + ", expected " + line.trend + " within " +
             two_digits(*line.margin);
    farthest = known.empty() ? height : std::max(farthest, height);
    known.push_back(*y[i]);
  }
  if (known.empty()) return "the series \"" + line.label + "\" is empty";
  if (line.trend.empty()) return "";
  if (known.size() < 2) return "the series \"" + line.label + "\" is too short for a trend";
  const bool holds = falls ? known.back() < known.front() : known.back() > known.front();
  if (holds) return "";
  return line.label + " goes from " + two_digits(known.front()) + " to " + two_digits(known.back()) +
         ", expected " + line.trend;
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
