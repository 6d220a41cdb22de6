// Writing a whole history to a file, in a format for others.
//
// As JSON Lines it is the canonical form: the header, where the history has one, and its lines. As
// EDN it is what Jepsen's tools read, a map a line: keywords for the names of fields, for type and
// f and for names in values where they are words; strings for strings. The key is `:key "x"`
// (Jepsen has its independent keys in the value). The first line is a comment with the header.
// Reading either gives the same history.
#pragma once

#include <memory>
#include <string>

#include "checkers/history/byte_source.h"
#include "checkers/history/history.h"
#include "checkers/history/history_io.h"
#include "checkers/history/output_file.h"

namespace assay {

// path "-" is standard output; one that ends in .gz or .zst is compressed. format: kJsonl or kEdn.
Result<void> write_history(const History& history, const std::string& path, HistoryFormat format);
Result<void> write_history(const History& history, std::unique_ptr<OutputFile> file,
                           HistoryFormat format);
Result<void> write_history(const History& history, ByteSink& sink, HistoryFormat format);

// An op as a map of EDN, with a newline.
void append_edn_line(std::string& out, const Op& op);

}  // namespace assay
