#include "results/schema.h"

#include <cstdio>

#include "harness/cli/verbs.h"

namespace assay {

int schema_verb(const std::string& name) {
  const Schema* schema = find_schema(name);
  if (!schema) {
    std::string known;
    for (const Schema& s : all_schemas())
      known += (known.empty() ? "" : ", ") + std::string(s.name);
    return fail(input_error("unknown schema \"" + name + "\": expected one of " + known));
  }
  std::printf("%s\n", std::string(schema->text).c_str());
  return kExitValid;
}

int version_verb() {
  std::printf("assay %s\n", ASSAY_VERSION);
  return kExitValid;
}

}  // namespace assay
