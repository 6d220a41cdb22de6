// The verbs of the command line: one file each; cli.cc parses, these act. Each returns an exit
// code.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/exit_code.h"
#include "harness/spec.h"

namespace assay {

// How to speak to the user.
struct Voice {
  bool json = false;  // one JSON object on standard output, everything else on standard error
  int verbosity = 0;  // -1: -q, 1: -v
  bool color = true;  // only ever on a terminal
};

struct RunArgs {
  TestSpec spec;
  std::optional<std::pair<uint64_t, uint64_t>> seeds;  // A..B, both included
  int jobs = 1;
  std::optional<std::string> stop_on;  // a verdict's word
  std::vector<std::string> forwarded;  // the options as given, for a process per seed
  std::string command_line;
  Voice voice;
};
int run_verb(RunArgs args);

struct TryArgs {
  TestSpec spec;
  Voice voice;
};
int try_verb(TryArgs args);

struct RerunArgs {
  std::string run;
  int times = 1;
  Voice voice;
  std::string command_line;
};
int rerun_verb(const RerunArgs& args);

// How a history is read.
struct ReadArgs {
  std::string from;                   // a format's name; empty: guessed
  std::string independent;            // yes | no; empty: it shows
  std::optional<std::string> memory;  // "8G"; none: 80 % of RAM
};

struct ExperimentArgs {
  std::vector<std::string> names;
  bool all = false;
  std::optional<uint64_t> seed;
  int jobs = 1;
  std::string out = "results/experiments";
  std::string bin_dir;
  Voice voice;
};
int experiment_verb(const ExperimentArgs& args);

struct CertifyArgs {
  std::vector<std::string> targets;
  std::vector<std::string> settings;  // "target.option=value"
  std::string profile = "quick";
  std::string contract = "strong";
  std::string shard;  // "2/4"
  std::string time_limit;  // of nightly; empty: 1h
  std::optional<int> nodes;
  std::string net, hosts;
  std::optional<uint64_t> seed;
  std::string resume;
  std::string out = "results/certificates";
  std::string bin_dir;
  int jobs = 0;
  bool plan = false;
  Voice voice;
};
int certify_verb(const CertifyArgs& args);

struct MergeArgs {
  std::vector<std::string> folders;
  std::string out;
};
int merge_verb(const MergeArgs& args);
int verify_verb(const std::string& path);

struct CheckArgs {
  std::string path;
  ReadArgs read;
  std::optional<std::string> model;
  std::optional<std::string> initial;     // JSON
  std::optional<std::string> failed_cas;  // observe | ignore
  std::optional<std::string> null_read;   // value | unknown
  std::optional<std::string> key;
  std::vector<std::string> checkers;
  std::optional<std::string> expect;
  std::string budget = "60s";
  int jobs = 0;                      // 0: as many as CPUs
  bool html = false;                 // a page, to `out`
  std::optional<std::string> out;    // "-": standard output
  std::optional<std::string> proof;  // where to
  Voice voice;

  // Not of the whole history as it says itself that it is to be judged.
  bool is_partial() const {
    return key || !checkers.empty() || model || initial || failed_cas || null_read;
  }
};
int check_verb(const CheckArgs& args);

struct ConvertArgs {
  std::string in;
  ReadArgs read;
  std::string out;
  std::string to;  // jsonl | edn; empty: by the end of `out`
};
int convert_verb(const ConvertArgs& args);
// The file that holds the history: PATH itself, or that of a Jepsen run folder. Nothing: PATH may be
// a run folder of our own.
Result<std::optional<std::string>> history_file(const std::string& path);
// An input error where an output would be written over the history, or over another output.
Result<void> no_output_is_input(const std::string& in, const std::vector<std::string>& outs);

struct ReportArgs {
  std::string run;
  std::string form = "html";       // html, junit, markdown, json
  std::optional<std::string> out;  // none: the run folder's own file; "-": standard output
};
int report_verb(const ReportArgs& args);

struct ListArgs {
  std::string what;
  bool json = false;
  bool markdown = false;
  std::string runs = "results/runs";
};
int list_verb(const ListArgs& args);

int clean_verb(const std::string& hosts);

struct LabArgs {
  std::string what;  // up, down, status
  std::string name = "lab";
  int nodes = 5;
  std::string out;  // of up: the hosts file; empty: standard output
};
int lab_verb(const LabArgs& args);

struct DoctorArgs {
  std::string hosts;  // a file; empty: this machine alone
  std::string bin_dir;
  Voice voice;
};
int doctor_verb(const DoctorArgs& args);

struct ShellArgs {
  std::string run;
  std::string node;
  std::vector<std::string> command;
};
int shell_verb(const ShellArgs& args);

// Of a word, else of an option (what the help says of it, empty where there is none), else of a
// run; without a topic: which there are.
int explain_verb(const std::string& topic, const std::string& as_option);
int schema_verb(const std::string& name);
int version_verb();

// Prints "assay: MESSAGE" on standard error and gives the error's exit code.
int fail(const Error& error);

}  // namespace assay
