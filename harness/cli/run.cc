#include <filesystem>

#include "harness/campaign.h"
#include "harness/cli/verbs.h"
#include "harness/describe.h"
#include "harness/pipeline.h"

namespace assay {

static ConsoleOptions options_of(const Voice& voice) {
  return {.json = voice.json, .verbosity = voice.verbosity, .color = voice.color};
}

int run_verb(RunArgs args) {
  if (args.seeds && args.spec.leave_running)
    return fail(input_error("--leave-running: expected one run, not --seeds"));
  if (args.jobs > 1 && !args.spec.hosts.empty())
    return fail(input_error("--jobs: expected 1 with --hosts, whose links all runs share, found " +
                            std::to_string(args.jobs)));
  if (args.spec.bin_dir.empty()) args.spec.bin_dir = own_folder();
  args.spec.bin_dir = std::filesystem::absolute(args.spec.bin_dir).lexically_normal().string();
  auto plan = make_plan(args.spec);
  if (!plan) return fail(plan.error());
  Console console(options_of(args.voice));
  if (!args.seeds) return run_pipeline(*plan, args.command_line, console);

  Campaign campaign;
  for (uint64_t seed = args.seeds->first;; ++seed) {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), args.forwarded.begin(), args.forwarded.end());
    arguments.push_back("--seed=" + std::to_string(seed));
    campaign.runs.push_back({"seed " + std::to_string(seed), std::move(arguments)});
    if (seed == args.seeds->second) break;
  }
  campaign.jobs = args.jobs;
  campaign.stop_on = args.stop_on;
  return run_campaign(campaign, console).worst;
}

// What of this machine and program is other than it was.
static void warn_of_changes(const RunInfo& then, const Plan& plan, const RunFolder& folder,
                            Console& console) {
  const RunInfo now = describe(plan, folder, "", 0);
  if (now.assay_version != then.assay_version) {
    console.note("warning: this is Assay " + now.assay_version + ", the run was made by " +
                 then.assay_version);
  }
  if (now.host.to_json() != then.host.to_json()) {
    console.note("warning: another host: " + now.host.to_json() + ", then " + then.host.to_json());
  }
  for (const Binary& before : then.binaries) {
    for (const Binary& binary : now.binaries) {
      if (binary.name == before.name && binary.hash != before.hash)
        console.note("warning: another " + binary.name + " than then");
    }
  }
}

int rerun_verb(const RerunArgs& args) {
  Console console(options_of(args.voice));
  auto folder = RunFolder::open(args.run, std::string(kDefaultRuns));
  if (!folder) return fail(folder.error());
  TestSpec spec;
  if (auto read = read_spec(folder->spec_path(), spec); !read) return fail(read.error());
  if (!std::filesystem::exists(spec.bin_dir)) spec.bin_dir = own_folder();
  spec.out = std::filesystem::path(folder->path()).parent_path();
  auto plan = make_plan(spec);
  if (!plan) return fail(plan.error());
  auto spec_json = folder->read_spec();
  if (!spec_json) return fail(spec_json.error());
  RunInfo then;
  take_spec(*spec_json, then);
  warn_of_changes(then, *plan, *folder, console);
  if (args.times == 1) return run_pipeline(*plan, args.command_line, console);

  auto verdict = folder->read_verdict();
  if (!verdict) return fail(verdict.error());
  Campaign campaign;
  for (int i = 1; i <= args.times; ++i) {
    campaign.runs.push_back({"run " + std::to_string(i),
                             {"run", std::filesystem::absolute(folder->spec_path()),
                              "--out=" + spec.out, "--bin-dir=" + spec.bin_dir}});
  }
  const CampaignResult result = run_campaign(campaign, console);
  const std::string_view word = to_string(verdict->word());
  int same = 0;
  for (const auto& [seen, count] : result.words) same += seen == word ? count : 0;
  console.say("reproduced " + std::to_string(same) + " of " + std::to_string(result.finished) +
              " (" + std::string(word) + ")");
  return result.worst;
}

}  // namespace assay
