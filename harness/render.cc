#include "harness/render.h"

#include "results/report/html.h"

namespace assay {

static constexpr size_t kLogLinesPerNode = 40;

const std::vector<Form>& all_forms() {
  static const std::vector<Form> forms = {
      {"html", "report.html", html_report},
      {"junit", "junit.xml", junit_report},
      {"markdown", "summary.md", markdown_report},
  };
  return forms;
}

void collect_logs(const RunFolder& folder, const History& history, const Verdict& verdict,
                  RunInfo& info) {
  const auto [from, to] = report::log_window(history, verdict);
  for (const std::string& node : history.header().nodes) {
    auto log = read_node_log(folder.node_log_path(node), node, from, to, kLogLinesPerNode);
    if (log && !log->lines.empty()) info.logs.push_back(std::move(*log));
  }
}

}  // namespace assay
