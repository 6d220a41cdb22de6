#include "results/schema.h"

#include <cstdio>

#include "harness/cli/verbs.h"
#include "targets/exec/description.h"
#include "targets/node/hosts.h"

namespace assay {

int schema_verb(const std::string& name) {
  if (name == "target") {  // what a user writes, and the target reads
    std::printf("%s\n", std::string(exec::description_schema()).c_str());
    return kExitValid;
  }
  if (name == "hosts") {
    std::printf("%s\n", std::string(hosts_schema()).c_str());
    return kExitValid;
  }
  const Schema* schema = find_schema(name);
  if (!schema) {
    std::string known;
    for (const Schema& s : all_schemas())
      known += (known.empty() ? "" : ", ") + std::string(s.name);
    return fail(
        input_error("unknown schema \"" + name + "\": expected one of " + known + ", target, hosts"));
  }
  std::printf("%s\n", std::string(schema->text).c_str());
  return kExitValid;
}

int version_verb() {
  std::printf("assay %s\n", ASSAY_VERSION);
  return kExitValid;
}

}  // namespace assay
