// The run folder: everything that is kept of one run, and the index of all runs beside it.
//
//   results/runs/20260102T150405Z-raft-register-partition+kill-7/
//     spec.json history.jsonl verdict.json report.html junit.xml summary.md assay.log nodes/<node>/
//   results/runs/latest        a symbolic link to the newest
//   results/runs/index.jsonl   one line per finished run
//
// Files are written whole or not at all (files.h); history.jsonl and assay.log grow while the run
// goes. Errors of writing are the environment's (255); a folder that is not what it should be is
// the user's input (254). One line each, with path and cause.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/checker.h"
#include "checkers/history/error.h"
#include "checkers/history/value.h"

namespace assay {

inline constexpr std::string_view kDefaultRuns = "results/runs";

// What a folder is named after.
struct RunName {
  std::string target;
  std::string workload;
  std::string faults;  // "partition+pause+kill"; "none"
  uint64_t seed = 0;
};

// "20260102T150405Z"
std::string utc_stamp(std::time_t now);
// The folder's name: characters other than letters, digits, '.', '_', '+' become '-', each part is
// capped at 40 characters.
std::string run_folder_name(const RunName& name, std::time_t now);

class RunFolder {
 public:
  // Makes a new folder below `runs` (which is made as well), with nodes/ in it, and points `latest`
  // to it. Two runs of the same second and name get -2, -3, … at the end.
  static Result<RunFolder> create(const std::string& runs, const RunName& name, std::time_t now);

  // `run` is the path of a run folder, of `latest`, or the name of a folder below `runs` (`latest`
  // again included). The folder must hold spec.json or history.jsonl.
  static Result<RunFolder> open(const std::string& run, const std::string& runs);

  const std::string& path() const { return path_; }
  std::string name() const;  // the last part of the path

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string spec_path() const { return file("spec.json"); }
  std::string history_path() const { return file("history.jsonl"); }
  std::string verdict_path() const { return file("verdict.json"); }
  std::string report_path() const { return file("report.html"); }
  std::string junit_path() const { return file("junit.xml"); }
  std::string summary_path() const { return file("summary.md"); }
  std::string log_path() const { return file("assay.log"); }
  std::string node_path(std::string_view node) const { return file("nodes/") + std::string(node); }
  std::string node_log_path(std::string_view node) const { return node_path(node) + "/node.log"; }

  Result<std::string> make_node_folder(std::string_view node) const;  // its path

  // `spec` as the schema "spec" says; format and version are put in front.
  Result<void> write_spec(const Value& spec) const;
  Result<void> write_verdict(const Verdict& verdict, const History& history) const;
  Result<void> write(std::string_view name, std::string_view text) const;

  Result<Value> read_spec() const;
  Result<Verdict> read_verdict() const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A line of the index.
struct IndexLine {
  std::string folder;   // name beside the index
  std::string started;  // "2026-01-02T15:04:05Z"
  std::string target;
  std::string workload;
  std::string faults;
  uint64_t seed = 0;
  std::string verdict;  // a word, or "failed", "interrupted"
  std::string reason;
  int64_t ok = 0;
  int64_t fail = 0;
  int64_t info = 0;
  int64_t duration_ms = 0;

  friend bool operator==(const IndexLine&, const IndexLine&) = default;
};

struct Index {
  std::vector<IndexLine> lines;       // in the order in which the runs ended
  std::vector<std::string> warnings;  // "…/index.jsonl:3:1: …": lines that were left out
};

Result<void> append_index(const std::string& runs, const IndexLine& line);
// Empty where there is no index yet.
Result<Index> read_index(const std::string& runs);

}  // namespace assay
