#include "checkers/history/history_io.h"

#include <filesystem>

#include "checkers/history/compressed.h"
#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_io_json.h"
#include "checkers/history/history_readers.h"

namespace assay {
namespace {

using Reader = Result<History> (*)(ByteSource&, const std::string&, const ReadOptions&);

struct FormatInfo {
  std::string_view name;
  HistoryFormat format;
  Reader reader;
};

constexpr FormatInfo kFormats[] = {
    {"jsonl", HistoryFormat::kJsonl, read_jsonl},
    {"edn", HistoryFormat::kEdn, read_edn},
    {"porcupine-etcd", HistoryFormat::kPorcupineEtcd, read_porcupine_etcd},
    {"porcupine-kv", HistoryFormat::kPorcupineKv, read_porcupine_kv},
};

Result<History> read_from(std::unique_ptr<ByteSource> packed, const std::string& name,
                          const ReadOptions& options) {
  constexpr size_t kHeadBytes = 1 << 16;
  auto source = unpacked(std::move(packed));
  if (!source) return source.error();
  auto head = read_head(**source, kHeadBytes);
  if (!head) {
    if (head.error().fault != Fault::kInput) return head.error();
    return input_error(name + ":1:1: " + head.error().message);
  }
  // The binary file of a Jepsen test, and what is packed twice.
  if (head->starts_with("JEPSEN"))
    return input_error(name + ":1:1: expected a history, found Jepsen's binary test.jepsen: " +
                       std::string(kHowToExportJepsen));
  if (head->starts_with("\x1f\x8b") || head->starts_with("\x28\xb5\x2f\xfd"))
    return input_error(name + ":1:1: expected a history, found compressed data in compressed data");
  const HistoryFormat format =
      options.format == HistoryFormat::kGuess ? format_that_fits(*head) : options.format;
  const std::unique_ptr<ByteSource> whole = put_back(std::move(*head), std::move(*source));
  for (const FormatInfo& info : kFormats)
    if (info.format == format) return info.reader(*whole, name, options);
  ASSAY_CHECK(false, "format %d", static_cast<int>(format));
  return input_error("");
}

}  // namespace

std::optional<HistoryFormat> history_format(std::string_view name) {
  for (const FormatInfo& info : kFormats)
    if (info.name == name) return info.format;
  return std::nullopt;
}

std::vector<std::string> history_format_names() {
  std::vector<std::string> names;
  for (const FormatInfo& info : kFormats) names.emplace_back(info.name);
  return names;
}

Result<History> read_history(const std::string& path, const ReadOptions& options) {
  auto source = open_source(path);
  if (!source) return source.error();
  return read_from(std::move(*source), path == "-" ? "<stdin>" : path, options);
}

Result<History> parse_history(std::string_view text, const std::string& name,
                              const ReadOptions& options) {
  return read_from(text_source(text), name, options);
}

std::optional<Result<std::string>> jepsen_history_in(const std::string& folder) {
  std::error_code failure;
  const std::filesystem::path path(folder);
  for (const char* name : {"history.edn", "jepsen.history", "history.txt"}) {
    for (const char* end : {"", ".gz", ".zst"}) {
      const auto file = path / (std::string(name) + end);
      if (std::filesystem::is_regular_file(file, failure))
        return Result<std::string>(file.string());
    }
  }
  if (!std::filesystem::is_regular_file(path / "test.jepsen", failure)) return std::nullopt;
  return Result<std::string>(input_error(folder +
                                         ": expected history.edn, found only Jepsen's binary "
                                         "test.jepsen: " +
                                         std::string(kHowToExportJepsen)));
}

Result<Value> parse_value(std::string_view json) {
  Value value;
  if (const auto wrong = parse_json(json, value, nullptr))
    return input_error("column " + std::to_string(wrong->column) + ": " + wrong->message());
  return value;
}

Result<HistoryHeader> parse_header(const Value& object) {
  HistoryHeader header;
  if (const auto wrong = read_header(object, {}, header)) return input_error(wrong->message());
  return header;
}

}  // namespace assay
