#include <algorithm>
#include <filesystem>
#include <random>

#include "harness/cli/verbs.h"
#include "harness/describe.h"
#include "harness/play_experiments.h"

namespace assay {

static Error unknown_experiment(const std::string& name) {
  std::string known;
  for (const Experiment& experiment : all_experiments())
    known += (known.empty() ? "" : ", ") + experiment.name;
  return input_error("unknown experiment \"" + name + "\": expected one of " + known);
}

int experiment_verb(const ExperimentArgs& args) {
  if (args.all != args.names.empty())
    return fail(input_error("experiment: expected either names or --all"));
  std::vector<const Experiment*> chosen;
  for (const Experiment& experiment : all_experiments())
    if (args.all) chosen.push_back(&experiment);
  for (const std::string& name : args.names) {
    const Experiment* found = find_experiment(name);
    if (!found) return fail(unknown_experiment(name));
    if (!found->pending.empty())
      return fail(input_error("the experiment \"" + name + "\" cannot be run yet: " + found->pending));
    if (std::find(chosen.begin(), chosen.end(), found) == chosen.end()) chosen.push_back(found);
  }
  Console console({.json = args.voice.json, .verbosity = args.voice.verbosity,
                   .color = args.voice.color});
  PlayOptions options{.seed = args.seed ? *args.seed : std::random_device{}(), .jobs = args.jobs,
                      .out = args.out, .bin_dir = args.bin_dir};
  if (options.bin_dir.empty()) options.bin_dir = own_folder();
  options.bin_dir = std::filesystem::absolute(options.bin_dir).lexically_normal().string();
  options.out = std::filesystem::absolute(options.out).lexically_normal().string();
  return play_experiments(chosen, options, console);
}

}  // namespace assay
