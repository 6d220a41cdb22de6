// The forms of a report that go to the run folder, in one list; shared by the pipeline and by
// `assay report`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/report/json.h"
#include "results/report/junit.h"
#include "results/report/markdown.h"
#include "results/report/report.h"
#include "results/report/text.h"
#include "results/store.h"

namespace assay {

struct Form {
  std::string_view name;  // "html": as `assay report --html`
  std::string_view file;  // "report.html"
  std::string (*render)(const Report& report);
};
const std::vector<Form>& all_forms();

// Into `info`: the nodes' log lines around what the verdict shows.
void collect_logs(const RunFolder& folder, const History& history, const Verdict& verdict,
                  RunInfo& info);

}  // namespace assay
