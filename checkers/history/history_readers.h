// The readers, one a format, and which of them a text is for. Private to history_io*.cc.
#pragma once

#include <string>
#include <string_view>

#include "checkers/history/byte_source.h"
#include "checkers/history/history_io.h"

namespace assay {

// `name` stands for the file in messages.
Result<History> read_jsonl(ByteSource& source, const std::string& name, const ReadOptions& options);
Result<History> read_edn(ByteSource& source, const std::string& name, const ReadOptions& options);
Result<History> read_porcupine_kv(ByteSource& source, const std::string& name,
                                  const ReadOptions& options);
Result<History> read_porcupine_etcd(ByteSource& source, const std::string& name,
                                    const ReadOptions& options);

// By the first bytes of a text; kJsonl where nothing speaks for another: its reader says what is
// wrong.
HistoryFormat format_that_fits(std::string_view head);

// "0	:invoke	:read	nil": the columns of Jepsen's history.txt.
bool starts_with_columns(std::string_view line);

// The first line of what we write as EDN; after it the header as JSON, where there is one.
inline constexpr std::string_view kEdnMark = ";; assay-history";

}  // namespace assay
