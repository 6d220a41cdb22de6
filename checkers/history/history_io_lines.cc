// Our own format: JSON Lines.
#include <algorithm>

#include "checkers/history/history_collector.h"
#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_io_json.h"
#include "checkers/history/history_io_scanner.h"
#include "checkers/history/history_readers.h"
#include "checkers/history/independent_keys.h"
#include "checkers/history/line_feed.h"

namespace assay {
namespace {

// Takes the lines of a file, in order.
class LineReader {
 public:
  LineReader(ByteSource& source, const std::string& name, const ReadOptions& options)
      : collector_(name, options),
        feed_(source, collector_.text_bytes_max()),
        library_only_(options.library_only),
        keys_(collector_, options.independent),
        has_tuples_(options.independent.value_or(false)) {}

  Result<History> read();

 private:
  Result<void> line(std::string_view text);
  Result<void> parse(std::string_view text);
  Result<void> add_op() {
    return has_tuples_ ? keys_.add(op_, place(1)) : collector_.add(op_, place(1));
  }
  Place place(size_t column) const { return {feed_.number(), column}; }
  Error error(size_t column, const std::string& what) const {
    return collector_.error(place(column), what);
  }

  HistoryCollector collector_;
  LineFeed feed_;
  bool library_only_;
  IndependentKeys keys_;
  bool has_tuples_;
  LineScanner scanner_;
  Op op_;
};

Result<History> LineReader::read() {
  LineFeed::Got got;
  while ((got = feed_.next()) == LineFeed::Got::kLine) {
    if (auto taken = line(feed_.text()); !taken) return taken.error();
  }
  if (got == LineFeed::Got::kTooLong) return collector_.too_long(place(1), "a line");
  if (got == LineFeed::Got::kFailed) return collector_.failure(place(1), feed_.failure());
  return collector_.finish({feed_.number() + 1, 1});
}

Result<void> LineReader::line(std::string_view text) {
  if (feed_.is_whole() && text.ends_with('\r')) text.remove_suffix(1);
  if (feed_.number() == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (auto fits = collector_.took(text.size(), place(1)); !fits) return fits;
  if (!library_only_ && scanner_.scan(text, op_)) return add_op();
  if (text.find_first_not_of(" \t\r") == text.npos) return {};
  return parse(text);
}

// With the JSON library, which is exact about what is wrong.
Result<void> LineReader::parse(std::string_view text) {
  Value value;
  JsonColumns columns;
  if (const auto wrong = parse_json(text, value, &columns)) {
    if (feed_.is_whole() || !wrong->at_end || !collector_.has_content())
      return error(wrong->column, wrong->message());
    collector_.warn_torn(feed_.number(), "is cut off after " + std::to_string(text.size()) +
                                             " bytes and was dropped");
    return {};
  }
  if (is_header(value)) {
    if (collector_.has_content()) return error(1, "expected an operation, found a header");
    HistoryHeader header;
    if (const auto wrong = read_header(value, columns, header))
      return error(wrong->column, wrong->message());
    collector_.set_header(std::move(header));
    return {};
  }
  if (const auto wrong = read_op(value, columns, op_))
    return error(wrong->column, wrong->message());
  return add_op();
}

}  // namespace

Result<History> read_jsonl(ByteSource& source, const std::string& name,
                           const ReadOptions& options) {
  return LineReader(source, name, options).read();
}

}  // namespace assay
