#include "harness/conclude.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/render.h"
#include "results/files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kDataBytesMax = 256 << 20;  // of all nodes' data folders, where they are kept

uintmax_t bytes_below(const fs::path& folder) {
  uintmax_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored)) bytes += entry.file_size(ignored);
  }
  return bytes;
}

// The nodes' data are for finding out what went wrong.
void keep_or_remove_data(const Plan& plan, const RunFolder& folder, bool wanted, Console& console) {
  const bool keep = wanted || plan.spec.keep_data;
  if (keep && (plan.spec.keep_data || bytes_below(folder.file("nodes")) <= kDataBytesMax)) return;
  if (keep)
    console.note("the nodes' data folders are too large and are not kept (--keep-data keeps them)");
  for (const NodeInfo& node : plan.layout.nodes) {
    std::error_code ignored;
    fs::remove_all(fs::path(folder.node_path(node.name)) / "data", ignored);
  }
}

IndexLine index_line(const Plan& plan, const RunFolder& folder, const Recorded& recorded,
                     const RunInfo& info, const Verdict& verdict, std::string word) {
  IndexLine line;
  line.folder = folder.name();
  line.started = info.started;
  line.target = plan.target->name();
  line.workload = plan.spec.workload;
  line.faults = info.faults;
  line.seed = plan.seed;
  line.verdict = std::move(word);
  line.reason = info.failure.empty() ? verdict.worst()->reason : info.failure;
  line.ok = recorded.counts.ok;
  line.fail = recorded.counts.fail;
  line.info = recorded.counts.info;
  line.duration_ms = to_ms(recorded.duration);
  return line;
}

std::vector<std::pair<std::string, std::string>> expectations(const TestSpec& spec) {
  return {spec.expect.begin(), spec.expect.end()};
}

// What GitHub Actions shows of a run, where this is one of its jobs.
void tell_github(const Report& report) {
  if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY")) {
    std::ofstream(summary, std::ios::app) << markdown_report(report);
  }
  if (std::getenv("GITHUB_ACTIONS")) std::fputs(github_error_line(report).c_str(), stdout);
}

}  // namespace

Verdict undecided(std::string reason) {
  Verdict verdict;
  verdict.name = "run";
  verdict.safety = Safety::kUnknown;
  verdict.reason = std::move(reason);
  return verdict;
}

ExitCode conclude(const Plan& plan, const RunFolder& folder, const Recorded& recorded,
                  Judged judged, RunInfo info, Console& console) {
  static const History kNothing;
  const History& history = judged.checked ? judged.checked->history : kNothing;
  const Verdict& verdict = judged.verdict;
  info.failure = judged.failure;
  info.interrupted = recorded.interrupted;
  if (judged.checked) {
    info.read_time = judged.checked->read_time;
    info.check_time = judged.checked->check_time;
  }
  std::string mismatch;
  ExitCode code = expected_exit_code(verdict, expectations(plan.spec), &mismatch);
  for (const auto& [path, word] : plan.spec.expect)
    info.expected += (info.expected.empty() ? "" : ", ") + word + (path.empty() ? "" : ":" + path);
  info.as_expected = mismatch.empty();
  const bool convicted = verdict.safety == Safety::kInvalid;
  if (!judged.failure.empty() && !convicted) code = kExitHarness;
  if (recorded.interrupted && judged.failure.empty() && !convicted) code = kExitInterrupted;

  std::vector<std::string> problems;
  const auto must = [&](Result<void> written) {
    if (!written) problems.push_back(written.error().message);
  };
  must(folder.write_verdict(verdict, history));
  collect_logs(folder, history, verdict, info);
  const Report report(history, verdict, info);
  if (!recorded.impatient) {
    for (const Form& form : all_forms()) must(folder.write(form.file, form.render(report)));
  }
  keep_or_remove_data(plan, folder, code != kExitValid || verdict.word() != Word::kValid, console);
  must(append_index(plan.spec.out,
                    index_line(plan, folder, recorded, info, verdict,
                               std::string(code == kExitUnexpected ? to_string(verdict.word())
                                                                   : word_of(code)))));

  // Of a set-up that failed there is nothing to tell but why.
  const bool played = recorded.counts.ok + recorded.counts.fail + recorded.counts.info > 0;
  if (judged.failure.empty() || played)
    console.say(console.brief() ? text_line(report, {.color = console.color()})
                                : text_report(report, {.color = console.color()}));
  if (!judged.failure.empty()) console.error(judged.failure);
  if (!mismatch.empty()) console.say(mismatch);
  if (console.json()) std::fputs(json_report(report).c_str(), stdout);
  tell_github(report);
  std::fflush(stdout);
  for (const std::string& problem : problems) console.error(problem);
  return problems.empty() ? code : worse(code, kExitHarness);
}

}  // namespace assay
