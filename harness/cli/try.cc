// assay try: the conformance run of a target (harness/trial/trial.h).
#include <ctime>
#include <filesystem>

#include "harness/cli/verbs.h"
#include "harness/console.h"
#include "harness/describe.h"
#include "harness/trial/trial.h"
#include "targets/node/private_net.h"

namespace assay {

int try_verb(TryArgs args) {
  TestSpec& spec = args.spec;
  if (spec.bin_dir.empty()) spec.bin_dir = own_folder();
  spec.bin_dir = std::filesystem::absolute(spec.bin_dir).lexically_normal().string();
  auto plan = make_trial_plan(spec);
  if (!plan) return fail(plan.error());
  Console console(
      {.json = args.voice.json, .verbosity = args.voice.verbosity, .color = args.voice.color});
  auto folder = RunFolder::create(
      spec.out, {std::string(plan->target->name()), "try", "none", plan->seed}, std::time(nullptr));
  if (!folder) return fail(folder.error());
  console.log_to(folder->log_path());
  console.note("trying " + std::string(plan->target->name()) + ", logs in " + folder->path());
  if (plan->starts_nodes && plan->in_private_net()) {
    if (auto entered = enter_private_world(folder->name()); !entered) return fail(entered.error());
  }
  for (const std::string& line : plan->not_tested) console.say("not tested: " + line);
  const TrialResult result = run_trial(*plan, *folder, console);
  if (!result.steps.empty()) console.say(trial_text(result));
  if (result.failure) {
    console.error(result.failure->message);
    return exit_code(*result.failure);
  }
  if (args.voice.json) std::printf("%s\n", trial_json(result).to_json().c_str());
  if (result.interrupted) return kExitInterrupted;
  console.say(result.conforms() ? std::string(plan->target->name()) +
                                      " conforms: what its clients say can be relied on"
                                : std::string(plan->target->name()) +
                                      " does not conform yet: verdicts would rest on the above");
  return result.conforms() ? kExitValid : kExitInvalid;
}

}  // namespace assay
