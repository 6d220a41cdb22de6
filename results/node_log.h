// Logs of nodes in the run folder: each line stamped with the driver's clock when it arrived, so
// that it can be set beside the history.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/time.h"

namespace assay {

struct StampedLine {
  Nanos time;  // of the run; of its arrival at the driver
  std::string text;
};

struct NodeLog {
  std::string node;
  std::vector<StampedLine> lines;  // in order
  size_t left_out = 0;         // further lines of the time asked for
};

// "   13.902113 became leader in term 4\n": seconds of the run, a space, the line.
std::string stamp_log_line(Nanos time, std::string_view line);

// The lines of the file at `path` that arrived in [from, to]; when there are more than `max`, those
// nearest to the middle. Lines without a stamp belong to the stamped line above them. Reads the
// file as a stream. A missing file is an empty log; one that cannot be read is an input error.
Result<NodeLog> read_node_log(const std::string& path, std::string node, Nanos from, Nanos to,
                              size_t max);

}  // namespace assay
