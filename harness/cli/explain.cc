#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>

#include "checkers/clauses.h"
#include "harness/cli/verbs.h"
#include "harness/experiment.h"
#include "results/store.h"

namespace assay {
namespace {

struct Topic {
  std::string_view name;
  std::string_view text;
};

constexpr Topic kTopics[] = {
    {"valid",
     "VALID (exit 0): in this history nothing was found that the model forbids, the run exercised "
     "what it\n"
     "claims, and progress was made where it was due. It says nothing about runs that were not "
     "made: see in\n"
     "the report what could have been caught, what is not claimed, and what was not tested.\n"
     "Next: other seeds (`assay run --seeds 1..20`), longer runs, a canary (`assay list targets`) "
     "to see that\n"
     "the same run convicts a store that is wrong."},
    {"invalid",
     "INVALID (exit 1): an anomaly was found. The witness is the smallest set of operations that "
     "shows it: no\n"
     "order of them agrees with both the model and real time. If the client calls something a "
     "failure that may\n"
     "have happened, the fault may lie there: look first at operations of type fail in the "
     "witness.\n"
     "Next: open report.html; `assay rerun RUN --times 20` says how often it comes back."},
    {"unknown",
     "UNKNOWN (exit 2): not decided within the budget of time or memory, or the host itself stood "
     "still where\n"
     "progress was due. It is not a pass.\n"
     "Next: `assay check RUN --budget 10m --memory 16G`; fewer operations per key (--ops-per-key); "
     "a quieter host."},
    {"blocked",
     "BLOCKED (exit 3): safe as far as was seen, but no progress where progress was due: after the "
     "final heal, or\n"
     "while a connected live majority was verified.\n"
     "Next: the availability part of the verdict names the gap; look at the nodes' logs around "
     "it."},
    {"vacuous",
     "VACUOUS (exit 4): the run did not exercise what it claims (a fault that did not bite, too "
     "few operations of\n"
     "a kind), or nothing in the history was observed, so that any order would do. It is not a "
     "pass: run it\n"
     "again, differently. The reason names what was missing and which option changes it."},
    {"exit-codes",
     "0    valid, or as --expect says\n"
     "1    invalid: an anomaly was found, with a witness\n"
     "2    unknown: not decided within its budget\n"
     "3    blocked: safe, but no progress where progress is due\n"
     "4    vacuous: the run did not exercise what it claims\n"
     "5    not as --expect says\n"
     "130  interrupted: healed, saved, partial report written\n"
     "254  bad arguments, bad spec, bad history\n"
     "255  the harness, the set-up or the environment failed: no statement about the store\n"
     "Of several runs the worst counts, in the order 1, 5, 255, 130, 3, 2, 4, 0."},
    {"claims",
     "What the target does not claim is reported as not claimed, and not held against it. Reads "
     "that are claimed as\n"
     "stale or sequential are judged only for values that nobody wrote; its writes, CAS and "
     "deletes "
     "must fit one\n"
     "order all the same. Workloads that need guarded writes are refused where these are not "
     "claimed."},
    {"fail",
     "fail: the operation certainly never happened and never will. A time-out is never a fail."},
    {"info",
     "info: the outcome is unknown. The operation may take effect at any later time, or never. Its "
     "process ends;\n"
     "the worker goes on under a new process number."},
    {"linearizable",
     "Linearizable: every operation takes effect at one instant between its invocation and its "
     "completion, and the\n"
     "order of these instants explains every answer. Checked per key: that loses nothing. Reads "
     "that the target does\n"
     "not claim to be linearizable are left out (`assay explain claims`)."},
    {"watch",
     "Watch: who follows changes from a revision on is told every one of them, once, in order, and "
     "all of one\n"
     "revision together; who resumes where the watch left off, on whichever node, misses nothing; "
     "or the store says\n"
     "that it has forgotten them. The witness lists what is missing, and who wrote it.\n"
     "Next: `assay run --workload watch`; `--set raft.watch-from-now=true` is a store that gets it "
     "wrong."},
    {"nemesis",
     "The nemesis breaks things while clients work: partition, pause, kill, delay (`assay list nemeses`). "
     "Each start and\n"
     "stop is in the history twice, with what was observed; a fault that was not seen to bite does "
     "not count."},
    {"hosts",
     "--hosts FILE runs the nodes on other machines: Linux, over SSH, with nothing to install there.\n"
     "  {\"format\":\"assay-hosts\",\"version\":1,\n"
     "   \"defaults\":{\"user\":\"root\",\"key\":\"id_ed25519\",\"known_hosts\":\"known_hosts\",\"sudo\":false},\n"
     "   \"hosts\":[{\"name\":\"n1\",\"address\":\"10.0.0.1\"},\n"
     "            {\"ssh\":\"db2\"},\n"
     "            {\"address\":\"10.0.0.3\",\"via\":[\"kubectl\",\"exec\",\"-i\",\"db-3\",\"--\"]}]}\n"
     "\"ssh\" is a host of your OpenSSH configuration; \"via\" any command that runs another one there. Keys are\n"
     "ed25519 or ecdsa; host keys must be known. Links can be cut and clocks set where the user is root, or sudo\n"
     "asks for no password (\"sudo\":true). The programs are uploaded once, into ~/.cache/assay, which\n"
     "`assay clean --hosts FILE` removes; nothing else is left there, also when the driver is killed.\n"
     "Next: `assay doctor --hosts FILE`; `assay lab up` makes such hosts on this machine."},
    {"lab",
     "A lab is a set of hosts that are none: `assay lab up` (root) makes a network namespace for each, with an address and\n"
     "an sshd of its own, and prints the file for --hosts. Keys, known_hosts and a folder for each node are in\n"
     "/var/lib/assay-lab/LAB. This machine gets one link, al-LAB, with an address of a private network to which it had no\n"
     "route; the nodes' bridge is in a namespace of its own, so this machine's firewall sees what is to or from the driver,\n"
     "and nothing else. Files and processes are this machine's own.\n"
     "`assay lab down` removes all of it, also what a crash has left; `assay lab status` says which nodes answer.\n"
     "Next: `assay doctor --hosts lab.json`, `assay run --hosts lab.json`; `ip netns exec assay.LAB.n1 ss -t` looks in."},
    {"witness",
     "The smallest set of operations, found by weakening the others, that no legal order "
     "explains."},
};

const Topic* find_topic(std::string_view name) {
  const auto found = std::find_if(std::begin(kTopics), std::end(kTopics),
                                  [&](const Topic& t) { return t.name == name; });
  return found == std::end(kTopics) ? nullptr : found;
}

int explain_run(const RunFolder& folder) {
  auto verdict = folder.read_verdict();
  if (!verdict) return fail(verdict.error());
  const Verdict* worst = verdict->worst();
  std::printf("%s: %s\n\n", std::string(to_string(verdict->word())).c_str(), worst->reason.c_str());
  if (worst->witness) {
    for (const std::string& line : worst->witness->lines) std::printf("  %s\n", line.c_str());
    std::printf("\n");
  }
  if (const Topic* topic = find_topic(to_string(verdict->word())))
    std::printf("%s\n", std::string(topic->text).c_str());
  return kExitValid;
}

std::string topic_names(const char* between) {
  std::string names;
  for (const Topic& t : kTopics) names += (names.empty() ? "" : between) + std::string(t.name);
  return names;
}

// V4 or v4.
bool explain_clause(std::string topic) {
  if (topic.size() == 2) topic[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(topic[0])));
  const Clause* clause = find_clause(topic);
  if (!clause) return false;
  std::printf("%s: %s\n\"%s\"\n", std::string(clause->id).c_str(), std::string(clause->title).c_str(),
              std::string(clause->passage).c_str());
  for (const ClauseCheck& check : clause->checks) {
    const std::string name(check.checker.substr(0, check.checker.find('/')));
    const Checker* checker = find_checker(name);
    std::printf("  %s: %s\n", std::string(check.checker).c_str(),
                checker ? std::string(checker->summary()).c_str() : "");
  }
  if (!clause->same_verdicts.empty())
    std::printf("  judged by %s: no single run speaks for it.\n"
                "  `assay certify` plays the workloads that compare tokens with each sound kind that the target has, under the\n"
                "  same faults and seed, and must convict a kind that is not sound.\n",
                judged_by(*clause).c_str());
  std::printf("Next: `assay certify --plan`, `assay list experiments`.\n");
  return true;
}

bool explain_experiment(const std::string& topic) {
  const Experiment* experiment = find_experiment(topic);
  if (!experiment) return false;
  std::printf("%s: %s\n%s, \"%s\"\n", experiment->name.c_str(), experiment->title.c_str(),
              experiment->source.c_str(), experiment->passage.c_str());
  if (!experiment->pending.empty()) std::printf("cannot be run yet: %s\n", experiment->pending.c_str());
  for (const ExperimentRun& run : experiment->runs)
    std::printf("  %s: %s expected\n", run.name.c_str(), run.expect.c_str());
  if (experiment->pending.empty()) std::printf("Next: `assay experiment %s`.\n", topic.c_str());
  return true;
}

}  // namespace

int explain_verb(const std::string& topic, const std::string& as_option) {
  if (topic.empty()) {
    std::printf("%s\nan option's name such as rate, a clause such as V4, an experiment, or a run folder\n", topic_names("\n").c_str());
    return kExitValid;
  }
  std::string name = topic;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  if (const Topic* found = find_topic(number ? "exit-codes" : name)) {
    std::printf("%s\n", std::string(found->text).c_str());
    return kExitValid;
  }
  if (explain_clause(topic) || explain_experiment(topic)) return kExitValid;
  if (!as_option.empty()) {
    std::printf("%s", as_option.c_str());
    return kExitValid;
  }
  if (auto folder = RunFolder::open(topic, std::string(kDefaultRuns))) return explain_run(*folder);
  return fail(input_error("nothing is known about \"" + topic +
                          "\": expected a run folder, an option's name, a clause, an experiment, or one of " +
                          topic_names(", ")));
}

}  // namespace assay
