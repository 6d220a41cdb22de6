// SettingsReader: a workload's options, as --set gives them, into typed values. The first mistake
// is kept, as an input error that names the option, what was expected and what was found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace assay {

class SettingsReader {
 public:
  SettingsReader(const Workload& workload, const WorkloadOptions& options)
      : workload_(workload), options_(options) {}

  // Each gives some value of its type after a mistake.
  int64_t number(const char* name, int64_t min, int64_t max);
  Nanos duration(const char* name);
  std::string one_of(const char* name, const std::vector<std::string>& words);

  const std::optional<Error>& mistake() const { return mistake_; }

 private:
  std::string text(const char* name) const;
  void expected(const char* name, const std::string& what);

  const Workload& workload_;
  const WorkloadOptions& options_;
  std::optional<Error> mistake_;
};

}  // namespace assay
