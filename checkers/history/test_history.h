// Histories for tests, from a script that reads like a history: one line per event.
//
//   PROCESS TYPE F [KEY] [VALUE] [@NODE] [NAME=VALUE …]
//
//   0 invoke write k 1
//   1 invoke read k              # from here to the end of the line: a comment
//   0 ok write k 1 @n1 revision=7
//   1 info read k error=timeout
//   2 invoke cas k [1,2] expected=7
//   nemesis info start-kill {"shape":"one"} time=5s
//
//   PROCESS  an integer, nemesis, observer
//   KEY      a word that starts with a letter, '_' or '/' and is not true, false or null
//   VALUE    JSON: 1, -2.5, null, true, "text", [1,2], {"a":1}
//   NAME     time (5s, 20ms, 3us, or ns), index, revision, at, expected, scheduled (as time), node;
//            error (its class), text and current (of the error); any other name is an extra field.
//            VALUE after the '=' may be a bare word for a string: error=conflict, session=a
// Index is the ordinal of the event. Time starts at 0 and grows by 1 ms a line; `time=` sets it,
// and later lines go on from there. Blank lines count for nothing.
//
// A script that is wrong aborts the test with the line printed: wrong words, and all that
// HistoryBuilder refuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/history.h"

namespace assay {

// header_json: the members of the header, as an object ({"model":"register","initial":0}). Without
// it the history has no header.
History history_of(std::string_view script, std::string_view header_json = "");

// The lines, not paired: for tests of what makes or takes ops.
std::vector<Op> ops_of(std::string_view script);
Op op_of(std::string_view line);

}  // namespace assay
