// NodeLogs: nodes/<node>/node.log of the run folder: every line of a node's log, stamped with the
// driver's clock as it arrived. A log that cannot be written is left out: it is a help, not a
// result.
#pragma once

#include <cstdio>
#include <string_view>
#include <vector>

#include "checkers/history/time.h"
#include "results/store.h"
#include "targets/target.h"

namespace assay {

class NodeLogs {
 public:
  NodeLogs(const RunFolder& folder, const std::vector<NodeInfo>& nodes);
  ~NodeLogs();
  NodeLogs(const NodeLogs&) = delete;
  NodeLogs& operator=(const NodeLogs&) = delete;

  void write(int node, Nanos time, std::string_view line);
  void flush();
  // What a node's diagnosis said: nodes/<node>/diagnose.log.
  static void keep_diagnosis(const RunFolder& folder, const NodeInfo& node, std::string_view text);

 private:
  std::vector<std::FILE*> files_;
};

}  // namespace assay
