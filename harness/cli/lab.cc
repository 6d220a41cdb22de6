// assay lab: SSH nodes on this machine (targets/node/lab.h).
#include <csignal>
#include <cstdio>
#include <fstream>

#include "harness/cli/verbs.h"
#include "targets/node/lab.h"

namespace assay {
namespace {

// Signals wait until the lab is up or gone again: nothing is left half made.
class Interruptions {
 public:
  Interruptions() {
    sigemptyset(&signals_);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }
  bool came() const {
    sigset_t pending;
    sigpending(&pending);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      if (sigismember(&pending, number) == 1) return true;
    }
    return false;
  }

 private:
  sigset_t signals_;
};

// Without -o, the hosts file is what is printed, so that it can be piped to where it is wanted.
int print_hosts(const Lab& lab, const std::string& out) {
  std::ifstream file(lab.hosts_file());
  const std::string hosts((std::istreambuf_iterator<char>(file)), {});
  if (out.empty() || out == "-") {
    std::fputs(hosts.c_str(), stdout);
    return kExitValid;
  }
  std::ofstream copy(out);
  copy << hosts;
  copy.close();
  if (copy) return kExitValid;
  return fail(environment_error("cannot write " + out + "; the hosts file is also " +
                                lab.hosts_file()));
}

int up(const LabArgs& args) {
  const Interruptions interruptions;
  const auto lab = lab_up({.name = args.name,
                           .nodes = args.nodes,
                           .interrupted = [&] { return interruptions.came(); }});
  if (interruptions.came()) {
    if (lab) (void)lab_down(args.name);
    std::fprintf(stderr, "assay: interrupted: nothing is left of the lab %s\n", args.name.c_str());
    return kExitInterrupted;
  }
  if (!lab) return fail(lab.error());
  if (const int failed = print_hosts(*lab, args.out)) return failed;
  const bool has_file = !args.out.empty() && args.out != "-";
  std::fprintf(stderr,
               "assay: the lab %s is up: %zu nodes, %s to %s, the driver is %s. Go on with\n"
               "  assay run --hosts %s\n"
               "  ssh -F none -i %s/id_ed25519 -o UserKnownHostsFile=%s/known_hosts root@%s\n"
               "  assay lab down%s\n",
               lab->name.c_str(), lab->nodes.size(), lab->nodes.front().address.c_str(),
               lab->nodes.back().address.c_str(), lab->driver_address().c_str(),
               has_file ? args.out.c_str() : lab->hosts_file().c_str(), lab->folder.c_str(),
               lab->folder.c_str(), lab->nodes.front().address.c_str(),
               lab->name == LabOptions{}.name ? "" : (" --name " + lab->name).c_str());
  return kExitValid;
}

int down(const LabArgs& args) {
  const Interruptions interruptions;
  const auto removed = lab_down(args.name);
  if (!removed) return fail(removed.error());
  std::printf("%s: %s\n", args.name.c_str(),
              removed->empty() ? "nothing to remove" : ("removed " + *removed).c_str());
  return kExitValid;
}

int status(const LabArgs& args) {
  const auto lab = find_lab(args.name);
  if (!lab) return fail(lab.error());
  const std::vector<LabNodeStatus> nodes = lab_status(*lab);
  size_t up = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const LabNodeStatus& node = nodes[i];
    up += node.up();
    std::printf("%-4s %-15s %-14s %-12s %s\n", lab->nodes[i].name.c_str(),
                lab->nodes[i].address.c_str(),
                node.sshd > 0 ? ("sshd " + std::to_string(node.sshd)).c_str() : "no sshd",
                (std::to_string(node.processes) + " processes").c_str(),
                node.why_not.empty() ? "answers" : ("does not answer: " + node.why_not).c_str());
  }
  std::printf("%zu of %zu nodes of the lab %s are up\n", up, nodes.size(), lab->name.c_str());
  return up == nodes.size() ? kExitValid : kExitHarness;
}

}  // namespace

int lab_verb(const LabArgs& args) {
  return args.what == "up" ? up(args) : args.what == "down" ? down(args) : status(args);
}

}  // namespace assay
