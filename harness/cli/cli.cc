#include "harness/cli/cli.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "checkers/history/history_io.h"
#include "harness/cli/verbs.h"

namespace assay {
namespace {

// One option of a spec as a flag: its text goes through set_option after parsing, in order, so that
// it overrides the spec file.
struct SpecFlag {
  const char* name;
  const char* value;  // what the help calls it; empty: a switch
  const char* help;
};

constexpr SpecFlag kSpecFlags[] = {
    {"target", "NAME", "what to test (default raft; see `assay list targets`)"},
    {"workload", "NAME", "what the clients do (default register; see `assay list workloads`)"},
    {"nemesis", "FAULTS",
     "faults such as kill:leader,partition:halves,pause, or none (default partition,pause,kill as "
     "far as possible)"},
    {"nodes", "N", "size of the cluster (default 5)"},
    {"time-limit,time", "TIME", "how long load and faults last (default 30s)"},
    {"rate", "N", "operations per second over all workers, or max (default 1000)"},
    {"concurrency", "N",
     "workers, in whole groups of 10, or per node as 4n (default 20, and at least one per node)"},
    {"keys", "N", "how many keys in all (default: a new one whenever one is used up)"},
    {"ops-per-key", "N", "operations on each key (default: 100 to 300, drawn)"},
    {"nemesis-interval", "TIME", "from the start of a fault to that of the next of its kind"},
    {"fault-duration", "TIME", "how long a fault lasts"},
    {"op-timeout", "TIME", "after which an operation counts as unknown (default 1s)"},
    {"out", "DIR", "where run folders go (default results/runs)"},
    {"deadline", "TIME", "for the whole run: past it heal, save, unknown (default 10m)"},
    {"set", "TARGET.OPTION=VALUE", "an option of the target, the workload or a nemesis (repeatable)"},
    {"expect", "WORD[:CHECKER]", "exit 0 on this verdict: valid, invalid or blocked; 5 on another"},
    {"net", "private|host",
     "a network of the run's own (default), or ports on 127.0.0.1 without partitions"},
    {"hosts", "FILE", "machines to run on, over SSH (see `assay explain hosts`): JSON"},
    {"base-port", "PORT", "the first of two ports: per node with --net host (default: free ones), on every host with "
     "--hosts (default 2379)"},
    {"leave-running", "", "keep the cluster after the verdict, until Ctrl-C"},
    {"keep-data", "", "keep the nodes' data folders whatever the verdict"},
    {"contract", "strong|weak",
     "what is asked of the store (default strong; weak: convergence, and reads that never go back)"},
    {"swarm", "",
     "each seed draws which faults there are, how they come, and the store's settings (see --seeds)"},
    {"fail-fast", "", "end the load at the first anomaly that is proven"},
    {"bin-dir", "DIR", "where assay-agent and assay-raft are (default: beside this program)"},
};

struct GivenFlags {
  std::vector<std::string> values[std::size(kSpecFlags)];
  bool on[std::size(kSpecFlags)] = {};
};

std::string long_name(const SpecFlag& flag) {
  const std::string name = flag.name;
  return name.substr(0, name.find(','));
}

void add_spec_flags(CLI::App& app, GivenFlags& given) {
  for (size_t i = 0; i < std::size(kSpecFlags); ++i) {
    const SpecFlag& flag = kSpecFlags[i];
    std::string names = "--" + std::string(flag.name);
    if (const size_t comma = names.find(','); comma != std::string::npos)
      names.insert(comma + 1, "--");
    if (*flag.value) {
      app.add_option(names, given.values[i], flag.help)
          ->type_name(flag.value)
          ->expected(1)
          ->take_all();
    } else {
      app.add_flag(names, given.on[i], flag.help);
    }
  }
}

// Into the spec, and as text for child processes.
Result<void> take_spec_flags(const GivenFlags& given, TestSpec& spec,
                             std::vector<std::string>& forwarded) {
  for (size_t i = 0; i < std::size(kSpecFlags); ++i) {
    const std::string name = long_name(kSpecFlags[i]);
    std::vector<std::string> values = given.values[i];
    if (given.on[i]) values = {"true"};
    for (const std::string& value : values) {
      if (auto set = set_option(spec, name, value); !set) return set;
      forwarded.push_back("--" + name + (given.on[i] ? "" : "=" + value));
    }
  }
  return {};
}

constexpr uint64_t kSeedsMax = 1'000'000;

Result<std::pair<uint64_t, uint64_t>> parse_seeds(const std::string& text) {
  const size_t dots = text.find("..");
  TestSpec low, high;
  const std::string from = text.substr(0, dots);
  const std::string to = dots == std::string::npos ? from : text.substr(dots + 2);
  if (!set_option(low, "seed", from) || !set_option(high, "seed", to) || *low.seed > *high.seed ||
      *high.seed - *low.seed >= kSeedsMax) {
    return input_error("--seeds: expected A..B with A <= B, at most a million of them, found \"" +
                       text + "\"");
  }
  return std::pair(*low.seed, *high.seed);
}

void add_voice(CLI::App& app, Voice& voice, bool& quiet, bool& verbose, bool& no_color) {
  app.add_flag("--json", voice.json, "one JSON object on standard output, logs on standard error");
  app.add_flag("-q,--quiet", quiet, "only the verdict");
  app.add_flag("-v,--verbose", verbose, "what the driver does, as it does it");
  app.add_flag("--no-color", no_color, "no colour on a terminal");
}

// A path that is needed: a variable that a script forgot to set is not a choice.
CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? "expected something, found \"\"" : std::string(); }, "");
}

// As it is typed, wherever the program lies.
std::string joined(int argc, char** argv) {
  std::string line = "assay";
  for (int i = 1; i < argc; ++i) line += " " + std::string(argv[i]);
  return line;
}

void add_read(CLI::App& app, ReadArgs& read) {
  app.add_option("--from", read.from,
                 "format: jsonl, edn, porcupine-etcd, porcupine-kv (default: by the content)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(history_format_names()));
  app.add_option("--independent", read.independent,
                 "yes: values are [key value], Jepsen's independent keys; no: they are not (default: "
                 "tagged tuples are; of EDN without tags, where an invocation shows it, as a read "
                 "of [k nil] does)")
      ->type_name("yes|no")
      ->check(CLI::IsMember({"yes", "no"}));
  app.add_option("--memory", read.memory, "limit, such as 8G (default 80 % of RAM)")
      ->type_name("SIZE");
}

class Cli {
 public:
  Cli(int argc, char** argv) : argc_(argc), argv_(argv) {
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", "this help");
    app_.option_defaults()->always_capture_default(false);
    app_.get_formatter()->column_width(34);
    app_.footer(
        "Exit codes: 0 valid, 1 invalid, 2 unknown, 3 blocked, 4 vacuous, 5 not as expected,\n"
        "130 interrupted, 254 bad input, 255 the harness failed. `assay explain exit-codes` says "
        "more.");
    define_run();
    define_try();
    define_certify();
    define_experiment();
    define_rerun();
    define_check();
    define_convert();
    define_report();
    define_list();
    define_others();
  }

  int main() {
    try {
      app_.parse(argc_, argv_);
    } catch (const CLI::CallForHelp& help) {
      return app_.exit(help) == 0 ? kExitValid : kExitHarness;
    } catch (const CLI::CallForAllHelp& help) {
      return app_.exit(help) == 0 ? kExitValid : kExitHarness;
    } catch (const CLI::ParseError& error) {
      return fail(input_error(one_line(error.what())));
    }
    voice_.verbosity = quiet_ ? -1 : verbose_ ? 1 : 0;
    voice_.color = !no_color_;
    return act_();
  }

 private:
  // CLI11 speaks in several lines, and in its own way of an unknown command.
  std::string one_line(std::string text) const {
    if (argc_ > 1 && argv_[1][0] != '-' && app_.get_subcommands().empty()) {
      std::string known;
      for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
        known += (known.empty() ? "" : ", ") + sub->get_name();
      }
      return "unknown command \"" + std::string(argv_[1]) + "\": expected one of " + known;
    }
    for (char& c : text) {
      if (c == '\n') c = ' ';
    }
    return text;
  }

  CLI::App* define(const char* name, const char* help, std::function<int()> act) {
    CLI::App* sub = app_.add_subcommand(name, help);
    sub->set_help_flag("-h,--help", "this help");
    sub->callback([this, act = std::move(act)] { act_ = act; });
    return sub;
  }

  void define_run() {
    CLI::App* sub =
        define("run", "bring a cluster up, load it, break things, judge what was recorded",
               [this] { return run(); });
    sub->add_option("SPEC", spec_path_, "a spec file (JSON); options override it");
    add_spec_flags(*sub, flags_);
    sub->add_option("--seed", seed_,
                    "what every draw follows from (default: drawn, printed first)");
    sub->add_option("--seeds", seeds_, "repeat for every seed A..B")->type_name("A..B");
    sub->add_option("--jobs", run_.jobs, "runs at once, with --seeds")->check(CLI::Range(1, 64));
    sub->add_option("--stop-on", run_.stop_on, "with --seeds: stop at this verdict")
        ->check(CLI::IsMember({"valid", "invalid", "unknown", "blocked", "vacuous"}));
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
  }

  int run() {
    if (!spec_path_.empty()) {
      if (auto read = read_spec(spec_path_, run_.spec); !read) return fail(read.error());
      run_.forwarded.push_back(spec_path_);
    }
    if (auto taken = take_spec_flags(flags_, run_.spec, run_.forwarded); !taken)
      return fail(taken.error());
    if (!seed_.empty()) {
      if (auto set = set_option(run_.spec, "seed", seed_); !set) return fail(set.error());
    }
    if (!seeds_.empty()) {
      if (!seed_.empty()) return fail(input_error("--seed and --seeds: expected one of the two"));
      auto seeds = parse_seeds(seeds_);
      if (!seeds) return fail(seeds.error());
      run_.seeds = *seeds;
    } else if (run_.stop_on || run_.jobs != 1) {
      return fail(input_error("--jobs and --stop-on: expected --seeds beside them"));
    }
    run_.voice = voice_;
    run_.command_line = joined(argc_, argv_);
    return run_verb(std::move(run_));
  }

  void define_try() {
    CLI::App* sub =
        define("try", "try a target's clients: what they make of time-outs, kills, lost answers",
               [this] { return try_target(); });
    sub->add_option("TARGET", try_target_, "a target's name, or the description of a store")
        ->required();
    sub->add_option("--nodes", try_nodes_, "size of the cluster (default 3)")
        ->check(CLI::Range(1, 64));
    sub->add_option("--set", try_settings_, "an option of the target")
        ->type_name("TARGET.OPTION=VALUE");
    sub->add_option("--net", try_net_, "private or host (default private)")
        ->check(CLI::IsMember({"private", "host"}));
    sub->add_option("--op-timeout", try_timeout_,
                    "after which an operation counts as unknown (default 1s)")
        ->type_name("TIME");
    sub->add_option("--out", try_.spec.out, "where the logs go (default results/tries)")
        ->type_name("DIR");
    try_.spec.out = "results/tries";
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
  }

  int try_target() {
    try_.spec.nodes = try_nodes_;
    std::vector<std::pair<const char*, std::string>> given{{"target", try_target_}};
    if (!try_net_.empty()) given.emplace_back("net", try_net_);
    if (!try_timeout_.empty()) given.emplace_back("op-timeout", try_timeout_);
    for (const std::string& setting : try_settings_) given.emplace_back("set", setting);
    for (const auto& [name, text] : given) {
      if (auto set = set_option(try_.spec, name, text); !set) return fail(set.error());
    }
    try_.voice = voice_;
    return try_verb(std::move(try_));
  }

  void define_certify() {
    CLI::App* sub = define("certify", "the suite: workloads, faults and seeds, a verdict for every clause, one certificate",
                           [this] { return certify(); });
    std::vector<CLI::Option*> of_the_suite;
    const auto suite_option = [&](CLI::Option* option) {
      of_the_suite.push_back(option);
      return option;
    };
    suite_option(sub->add_option("--target", certify_.targets,
                    "what to certify (default raft; several make a table of designs by clauses; naive: the nine "
                    "naive designs)"))
        ->delimiter(',');
    suite_option(sub->add_option("--profile", certify_.profile,
                    "quick (3 minutes), release (45 minutes) or nightly (new seeds until --time-limit)"))
        ->check(CLI::IsMember({"quick", "release", "nightly"}));
    suite_option(sub->add_option("--contract", certify_.contract,
                    "strong, or weak: convergence and reads that never go back (default strong)"))
        ->check(CLI::IsMember({"strong", "weak"}));
    suite_option(sub->add_option("--shard", certify_.shard, "this part of so many: i/n"))
        ->type_name("I/N")
        ->check(not_empty());
    suite_option(sub->add_option("--time-limit", certify_.time_limit, "of nightly (default 1h)"))
        ->type_name("TIME")
        ->check(not_empty());
    suite_option(sub->add_option("--nodes", certify_.nodes, "size of the cluster (default: the profile's)"))
        ->check(CLI::Range(1, 64));
    suite_option(sub->add_option("--net", certify_.net, "private (default) or host"))->type_name("NET");
    suite_option(sub->add_option("--hosts", certify_.hosts, "machines to run on, over SSH: JSON"))
        ->type_name("FILE")
        ->check(not_empty());
    suite_option(sub->add_option("--set", certify_.settings, "an option of the target (repeatable)"))
        ->type_name("TARGET.OPTION=VALUE");
    suite_option(sub->add_option("--seed", seed_, "what every draw follows from (default: drawn, printed first)"));
    sub->add_option("--jobs", certify_.jobs, "runs at once (default: CPUs)")->check(CLI::Range(1, 64));
    suite_option(sub->add_option("--out", certify_.out, "where certificates go (default results/certificates)"))
        ->type_name("DIR")
        ->check(not_empty());
    sub->add_option("--bin-dir", certify_.bin_dir,
                    "where assay-agent and the targets' programs are (default: beside this program)")
        ->type_name("DIR");
    suite_option(sub->add_flag("--plan", certify_.plan,
                               "print the runs, and the evidence that each clause needs; run nothing"));
    auto* resume = sub->add_option("--resume", certify_.resume,
                                   "go on with the certificate of this folder, which says what its suite is")
                       ->type_name("DIR")
                       ->check(not_empty());
    for (CLI::Option* option : of_the_suite) resume->excludes(option);
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
    CLI::App* merge = define("merge", "join the certificates of shards", [this] { return merge_verb(merge_); });
    merge->add_option("DIR", merge_.folders, "folders of `assay certify --shard`")
        ->required()
        ->check(not_empty());
    merge->add_option("-o,--output", merge_.out, "a new folder")
        ->required()
        ->type_name("DIR")
        ->check(not_empty());
    CLI::App* verify = define("verify", "check every stored history of a certificate again",
                              [this] { return verify_verb(topic_); });
    verify->add_option("CERT", topic_, "the certificate's folder, or its certificate.json")
        ->required()
        ->check(not_empty());
  }

  int certify() {
    if (!seed_.empty()) {
      TestSpec spec;
      if (auto set = set_option(spec, "seed", seed_); !set) return fail(set.error());
      certify_.seed = spec.seed;
    }
    certify_.voice = voice_;
    return certify_verb(certify_);
  }

  void define_experiment() {
    CLI::App* sub = define("experiment", "play experiments of the catalogue, each with what is expected of it",
                           [this] { return experiment(); });
    sub->add_option("NAME", experiment_.names, "see `assay list experiments`");
    sub->add_flag("--all", experiment_.all, "every one that can be run");
    sub->add_option("--seed", seed_, "of every run (default: drawn, printed first)");
    sub->add_option("--jobs", experiment_.jobs, "runs at once (default 1)")->check(CLI::Range(1, 64));
    sub->add_option("--out", experiment_.out, "where the results go (default results/experiments)")
        ->type_name("DIR")
        ->check(not_empty());
    sub->add_option("--bin-dir", experiment_.bin_dir,
                    "where assay-agent and the targets' programs are (default: beside this program)")
        ->type_name("DIR");
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
  }

  int experiment() {
    if (!seed_.empty()) {
      TestSpec spec;
      if (auto set = set_option(spec, "seed", seed_); !set) return fail(set.error());
      experiment_.seed = spec.seed;
    }
    experiment_.voice = voice_;
    return experiment_verb(experiment_);
  }

  void define_rerun() {
    CLI::App* sub = define("rerun", "the run again, from its folder", [this] {
      rerun_.voice = voice_;
      rerun_.command_line = joined(argc_, argv_);
      return rerun_verb(rerun_);
    });
    sub->add_option("RUN", rerun_.run, "a run folder, its name, or latest")->required();
    sub->add_option("--times", rerun_.times, "how often")->check(CLI::Range(1, 100'000));
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
  }

  void define_check() {
    CLI::App* sub = define("check", "check a recorded history", [this] {
      check_.voice = voice_;
      return check_verb(check_);
    });
    sub->add_option("PATH", check_.path,
                    "a history (JSON Lines, Jepsen's history.edn, Porcupine's logs; gzip, zstd), - for "
                    "standard input, or a run folder of ours or of Jepsen")
        ->required();
    add_read(*sub, check_.read);
    sub->add_option("--model", check_.model,
                    "sequential model (default: the header's, else guessed)");
    sub->add_option("--initial", check_.initial,
                    "initial value of every key, or an object by key (default null)")
        ->type_name("JSON");
    sub->add_option("--failed-cas", check_.failed_cas,
                    "is a failed CAS an observation of the value (default observe)")
        ->check(CLI::IsMember({"observe", "ignore"}));
    sub->add_option("--null-read", check_.null_read,
                    "is an ok read of null a value, or not known (default value)")
        ->check(CLI::IsMember({"value", "unknown"}));
    sub->add_option("--key", check_.key, "only this key");
    sub->add_option("--checker", check_.checkers,
                    "only this checker (repeatable; default: the header's)");
    sub->add_option("--expect", check_.expect, "exit 0 on this verdict, 5 on another")
        ->type_name("WORD[:CHECKER]");
    sub->add_option("--jobs", check_.jobs, "threads (default: CPUs)")->check(CLI::Range(1, 1024));
    sub->add_option("--budget", check_.budget,
                    "time, after which the answer is unknown (default 60s)")
        ->type_name("TIME");
    auto* html = sub->add_flag("--html", check_.html, "also a page with the witness drawn, to -o");
    auto* out = sub->add_option("-o,--output", check_.out, "where the page goes (- for standard output)")
                    ->type_name("OUT");
    html->needs(out);
    out->needs(html);
    sub->add_option("--proof", check_.proof,
                    "also the order found of every valid key, which checkers/verify_proof.py verifies")
        ->type_name("OUT");
    add_voice(*sub, voice_, quiet_, verbose_, no_color_);
  }

  void define_convert() {
    CLI::App* sub = define("convert", "a history from one format to another",
                           [this] { return convert_verb(convert_); });
    sub->add_option("IN", convert_.in, "what `assay check` reads")->required();
    sub->add_option("-o,--output", convert_.out,
                    "where to: - for standard output; compressed if it ends in .gz or .zst")
        ->required()
        ->type_name("OUT");
    sub->add_option("--to", convert_.to, "jsonl or edn (default: by the end of OUT)")
        ->check(CLI::IsMember({"jsonl", "edn"}));
    add_read(*sub, convert_.read);
  }

  void define_report() {
    CLI::App* sub =
        define("report", "render a run folder again", [this] { return report_verb(report_); });
    sub->add_option("RUN", report_.run, "a run folder, its name, or latest")->required();
    auto* forms = sub->add_option_group("form", "one of these");
    forms->add_flag_callback(
        "--html", [this] { report_.form = "html"; }, "report.html (default)");
    forms->add_flag_callback(
        "--junit", [this] { report_.form = "junit"; }, "junit.xml");
    forms->add_flag_callback(
        "--markdown", [this] { report_.form = "markdown"; }, "summary.md");
    forms->add_flag_callback(
        "--json", [this] { report_.form = "json"; }, "what `assay run --json` prints");
    forms->require_option(0, 1);
    sub->add_option("-o,--output", report_.out,
                    "where to (default: the run folder; - for standard output)")
        ->type_name("FILE");
  }

  void define_list() {
    CLI::App* sub = define("list", "what there is", [this] { return list_verb(list_); });
    sub->add_option("WHAT", list_.what, "targets, workloads, nemeses, checkers, models, experiments, clauses or runs")
        ->required()
        ->check(CLI::IsMember({"targets", "workloads", "nemeses", "checkers", "models", "experiments",
                               "clauses", "runs"}));
    auto* json = sub->add_flag("--json", list_.json, "as JSON");
    sub->add_flag("--markdown", list_.markdown, "as a table in Markdown")->excludes(json);
    sub->add_option("--out", list_.runs, "of runs: where they are (default results/runs)")
        ->type_name("DIR");
  }

  void define_lab() {
    CLI::App* sub = define("lab", "SSH nodes on this machine: namespaces with an sshd each (root)",
                           [this] { return lab_verb(lab_); });
    sub->add_option("WHAT", lab_.what, "up, down (also what a crash has left), or status")
        ->required()
        ->check(CLI::IsMember({"up", "down", "status"}));
    sub->add_option("--nodes", lab_.nodes, "of up: how many (default 5)")->check(CLI::Range(1, 64));
    sub->add_option("--name", lab_.name, "several labs may be up at once (default lab)")
        ->type_name("LAB")
        ->check(not_empty());
    sub->add_option("-o,--output", lab_.out,
                    "of up: where the hosts file for --hosts goes (default: standard output)")
        ->type_name("HOSTS")
        ->check(not_empty());
  }

  void define_doctor() {
    CLI::App* sub = define("doctor", "what works here and on hosts, and what to do about the rest", [this] {
      doctor_.voice = voice_;
      return doctor_verb(doctor_);
    });
    sub->add_option("--hosts", doctor_.hosts, "also the machines of this file: JSON")
        ->type_name("FILE")
        ->check(not_empty());
    sub->add_option("--bin-dir", doctor_.bin_dir,
                    "where assay-agent and assay-raft are (default: beside this program)")
        ->type_name("DIR");
    sub->add_flag("--json", voice_.json, "as JSON");
  }

  void define_others() {
    CLI::App* shell = define("shell", "a shell inside a node of a run kept with --leave-running",
                             [this] { return shell_verb(shell_); });
    shell->add_option("RUN", shell_.run, "a run folder, its name, or latest")->required();
    shell->add_option("NODE", shell_.node, "such as n1")->required();
    shell->add_option("CMD", shell_.command, "instead of a shell, after --");
    define_lab();
    define_doctor();
    CLI::App* clean = define("clean", "remove from hosts what Assay keeps there",
                             [this] { return clean_verb(topic_); });
    clean->add_option("--hosts", topic_, "the machines: JSON")
        ->required()
        ->type_name("FILE")
        ->check(not_empty());
    CLI::App* explain = define("explain", "what a verdict, an exit code or an option means",
                               [this] { return explain_topic(); });
    explain->add_option("TOPIC", topic_,
                        "a word, an option's name, or a run (default: the topics)");
    CLI::App* schema = define("schema", "the JSON Schema of a file that Assay writes",
                              [this] { return schema_verb(topic_); });
    schema
        ->add_option("NAME", topic_, "spec, verdict, certificate, certificate-cell, certify, proof, result, index, history-header, history-line, target or hosts")
        ->required();
    define("version", "this program's version", [] { return version_verb(); });
  }

  // An option's meaning is what the help says of it.
  int explain_topic() {
    std::string said;
    for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
      const CLI::Option* option = sub->get_option_no_throw("--" + topic_);
      if (topic_.empty() || !option) continue;
      said += "assay " + sub->get_name() + " --" + topic_ + ": " + option->get_description() + "\n";
    }
    return explain_verb(topic_, said);
  }

  int argc_;
  char** argv_;
  CLI::App app_{
      "Assay certifies stores: real clusters, real faults, every operation recorded, a verdict "
      "with a witness.",
      "assay"};
  std::function<int()> act_;
  Voice voice_;
  bool quiet_ = false, verbose_ = false, no_color_ = false;
  std::string spec_path_, seed_, seeds_, topic_;
  GivenFlags flags_;
  RunArgs run_;
  TryArgs try_;
  int try_nodes_ = 3;
  std::string try_target_, try_net_, try_timeout_;
  std::vector<std::string> try_settings_;
  CertifyArgs certify_;
  MergeArgs merge_;
  ExperimentArgs experiment_;
  RerunArgs rerun_;
  CheckArgs check_;
  ConvertArgs convert_;
  ReportArgs report_;
  ListArgs list_;
  LabArgs lab_;
  DoctorArgs doctor_;
  ShellArgs shell_;
};

}  // namespace

int fail(const Error& error) {
  std::fprintf(stderr, "assay: %s\n", error.message.c_str());
  return exit_code(error);
}

int command_line(int argc, char** argv) { return Cli(argc, argv).main(); }

}  // namespace assay
