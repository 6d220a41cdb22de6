// From a line's JSON object to an Op or a HistoryHeader, with the column of what is wrong.
// Private to history_io*.cc.
#pragma once

#include <optional>

#include "checkers/history/history.h"
#include "checkers/history/history_io_json.h"

namespace assay {

// True for an object that is meant to be a header: it has a format and is no operation.
bool is_header(const Value& line);

std::optional<JsonError> read_op(const Value& line, const JsonColumns& columns, Op& op);
std::optional<JsonError> read_header(const Value& line, const JsonColumns& columns,
                                     HistoryHeader& header);

// Whether a line has a field of that name in a place of its own (not among Op::extra).
bool is_op_field(Symbol name);

}  // namespace assay
