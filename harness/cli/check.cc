#include <memory>
#include <optional>

#include "checkers/history/history_io.h"
#include "checkers/history/output_file.h"
#include "harness/checking.h"
#include "harness/cli/verbs.h"
#include "harness/console.h"
#include "harness/render.h"
#include "harness/signal_exit.h"
#include "harness/signal_flag.h"
#include "results/files.h"
#include "results/proof_file.h"
#include "results/report/html.h"

namespace assay {
namespace {

Result<Conventions> conventions_of(const CheckArgs& args) {
  Conventions conventions;
  if (args.model == "") return input_error("--model: expected the name of a model, found \"\"");
  conventions.model = args.model;
  conventions.key = args.key;
  conventions.checkers = args.checkers;
  conventions.format = history_format(args.read.from).value_or(HistoryFormat::kGuess);
  if (!args.read.independent.empty()) conventions.independent = args.read.independent == "yes";
  conventions.prove = args.proof.has_value();
  if (args.failed_cas) conventions.failed_cas_observes = *args.failed_cas == "observe";
  if (args.null_read) conventions.null_read_is_value = *args.null_read == "value";
  if (args.initial) {
    auto value = parse_value(*args.initial);
    if (!value) return input_error("--initial: " + value.error().message);
    conventions.initial = std::move(*value);
  }
  return conventions;
}

Result<CheckLimits> limits_of(const CheckArgs& args, const SignalFlag& signalled) {
  CheckLimits limits;
  limits.jobs = args.jobs;
  limits.interrupted = signalled.flag();
  auto time = parse_duration(args.budget);
  if (!time) return input_error("--budget: " + time.error().message);
  limits.time = *time;
  if (args.read.memory) {
    auto size = parse_size(*args.read.memory);
    if (!size) return size.error();
    limits.memory_bytes = *size;
  }
  return limits;
}

// A run folder, when PATH is one; `file` is that of the history otherwise.
Result<std::optional<RunFolder>> folder_of(const std::string& path, std::string& file) {
  auto found = history_file(path);
  if (!found) return found.error();
  if (*found) {
    file = **found;
    return std::optional<RunFolder>();
  }
  auto folder = RunFolder::open(path, std::string(kDefaultRuns));
  if (!folder) return folder.error();
  return std::optional<RunFolder>(std::move(*folder));
}

// What is to be written besides the verdict, opened before the work.
struct Outputs {
  std::unique_ptr<OutputFile> page;
  std::unique_ptr<OutputFile> proof;
};

Result<void> open_output(const std::optional<std::string>& path,
                         std::unique_ptr<OutputFile>& file) {
  if (!path) return {};
  auto opened = OutputFile::open(*path);
  if (!opened) return opened.error();
  file = std::move(*opened);
  return {};
}

Result<Outputs> open_outputs(const CheckArgs& args) {
  Outputs outputs;
  if (auto page = open_output(args.out, outputs.page); !page) return page.error();
  if (auto proof = open_output(args.proof, outputs.proof); !proof) return proof.error();
  return outputs;
}

Result<void> write_whole(OutputFile& file, const std::string& text) {
  if (auto written = file.write(text); !written) return written;
  return file.close();
}

// The page says how it comes again, where there is no run that could.
Result<void> write_page(OutputFile& file, const CheckArgs& args, const Checked& checked,
                        RunInfo info) {
  if (info.rerun.empty() && args.path != "-") info.rerun = "assay check " + args.path;
  return write_whole(file, html_report(Report(checked.history, checked.verdict, info)));
}

Result<void> write_proof(OutputFile& file, const Checked& checked, Console& console) {
  if (const std::string none = unproven_sentence(checked.proof); !none.empty()) console.say(none);
  return write_whole(file, proof_to_jsonl(checked.proof, checked.history));
}

// As the run's own verdict, unless the check was of a part of it or otherwise than recorded, or says
// less than the one that is there.
Result<void> keep_verdict(const RunFolder& folder, const CheckArgs& args, const Checked& checked,
                          bool interrupted) {
  const bool is_less = interrupted || checked.verdict.word() == Word::kUnknown;
  const bool is_kept = folder.read_verdict().ok() && is_less;
  if (!args.is_partial() && !is_kept) return folder.write_verdict(checked.verdict, checked.history);
  if (args.voice.verbosity >= 0) {
    std::fprintf(stderr, "assay: %s stays as it is: this was %s\n",
                 folder.file("verdict.json").c_str(),
                 is_kept ? "not decided" : "a check of a part of the run, or with options of its own");
  }
  return {};
}

}  // namespace

int check_verb(const CheckArgs& args) {
  auto conventions = conventions_of(args);
  if (!conventions) return fail(conventions.error());
  const SignalFlag signalled;
  auto limits = limits_of(args, signalled);
  if (!limits) return fail(limits.error());
  const bool taken = args.out == "-" || args.proof == "-";  // standard output
  if (args.voice.json + (args.out == "-") + (args.proof == "-") > 1) {
    return fail(input_error("standard output: expected one of --json, -o - and --proof -"));
  }
  TestSpec expectations;
  if (args.expect) {
    if (auto set = set_option(expectations, "expect", *args.expect); !set) return fail(set.error());
  }
  std::string file;
  auto folder = folder_of(args.path, file);
  if (!folder) return fail(folder.error());

  if (*folder) file = (*folder)->history_path();
  std::vector<std::string> inputs{file};
  if (*folder) {
    for (const char* name : {"verdict.json", "spec.json"}) inputs.push_back((*folder)->file(name));
  }
  for (const std::string& input : inputs) {
    auto apart = no_output_is_input(input, {args.out.value_or(""), args.proof.value_or("")});
    if (!apart) return fail(apart.error());
  }
  std::optional<SignalExit> while_reading(std::in_place);
  auto outputs = open_outputs(args);
  if (!outputs) return fail(outputs.error());
  for (const auto* output : {&outputs->page, &outputs->proof}) {
    if (*output && !(*output)->part().empty()) while_reading->removes((*output)->part());
  }
  limits->has_read = [&] { while_reading.reset(); };
  auto checked = check_file(file, *conventions, *limits);
  if (!checked) return fail(checked.error());

  RunInfo info;
  if (*folder) {
    if (auto spec = (*folder)->read_spec()) {
      take_spec(*spec, info);
    } else {
      std::fprintf(stderr, "assay: warning: %s\n", spec.error().message.c_str());
    }
    info.folder = (*folder)->path();
    info.rerun = "assay rerun " + info.folder;
    if (auto kept = keep_verdict(**folder, args, *checked, *signalled.flag()); !kept)
      std::fprintf(stderr, "assay: warning: %s\n", kept.error().message.c_str());
    collect_logs(**folder, checked->history, checked->verdict, info);
  }
  info.assay_version = ASSAY_VERSION;
  info.read_time = checked->read_time;
  info.check_time = checked->check_time;
  info.interrupted = *signalled.flag();
  std::string mismatch;
  ExitCode code = expected_exit_code(
      checked->verdict, {expectations.expect.begin(), expectations.expect.end()}, &mismatch);
  if (info.interrupted && code != kExitInvalid) code = kExitInterrupted;
  info.as_expected = mismatch.empty();
  if (args.expect) info.expected = *args.expect;

  const Report report(checked->history, checked->verdict, info);
  Console console({.json = args.voice.json || taken,
                   .verbosity = args.voice.verbosity,
                   .color = args.voice.color});
  for (const std::string& warning : checked->history.warnings())
    console.note("warning: " + warning);
  console.say(console.brief() ? text_line(report, {.color = console.color()})
                              : text_report(report, {.color = console.color()}));
  if (!mismatch.empty()) console.say(mismatch);
  if (args.voice.json) std::fputs(json_report(report).c_str(), stdout);
  if (outputs->page) {
    auto written = write_page(*outputs->page, args, *checked, info);
    if (!written) code = worse(code, static_cast<ExitCode>(fail(written.error())));
  }
  if (outputs->proof) {
    auto written = write_proof(*outputs->proof, *checked, console);
    if (!written) code = worse(code, static_cast<ExitCode>(fail(written.error())));
  }
  return code;
}

int report_verb(const ReportArgs& args) {
  auto folder = RunFolder::open(args.run, std::string(kDefaultRuns));
  if (!folder) return fail(folder.error());
  std::unique_ptr<OutputFile> out;
  const std::string history_path = folder->history_path();
  if (auto apart = no_output_is_input(history_path, {args.out.value_or("")}); !apart)
    return fail(apart.error());
  if (auto opened = open_output(args.out, out); !opened) return fail(opened.error());
  auto history = read_history(history_path);
  if (!history) return fail(history.error());
  auto verdict = folder->read_verdict();
  if (!verdict) return fail(verdict.error());
  RunInfo info;
  auto spec = folder->read_spec();
  if (!spec) return fail(spec.error());
  take_spec(*spec, info);
  info.folder = folder->path();
  info.rerun = "assay rerun " + info.folder;
  collect_logs(*folder, *history, *verdict, info);
  const Report report(*history, *verdict, info);

  std::string text, file;
  if (args.form == "json") text = json_report(report);
  for (const Form& form : all_forms()) {
    if (args.form != form.name) continue;
    text = form.render(report);
    file = folder->file(form.file);
  }
  if (out) {
    if (auto written = write_whole(*out, text); !written) return fail(written.error());
    if (*args.out != "-") std::printf("%s\n", args.out->c_str());
    return kExitValid;
  }
  if (file.empty()) {
    std::fputs(text.c_str(), stdout);
    return kExitValid;
  }
  if (auto written = write_file(file, text); !written) return fail(written.error());
  std::printf("%s\n", file.c_str());
  return kExitValid;
}

}  // namespace assay
