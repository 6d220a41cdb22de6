// Log lines of a server: standard error, one line per event worth knowing.
#pragma once

#include <string>
#include <string_view>

namespace assay::raft {

// "12:34:56.789 n1 leads term 5"; the name is set once at the start.
void set_log_name(std::string name);
void log_line(std::string_view text);

}  // namespace assay::raft
