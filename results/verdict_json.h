// verdict.json, format "assay-verdict", version 1 (`assay schema verdict`).
//
// Both ways exact for what a Verdict holds, if the names of its counts are distinct and its texts
// are UTF-8 (other bytes become U+FFFD).
#pragma once

#include <string>
#include <string_view>

#include "checkers/checker.h"

namespace assay {

// `history`, where it is at hand, adds to every witness the indexes of its lines in the file
// ("indexes": [[invocation, completion or -1] …]), so that people find them with grep.
std::string verdict_to_json(const Verdict& verdict, const History* history = nullptr);

// `name` stands for the file in the error: one line, an input error.
Result<Verdict> verdict_from_json(std::string_view text, const std::string& name);

}  // namespace assay
