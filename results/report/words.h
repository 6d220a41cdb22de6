// Operations and values in the words of the field, as all reports print them.
#pragma once

#include <string>
#include <string_view>

#include "checkers/history/history.h"

namespace assay::report {

// "4", "null", "a" (a string without its quotes, but for an empty one), "[1,2]"; at most `max`
// characters.
std::string value_text(const Value& value, size_t max);

// What was asked and what came back: "read → 4", "write 5", "cas 1 → 2", "txn […] → […]".
// An outcome that is not ok is said by outcome_text, not here.
std::string operation_text(const Operation& operation, size_t value_max);

// "ok", "fail (conflict)", "info (timeout)", "info (never returned)"
std::string outcome_text(const Operation& operation);

bool is_open(const Operation& operation);  // its effect may still come: info, or never returned
// Whether its times are those of a run. Some tools number the lines and call that time: all within
// a millisecond.
bool has_times(const History& history);

// A point of the run with so many decimals: "13.902 s".
std::string point_text(Nanos time, int decimals);

}  // namespace assay::report
