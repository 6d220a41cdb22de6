// Removes from hosts what Assay keeps there: its cache folder. A line per host.
#include <cstdio>

#include "harness/cli/verbs.h"
#include "harness/run/real_loop.h"
#include "targets/node/remote_node.h"

namespace assay {

int clean_verb(const std::string& path) {
  auto hosts = read_hosts(path);
  if (!hosts) return fail(hosts.error());
  RealLoop loop;
  ExitCode worst = kExitValid;
  size_t left = hosts->size();
  for (const Host& host : *hosts) {
    clean_host(loop.context(), loop, host, [&, name = host.name](const Result<std::string>& removed) {
      if (removed) std::printf("%s: %s\n", name.c_str(), removed->c_str());
      if (!removed)
        worst = worse(worst, static_cast<ExitCode>(fail(environment_error(
                                 "node " + name + ": " + removed.error().message))));
      if (--left == 0) loop.stop();
    });
  }
  if (left > 0) loop.run();
  return worst;
}

}  // namespace assay
