// The settings of slow links, as --set and scripts give them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "nemesis/nemesis.h"
#include "targets/link_delay.h"

namespace assay {

inline constexpr Nanos kDelayMax = seconds(60);  // of delay and of jitter

// Settings by name (delay_options); what is absent has its default. An input error names the
// setting, what was expected and what was found.
Result<LinkDelay> read_delay(const std::map<std::string, std::string>& settings);
std::vector<NemesisOption> delay_options();

}  // namespace assay
