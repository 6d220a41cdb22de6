// JSON documents (descriptions, the files of a run folder) as text and as Value. (A line of a
// history is history_io's.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/value.h"

namespace assay {

// `name` stands for the file in the error: "spec.json:3:14: expected …, found …" (an input error).
// Refused besides bad syntax: an integer beyond 64 bits with sign, a member that occurs twice.
Result<Value> parse_json(std::string_view text, const std::string& name);

// "line:column" (from 1) of the value that the path of member names and indexes leads to in a text
// that parsed, or of its name; of the innermost value that is there, when the path leads on.
std::string locate_json(std::string_view text, const std::vector<std::string>& path, bool of_name);

// Indented by two, arrays and objects without nested ones on one line where they fit; members in
// their order; a newline at the end.
std::string pretty_json(const Value& value);

}  // namespace assay
