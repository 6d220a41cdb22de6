// Reading histories in any format, and writing them as JSON Lines (format "assay-history", version
// 1). As EDN: history_export.h.
//
//   jsonl            our own, below
//   edn              Jepsen's history.edn: maps or tagged records, each for itself or in one vector
//   porcupine-etcd   Porcupine's logs of Jepsen's etcd tests; history.txt of Jepsen
//   porcupine-kv     Porcupine's logs of a key-value store: EDN with get, put, append and :key;
//   what
//                    was never put is ""
// gzip and zstd are unpacked, by their first bytes. Errors carry file:line:column (from 1, columns
// in bytes), what was expected and what was found, and Fault::kInput. A last line that is cut off
// is dropped with the warning "torn_tail: …"; any other damage is an error.
//
// Of jsonl. Stricter than JSON: no two members of one name; integers fit 64 bits with sign (a
// double would lose digits and make two values one); doubles are finite; at most 128 levels of
// nesting. Laxer than the format, for the histories of others: blank lines and CRLF are skipped,
// the last newline may be missing, fields may come in any order, null is as good as absent, a key
// may be an integer (its digits are its name), ":nemesis" is the nemesis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/history.h"

namespace assay {

enum class HistoryFormat { kGuess, kJsonl, kEdn, kPorcupineEtcd, kPorcupineKv };
// By its name as above; and the names.
std::optional<HistoryFormat> history_format(std::string_view name);
std::vector<std::string> history_format_names();

struct ReadOptions {
  // Parse every line with the JSON library instead of the scanner for the canonical field order.
  // Slower, same result: the fuzzer compares the two.
  bool library_only = false;
  // Stop with an error when the history would need more memory than this. 0: no limit.
  // A line, or a form of EDN, of more than a 64th of it is an error too: parsed, it would need
  // more.
  uint64_t memory_bytes_max = 0;
  HistoryFormat format = HistoryFormat::kGuess;  // kGuess: by the first bytes
  // Are the values [key value], the tuples of Jepsen's independent tests? Nothing: of EDN it shows
  // (independent_keys.h), of jsonl they are not.
  std::optional<bool> independent = std::nullopt;
};

// path "-" is standard input. Streams: memory is that of the history, not of the file.
Result<History> read_history(const std::string& path, const ReadOptions& options = {});
// The same from text; `name` stands for the file in messages.
Result<History> parse_history(std::string_view text, const std::string& name = "<text>",
                              const ReadOptions& options = {});

// The history in the folder of a Jepsen run (history.edn, jepsen.history, history.txt; .gz, .zst);
// an error where only the binary test.jepsen is there. Nothing: it is no such folder.
std::optional<Result<std::string>> jepsen_history_in(const std::string& folder);
inline constexpr std::string_view kHowToExportJepsen =
    "write its history as EDN, (run! prn (:history (jepsen.store/latest))) in its REPL";

// One value of JSON; the position in an error is a column (from 1, in bytes).
Result<Value> parse_value(std::string_view json);
// What a header line says, from its object.
Result<HistoryHeader> parse_header(const Value& object);

// The canonical line of an op, with its newline, appended to out; no allocation on the usual path.
void append_line(std::string& out, const Op& op);
// The header line. `extra` members follow the required ones.
std::string header_line(const Value& extra);

// Writes a history while a run goes. Not thread-safe. Lines reach the file in order and whole,
// unless the process or the disk ends in the middle of one.
class HistoryWriter {
 public:
  HistoryWriter();
  ~HistoryWriter();  // closes
  Result<void> open(const std::string& path, const Value& header);
  // Buffers; flush() or a full buffer writes. The first error sticks and every later call gives it.
  Result<void> add(const Op& op);
  Result<void> flush();  // to the kernel: survives kill -9 of this process
  Result<void> close();  // flush, fsync, close

 private:
  int fd_ = -1;
  std::string path_;
  std::string buffer_;
  std::string error_;
};

}  // namespace assay
