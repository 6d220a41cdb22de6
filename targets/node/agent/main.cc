#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include "targets/node/agent/agent.h"
#include "targets/node/agent/protocol.h"

namespace {

constexpr char kUsage[] =
    "assay-agent: starts, breaks and watches the servers of one node for a driver of Assay.\n"
    "Drivers start it; by hand: ASSAY_RUN=try ASSAY_NODE=n1 assay-agent --no-beat\n"
    "It reads JSON lines on standard input and writes JSON lines on standard output; the first\n"
    "line to send is {\"hello\":\"assay-agent\",\"protocol\":1}.\n"
    "  --data DIR   where it may make and remove folders\n"
    "  --log FILE   why it ended is also written there\n"
    "  --own-net    in a network namespace of its own\n"
    "  --no-links   cuts no links, makes none slow, touches no rules: the network is the host's\n"
    "  --no-beat    do not end after 5 s without input (debuggers)\n"
    "  --version, --help\n";

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

int usage_error(const std::string& what) {
  fprintf(stderr, "assay-agent: %s (see --help)\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace assay::agent;
  AgentOptions options{.run = variable(kRunVariable), .node = variable(kNodeVariable)};
  const std::string skip = variable(kSkipVariable);
  for (size_t start = 0; start < skip.size();) {
    const size_t end = std::min(skip.find(',', start), skip.size());
    options.skip.insert(skip.substr(start, end - start));
    start = end + 1;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--help") return fputs(kUsage, stdout) < 0;
    if (flag == "--version") return puts(ASSAY_VERSION) < 0;
    if (flag == "--own-net")
      options.own_network = true;
    else if (flag == "--no-links")
      options.links = false;
    else if (flag == "--no-beat")
      options.beat = false;
    else if (flag == "--data" && i + 1 < argc)
      options.data_folder = argv[++i];
    else if (flag == "--log" && i + 1 < argc)
      options.log_path = argv[++i];
    else
      return usage_error("what is " + flag + "?");
  }
  if (options.run.empty() || options.node.empty()) {
    return usage_error(std::string(kRunVariable) + " and " + kNodeVariable + " must be set");
  }
  return Agent(std::move(options)).run();
}
