// The logs of Jepsen's etcd tests that Porcupine carries, and history.txt of a Jepsen run, which
// has the same four columns: `INFO  jepsen.util - 2 :invoke :cas [3 4]`, `2	:invoke	:cas	[3
// 4]`.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkers/history/edn_op.h"
#include "checkers/history/edn_parser.h"
#include "checkers/history/edn_text.h"
#include "checkers/history/history_collector.h"
#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_readers.h"
#include "checkers/history/independent_keys.h"
#include "checkers/history/line_feed.h"

namespace assay {
namespace {

constexpr std::string_view kLogger = "jepsen.util";

// Where the columns of an operation begin; npos where the line is another logger's.
size_t start_of_columns(std::string_view line) {
  size_t at = line.find(kLogger);
  if (at == line.npos) {
    const size_t first = line.find_first_not_of(" \t");
    return starts_with_columns(line.substr(first)) ? first : line.npos;
  }
  at += kLogger.size();
  if (at < line.size() && line[at] == ':') ++at;
  at = std::min(line.find_first_not_of(" \t", at), line.size());
  if (at < line.size() && line[at] == '-') ++at;
  return std::min(line.find_first_not_of(" \t", at), line.size());
}

class LogReader {
 public:
  LogReader(ByteSource& source, const std::string& name, const ReadOptions& options)
      : collector_(name, options),
        feed_(source, collector_.text_bytes_max()),
        keys_(collector_, options.independent) {}

  Result<History> read();

 private:
  Result<void> line(std::string_view text);
  Result<void> operation(const std::vector<Value>& columns, const std::vector<Place>& places);
  void skipped() {
    if (foreign_++ > 0) return;
    first_foreign_ = feed_.number();
    foreign_text_ = edn_quoted(feed_.text());
  }
  Error no_operation() const {
    return collector_.error(
        {first_foreign_, 1},
        "expected an operation of jepsen.util, as no line is one, found " + foreign_text_);
  }
  Place place(size_t column) const { return {feed_.number(), column}; }

  HistoryCollector collector_;
  LineFeed feed_;
  IndependentKeys keys_;
  std::unordered_map<int64_t, Value> arguments_;  // of open operations, by process
  size_t operations_ = 0;
  bool is_parsed_ = false;  // the line is an operation, whatever the history makes of it
  size_t foreign_ = 0;
  size_t first_foreign_ = 0;
  std::string foreign_text_;  // the start of that line, quoted
};

Result<History> LogReader::read() {
  while (true) {
    const LineFeed::Got got = feed_.next();
    if (got == LineFeed::Got::kEnd) break;
    if (got == LineFeed::Got::kTooLong) return collector_.too_long(place(1), "a line");
    if (got == LineFeed::Got::kFailed) return collector_.failure(place(1), feed_.failure());
    std::string_view text = feed_.text();
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (auto fits = collector_.took(text.size(), place(1)); !fits) return fits.error();
    is_parsed_ = false;
    auto taken = line(text);
    if (taken) continue;
    const bool is_torn = !feed_.is_whole() && operations_ > 0 && !is_parsed_;
    if (!is_torn) return taken.error();
    collector_.warn_torn(feed_.number(), "is cut off and was dropped");
  }
  if (foreign_ > 0 && operations_ == 0) return no_operation();
  if (foreign_ > 0)
    collector_.warn(std::to_string(foreign_) + " lines of the log are no operations, first line " +
                    std::to_string(first_foreign_));
  if (auto passed = keys_.finish(); !passed) return passed.error();
  return collector_.finish({feed_.number() + 1, 1}, "an operation of jepsen.util");
}

Result<void> LogReader::line(std::string_view text) {
  if (text.find_first_not_of(" \t") == text.npos) return {};
  const size_t start = start_of_columns(text);
  if (start == text.npos) return skipped(), Result<void>();
  TextInput input(text.substr(start), place(start + 1));
  EdnParser parser(input, 0);
  std::vector<Value> columns;
  std::vector<Place> places;
  EdnParser::Got got;
  while ((got = parser.next()) == EdnParser::Got::kForm) {
    columns.push_back(parser.take_value());
    places.push_back(parser.place());
    // Others speak through this logger too.
    const bool is_process = columns[0].is_int() || columns[0] == Value("nemesis");
    if (!is_process) return skipped(), Result<void>();
  }
  if (got == EdnParser::Got::kError)
    return collector_.error(parser.error().place, parser.error().message());
  if (columns.empty()) return skipped(), Result<void>();
  places.push_back(place(text.size() + 1));
  if (columns.size() < 4)
    return collector_.error(places.back(), "expected process, :type, :f and value, found " +
                                               std::to_string(columns.size()) + " of them");
  if (columns.size() > 5)
    return collector_.error(places[5], "expected the end of the line, found a sixth column");
  return operation(columns, places);
}

Result<void> LogReader::operation(const std::vector<Value>& columns,
                                  const std::vector<Place>& places) {
  static const Symbol kNames[] = {Symbol("process"), Symbol("type"), Symbol("f"), Symbol("value"),
                                  Symbol("error")};
  Value::Object line;
  JsonColumns at;
  for (size_t i = 0; i < columns.size(); ++i) {
    line.emplace_back(kNames[i], i == 4 ? edn_error_of(columns[i]) : columns[i]);
    at.members.push_back({Symbol(), kNames[i], places[i].column});
  }
  Op op;
  if (const auto wrong = read_op(Value::object(line), at, op))
    return collector_.error(place(wrong->column), wrong->message());
  ++operations_;
  is_parsed_ = true;
  if (!op.process.is_client()) return keys_.add(std::move(op), places[0]);
  if (op.type == OpType::kInvoke) {
    arguments_[op.process.id] = op.value;
    return keys_.add(std::move(op), places[0]);
  }
  // What became of it is not known, or it did not happen: the word says why, and the argument is
  // that of the invocation.
  auto argument = arguments_.extract(op.process.id);
  const bool is_reason = op.value.is_string() && op.type != OpType::kOk && !op.error;
  if (is_reason) {
    op.error = OpError{op.value.as_symbol(), "", Token(), Value()};
    op.value = argument ? argument.mapped() : Value();
  }
  if (!feed_.is_whole() && op.value.is_int())
    collector_.warn("the last line has no newline: its value may be cut off");
  return keys_.add(std::move(op), places[0]);
}

}  // namespace

Result<History> read_porcupine_etcd(ByteSource& source, const std::string& name,
                                    const ReadOptions& options) {
  return LogReader(source, name, options).read();
}

}  // namespace assay
