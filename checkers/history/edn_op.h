// From a form of EDN to an Op. Private to the readers of histories.
#pragma once

#include <optional>

#include "checkers/history/edn_parser.h"
#include "checkers/history/op.h"

namespace assay {

// The operation that the parser's last form is, a map or a tagged one. The names are those of a
// line of our own format. What Jepsen has otherwise:
//   - index and time below 0 are none
//   - error: a word or a text is its class; of [word …] the first, with the text that follows; of a
//     map without :class its :type; anything else is kept beside the class "other"
//   - a field of the name of a token, a node or a key, but of another kind, is kept as ":name"
//   - a value with the tag of an independent tuple, or of a MapEntry, is [key value]
std::optional<EdnError> read_edn_op(EdnParser& parser, Op& op);

// The error that a form of any shape stands for, as an object or a string.
Value edn_error_of(const Value& form);

}  // namespace assay
