#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"
#include "harness/checking.h"
#include "harness/cli/verbs.h"
#include "harness/signal_exit.h"
#include "results/store.h"

namespace assay {
namespace {

// By the end of the file's name, before .gz or .zst.
Result<HistoryFormat> format_to_write(const ConvertArgs& args) {
  if (!args.to.empty()) return *history_format(args.to);
  std::string_view name = args.out;
  for (const std::string_view end : {".gz", ".zst"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  if (name.ends_with(".edn")) return HistoryFormat::kEdn;
  if (name.ends_with(".jsonl")) return HistoryFormat::kJsonl;
  return input_error("--to: expected jsonl or edn, as " + args.out + " does not end in either");
}

Result<std::string> file_to_read(const std::string& path) {
  auto file = history_file(path);
  if (!file) return file.error();
  if (*file) return **file;
  auto folder = RunFolder::open(path, std::string(kDefaultRuns));
  if (!folder) return folder.error();
  return folder->history_path();
}

// Also of a file that is not there yet.
std::filesystem::path resolved(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

Result<ReadOptions> options_of(const ReadArgs& args) {
  ReadOptions options{.memory_bytes_max = most_of_memory()};
  if (args.memory) {
    auto size = parse_size(*args.memory);
    if (!size) return size.error();
    options.memory_bytes_max = *size;
  }
  options.format = history_format(args.from).value_or(HistoryFormat::kGuess);
  if (!args.independent.empty()) options.independent = args.independent == "yes";
  return options;
}

}  // namespace

Result<std::optional<std::string>> history_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (path == "-" || (fs::exists(path, ignored) && !fs::is_directory(path, ignored)))
    return std::optional<std::string>(path);
  const bool bare = path.find('/') == path.npos;
  const auto is_there = [&](const fs::path& p) {
    return fs::exists(fs::symlink_status(p, ignored));
  };
  if (!is_there(path) && !(bare && is_there(fs::path(kDefaultRuns) / path)))
    return input_error("there is no file or folder \"" + path + "\"" +
                       (bare ? ", nor a run of that name in " + std::string(kDefaultRuns) : ""));
  if (fs::exists(fs::path(path) / "history.jsonl", ignored)) return std::optional<std::string>();
  auto found = jepsen_history_in(path);
  if (!found) return std::optional<std::string>();
  if (!*found) return found->error();
  return std::optional<std::string>(**found);
}

Result<void> no_output_is_input(const std::string& named, const std::vector<std::string>& outs) {
  std::error_code ignored;
  const std::string in = named == "-" ? "/dev/stdin" : named;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (outs[i].empty() || outs[i] == "-") continue;
    if (std::filesystem::is_regular_file(in, ignored) &&
        std::filesystem::equivalent(in, outs[i], ignored))
      return input_error(outs[i] + ": expected another file than the history itself to write to");
    for (size_t j = 0; j < i; ++j) {
      if (!outs[j].empty() && resolved(outs[i]) == resolved(outs[j]))
        return input_error(outs[i] + ": expected a file for each of two outputs, found one for both");
    }
  }
  return {};
}

int convert_verb(const ConvertArgs& args) {
  auto format = format_to_write(args);
  if (!format) return fail(format.error());
  auto options = options_of(args.read);
  if (!options) return fail(options.error());
  auto file = file_to_read(args.in);
  if (!file) return fail(file.error());
  if (auto apart = no_output_is_input(*file, {args.out}); !apart) return fail(apart.error());
  SignalExit on_signal;
  auto out = OutputFile::open(args.out);
  if (!out) return fail(out.error());
  on_signal.removes((*out)->part());
  auto history = read_history(*file, *options);
  if (!history) return fail(history.error());
  for (const std::string& warning : history->warnings())
    std::fprintf(stderr, "assay: warning: %s\n", warning.c_str());
  if (auto written = write_history(*history, std::move(*out), *format); !written)
    return fail(written.error());
  return kExitValid;
}

}  // namespace assay
