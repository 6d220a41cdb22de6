#include <algorithm>
#include <filesystem>
#include <random>

#include "harness/certify/certify.h"
#include "harness/cli/verbs.h"
#include "harness/describe.h"

namespace assay {
namespace {

Result<void> take_shard(const std::string& text, CertifyRequest& request) {
  if (text.empty()) return {};
  char end = 0;
  if (std::sscanf(text.c_str(), "%d/%d%c", &request.shard, &request.shards, &end) == 2 &&
      request.shard >= 1 && request.shard <= request.shards && request.shards <= 1000)
    return {};
  return input_error("--shard: expected I/N with 1 <= I <= N, found \"" + text + "\"");
}

Result<CertifyRequest> request_of(const CertifyArgs& args) {
  CertifyRequest request;
  request.profile = args.profile;
  request.contract = args.contract;
  request.nodes = args.nodes;
  request.seed = args.seed ? *args.seed : std::random_device{}();
  if (auto taken = take_shard(args.shard, request); !taken) return taken.error();
  if (!args.time_limit.empty() && args.profile != "nightly")
    return input_error("--time-limit: expected --profile nightly beside it, found " + args.profile);
  auto limit = parse_duration(args.time_limit.empty() ? "1h" : args.time_limit);
  if (!limit || limit->count <= 0)
    return input_error("--time-limit: expected a duration such as 8h, found \"" + args.time_limit + "\"");
  request.time_limit = *limit;
  TestSpec spec;
  for (const std::string& setting : args.settings)
    if (auto set = set_option(spec, "set", setting); !set) return set.error();
  request.settings = spec.set;
  if (!args.net.empty()) {
    if (auto set = set_option(spec, "net", args.net); !set) return set.error();
    request.net = args.net;
  }
  if (!args.hosts.empty()) {
    if (auto set = set_option(spec, "hosts", args.hosts); !set) return set.error();
    if (args.jobs > 1)
      return input_error("--jobs: expected 1 with --hosts, whose links all runs share, found " +
                         std::to_string(args.jobs));
    request.hosts = spec.hosts;
  }
  request.bin_dir = args.bin_dir.empty() ? own_folder() : args.bin_dir;
  request.bin_dir = std::filesystem::absolute(request.bin_dir).lexically_normal().string();
  return request;
}

std::vector<std::string> targets_of(const CertifyArgs& args) {
  std::vector<std::string> targets;
  for (const std::string& target : args.targets) {
    if (target == "naive") {
      targets.insert(targets.end(), naive_designs().begin(), naive_designs().end());
    } else {
      targets.push_back(target);
    }
  }
  if (targets.empty()) targets.push_back("raft");
  return targets;
}

}  // namespace

int certify_verb(const CertifyArgs& args) {
  auto request = request_of(args);
  if (!request) return fail(request.error());
  Console console({.json = args.voice.json, .verbosity = args.voice.verbosity, .color = args.voice.color});
  CertifyOptions options{.request = *request, .out = args.out, .resume = args.resume, .jobs = args.jobs};
  const auto targets = targets_of(args);
  ExitCode worst = kExitValid;
  std::vector<Certificate> made;
  for (const std::string& target : targets) {
    options.request.target = target;
    if (args.plan) {
      worst = worse(worst, print_suite(options.request, console));
      continue;
    }
    Certificate certificate;
    const ExitCode code = certify(options, console, &certificate);
    worst = worse(worst, code);
    if (code == kExitInterrupted || code == kExitBadInput || code == kExitHarness) return code;
    made.push_back(std::move(certificate));
  }
  if (made.size() < 2) return worst;
  int wrong = 0;
  console.say(design_table(made, wrong));
  if (wrong > 0) return kExitUnexpected;
  const auto& known = naive_designs();
  const bool all_known = std::all_of(targets.begin(), targets.end(), [&](const std::string& target) {
    return std::find(known.begin(), known.end(), target) != known.end();
  });
  return all_known ? kExitValid : worst;  // a table against what is known
}

int merge_verb(const MergeArgs& args) {
  Console console({});
  return merge_certificates(args.folders, args.out, console);
}

int verify_verb(const std::string& path) {
  Console console({});
  return verify_certificate(path, console);
}

}  // namespace assay
