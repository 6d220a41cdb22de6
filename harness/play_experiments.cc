#include "harness/play_experiments.h"

#include <chrono>
#include <ctime>

#include "checkers/history/history_io.h"
#include "checkers/history/json_text.h"
#include "checkers/words.h"
#include "harness/quorum.h"
#include "results/files.h"
#include "results/report/matrix.h"
#include "results/report/series.h"
#include "results/store.h"

namespace assay {
namespace {

struct Played {
  PlannedRun planned;
  std::optional<CellResult> result;
  int tries = 0;
  std::string beyond_verdict;       // how its history is not as expected, though the verdict may be
  std::vector<QuorumCell> quorum;   // the row of a matrix

  // By us, not by the store.
  bool failed() const { return !result || !result->verdict || result->word() == "failed"; }
  bool undecided() const {
    const std::string& expect = planned.run->expect;
    for (const QuorumCell& cell : quorum)
      if (!cell.not_measured.empty()) return true;
    if (!result || !result->verdict || result->word() == "failed") return true;
    if (expect == "any" || expect == "sound") return false;
    return result->word() == "vacuous" || result->word() == "unknown";
  }
  std::string mismatch() const {
    if (!result) return "it was not played";
    const std::string otherwise = mismatch_of(planned, *result);
    return otherwise.empty() ? beyond_verdict : otherwise;
  }

  // What is expected of the history itself.
  void read_history_of_run() {
    quorum.clear();
    beyond_verdict.clear();
    const ExperimentRun& run = *planned.run;
    if ((run.answers.empty() && run.quorum.empty()) || !result->verdict) return;
    auto history = read_history(result->run_folder + "/history.jsonl");
    if (!history) {
      beyond_verdict = history.error().message;
      return;
    }
    beyond_verdict = answers_mismatch(run, *history);
    if (!run.quorum.empty()) quorum = quorum_row(*history);
  }
};

std::string clauses_of(const ExperimentRun& run) {
  std::vector<std::string> told;
  for (const auto& [clause, word] : run.clauses) told.push_back(clause + " " + word);
  return told.empty() ? "" : listed(told);
}

class Play {
 public:
  Play(const std::vector<const Experiment*>& experiments, const PlayOptions& options,
       Console& console)
      : experiments_(experiments), options_(options), console_(console) {}

  ExitCode run() {
    if (auto planned = plan(); !planned) {
      console_.error(planned.error().message);
      return exit_code(planned.error());
    }
    auto made = make_new_folder(options_.out + "/" + utc_stamp(std::time(nullptr)) + "-" +
                                std::to_string(options_.seed));
    if (!made) {
      console_.error(made.error().message);
      return kExitHarness;
    }
    folder_ = *made;
    console_.note("seed " + std::to_string(options_.seed) + ", " +
                  counted(played_.size(), "run", "runs") + ", results in " + folder_);
    ExitCode code = play([](const Played&) { return true; });
    for (int more = 0; more < 2 && code == kExitValid; ++more)
      code = play([](const Played& played) { return played.undecided(); });
    if (code == kExitInterrupted) console_.error("interrupted: the runs that ended are in " + folder_);
    return code == kExitValid ? conclude() : code;
  }

 private:
  Result<void> plan() {
    for (const Experiment* experiment : experiments_) {
      if (!experiment->pending.empty()) continue;
      auto planned = plan_experiment(*experiment, options_.seed, options_.bin_dir);
      if (!planned) return planned.error();
      for (PlannedRun& run : *planned) played_.emplace_back().planned = std::move(run);
    }
    return {};
  }

  template <typename Wanted>
  ExitCode play(Wanted wanted) {
    std::vector<Cell> cells;
    std::vector<size_t> of;
    for (size_t i = 0; i < played_.size(); ++i) {
      if (!wanted(played_[i])) continue;
      cells.push_back(played_[i].planned.cell);
      cells.back().spec.time_limit = cells.back().spec.time_limit * (played_[i].tries + 1);
      of.push_back(i);
    }
    if (cells.empty()) return kExitValid;
    return play_cells(cells, folder_, options_.jobs,
                      [&](const CellResult& result) { take(of[result.cell], result); }, console_);
  }

  void take(size_t at, const CellResult& result) {
    Played& played = played_[at];
    played.result = result;
    ++played.tries;
    played.read_history_of_run();
    const std::string mismatch = played.mismatch();
    console_.note(played.planned.cell.id + ": " + result.word() +
                  (mismatch.empty() ? "" : played.failed() ? ": " + result.reason : "  NOT AS EXPECTED: " + mismatch));
  }

  ExitCode conclude() {
    std::string table = "| experiment | run | expected | seen | clauses | witness | time |\n|---|---|---|---|---|---|---|\n";
    int wrong = 0, right = 0, failed = 0, pending = 0;
    Value::Array rows;
    for (const Played& played : played_) {
      const std::string mismatch = played.mismatch();
      (played.failed() ? failed : mismatch.empty() ? right : wrong) += 1;
      table += row(played, mismatch);
      rows.push_back(as_value(played, mismatch));
    }
    for (const Experiment* experiment : experiments_) {
      if (experiment->pending.empty()) continue;
      ++pending;
      table += "| " + experiment->name + " | | | pending | | " + experiment->pending + " | |\n";
    }
    if (const int bad = draw_figures() + draw_matrices(); failed == 0) wrong += bad;  // without their runs they say nothing
    const std::string summary = std::to_string(right) + " as expected, " + std::to_string(wrong) +
                                " not, " + (failed > 0 ? std::to_string(failed) + " failed, " : "") + counted(static_cast<size_t>(pending), "experiment", "experiments") + " pending";
    console_.say(table + "\n" + summary);
    for (const std::string& problem : problems_) console_.say(problem);
    const Value all = Value::object({{Symbol("format"), Value("assay-experiments")},
                                     {Symbol("version"), Value(1)},
                                     {Symbol("seed"), Value(static_cast<int64_t>(options_.seed))},
                                     {Symbol("as_expected"), Value(right)},
                                     {Symbol("not_as_expected"), Value(wrong)},
                                     {Symbol("failed"), Value(failed)},
                                     {Symbol("pending"), Value(pending)},
                                     {Symbol("runs"), Value::array(std::move(rows))}});
    std::string problems;
    for (const std::string& problem : problems_) problems += "\n" + problem + "\n";
    const auto written =
        write_file(folder_ + "/table.md", table + matrices_ + problems + "\n" + summary + "\n");
    const auto kept = write_file(folder_ + "/experiments.json", pretty_json(all));
    if (console_.json()) std::fputs(pretty_json(all).c_str(), stdout);
    if (!written || !kept) {
      console_.error((!written ? written : kept).error().message);
      return kExitHarness;
    }
    return worse(wrong > 0 ? kExitUnexpected : kExitValid, failed > 0 ? kExitHarness : kExitValid);
  }

  static std::string row(const Played& played, const std::string& mismatch) {
    const PlannedRun& planned = played.planned;
    std::string witness = played.result ? played.result->witness() : "";
    for (char& c : witness)
      if (c == '|' || c == '\n') c = '/';
    return "| " + planned.experiment->name + " | " + planned.run->name +
           (planned.x.empty() ? "" : " " + planned.x) + " | " + planned.run->expect + " | " +
           (played.result ? played.result->word() : "not played") +
           (mismatch.empty() || played.failed() ? "" : " **not as expected**") + " | " + clauses_of(*planned.run) +
           " | " + (mismatch.empty() ? witness : mismatch) + " | " +
           (played.result ? format_point(played.result->took) : "") + " |\n";
  }

  static Value as_value(const Played& played, const std::string& mismatch) {
    const PlannedRun& planned = played.planned;
    return Value::object(
        {{Symbol("experiment"), Value(planned.experiment->name)},
         {Symbol("run"), Value(planned.run->name)},
         {Symbol("x"), Value(planned.x)},
         {Symbol("expected"), Value(planned.run->expect)},
         {Symbol("seen"), Value(played.result ? played.result->word() : "not played")},
         {Symbol("as_expected"), Value(mismatch.empty())},
         {Symbol("mismatch"), Value(mismatch)},
         {Symbol("tries"), Value(played.tries)},
         {Symbol("witness"), Value(played.result ? played.result->witness() : "")},
         {Symbol("run_folder"), Value(played.result ? played.result->run_folder : "")}});
  }

  // A figure is one per run of the sweep; how many are not as they should be.
  int draw_figures() {
    int wrong = 0;
    for (const Experiment* experiment : experiments_) {
      if (experiment->figure.empty() || !experiment->pending.empty()) continue;
      if (!experiment->figure.front().run.empty()) {
        wrong += draw_figure(*experiment, nullptr);
        continue;
      }
      for (const ExperimentRun& run : experiment->runs) wrong += draw_figure(*experiment, &run);
    }
    return wrong;
  }

  // Of one run; nullptr: of those that the lines name.
  int draw_figure(const Experiment& experiment, const ExperimentRun* run) {
    const std::string of_run = run ? " (" + run->name + ")" : "";
    Series series{experiment.title + of_run, experiment.x_label, experiment.x_values, {}};
    const std::string name = experiment.name + (run ? "--" + run->name : "");
    int wrong = 0;
    for (const FigureLine& line : experiment.figure) {
      series.lines.push_back({run ? line.label : line.run + ": " + line.label,
                              values_of(experiment, run ? run->name : line.run, line)});
      const std::string problem = line_mismatch(line, series.x, series.lines.back().y);
      if (problem.empty()) continue;
      ++wrong;
      tell_problem(name, problem);
    }
    draw(name, series_svg(series));
    return wrong;
  }

  std::vector<std::optional<double>> values_of(const Experiment& experiment, const std::string& run,
                                               const FigureLine& line) const {
    std::vector<std::optional<double>> values(experiment.x_values.size());
    for (const Played& played : played_) {
      if (played.planned.experiment != &experiment || played.planned.run->name != run) continue;
      for (size_t i = 0; i < values.size(); ++i)
        if (experiment.x_values[i] == played.planned.x && played.result)
          values[i] = figure_value(line, *played.result);
    }
    return values;
  }

  int draw_matrices() {
    int wrong = 0;
    for (const Experiment* experiment : experiments_) {
      if (!experiment->quorum_patience || !experiment->pending.empty()) continue;
      for (const ExperimentRun& run : experiment->runs) wrong += draw_matrix(*experiment, run);
    }
    return wrong;
  }

  int draw_matrix(const Experiment& experiment, const ExperimentRun& run) {
    std::vector<QuorumCell> cells;
    std::vector<int> sizes;
    for (const Played& played : played_) {
      if (played.planned.run != &run) continue;
      sizes.push_back(played.planned.cell.spec.nodes.value_or(0));
      cells.insert(cells.end(), played.quorum.begin(), played.quorum.end());
    }
    const std::string name = experiment.name + "--" + run.name;
    const Matrix matrix = quorum_matrix(cells, sizes, experiment.title + " (" + run.name + ")");
    draw(name, matrix_svg(matrix));
    console_.say(matrix_text(matrix));
    matrices_ += "\n" + matrix_text(matrix);
    const auto problems = judge_quorum(cells, sizes, run.quorum);
    for (const std::string& problem : problems) tell_problem(name, problem);
    return static_cast<int>(problems.size());
  }

  void draw(const std::string& name, const std::string& svg) {
    auto made = make_folders(folder_ + "/figures");
    if (made) made = write_file(folder_ + "/figures/" + name + ".svg", svg);
    if (!made) console_.error(made.error().message);
  }

  void tell_problem(const std::string& name, const std::string& problem) {
    problems_.push_back(name + ": NOT AS EXPECTED: " + problem);
  }

  const std::vector<const Experiment*>& experiments_;
  const PlayOptions& options_;
  Console& console_;
  std::string folder_;
  std::vector<Played> played_;
  std::vector<std::string> problems_;
  std::string matrices_;  // as tables
};

}  // namespace

ExitCode play_experiments(const std::vector<const Experiment*>& experiments,
                          const PlayOptions& options, Console& console) {
  return Play(experiments, options, console).run();
}

}  // namespace assay
