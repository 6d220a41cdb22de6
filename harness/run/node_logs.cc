#include "harness/run/node_logs.h"

#include <fstream>

#include "results/node_log.h"

namespace assay {

NodeLogs::NodeLogs(const RunFolder& folder, const std::vector<NodeInfo>& nodes) {
  for (const NodeInfo& node : nodes)
    files_.push_back(std::fopen(folder.node_log_path(node.name).c_str(), "ae"));
}

NodeLogs::~NodeLogs() {
  for (std::FILE* file : files_) {
    if (file) std::fclose(file);
  }
}

void NodeLogs::write(int node, Nanos time, std::string_view line) {
  std::FILE* file = files_[node];
  if (!file) return;
  const std::string stamped = stamp_log_line(time, line);
  std::fwrite(stamped.data(), 1, stamped.size(), file);
}

void NodeLogs::keep_diagnosis(const RunFolder& folder, const NodeInfo& node,
                              std::string_view text) {
  std::ofstream(folder.node_path(node.name) + "/diagnose.log", std::ios::app) << text;
}

void NodeLogs::flush() {
  for (std::FILE* file : files_) {
    if (file) std::fflush(file);
  }
}

}  // namespace assay
