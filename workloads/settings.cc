#include "workloads/settings.h"

#include <algorithm>
#include <charconv>

#include "checkers/words.h"

namespace assay {

std::string SettingsReader::text(const char* name) const {
  const auto given = options_.settings.find(name);
  if (given != options_.settings.end()) return given->second;
  for (const WorkloadOption& option : workload_.options()) {
    if (option.name == name) return option.fallback;
  }
  ASSAY_CHECK(false, "the workload %s has no option %s", std::string(workload_.name()).c_str(),
              name);
}

void SettingsReader::expected(const char* name, const std::string& what) {
  if (mistake_) return;
  mistake_ = input_error(std::string(workload_.name()) + "." + name + ": expected " + what +
                         ", found \"" + text(name) + "\"");
}

int64_t SettingsReader::number(const char* name, int64_t min, int64_t max) {
  const std::string given = text(name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  const bool whole = error == std::errc() && end == given.data() + given.size();
  if (whole && number >= min && number <= max) return number;
  expected(name, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return min;
}

Nanos SettingsReader::duration(const char* name) {
  auto span = parse_duration(text(name));
  if (span && span->count >= 0) return *span;
  expected(name, "a duration such as 300ms");
  return {};
}

std::string SettingsReader::one_of(const char* name, const std::vector<std::string>& words) {
  const std::string given = text(name);
  if (std::find(words.begin(), words.end(), given) != words.end()) return given;
  std::string known;
  for (const std::string& word : words) known += (known.empty() ? "" : ", ") + word;
  expected(name, "one of " + known);
  return words.front();
}

}  // namespace assay
