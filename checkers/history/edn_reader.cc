// Jepsen's history.edn, and Porcupine's logs of a key-value store, which are EDN too.
#include "checkers/history/edn_op.h"
#include "checkers/history/history_collector.h"
#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_readers.h"
#include "checkers/history/independent_keys.h"

namespace assay {
namespace {

class EdnReader {
 public:
  EdnReader(ByteSource& source, const std::string& name, const ReadOptions& options, bool is_kv)
      : is_kv_(is_kv),
        independent_(options.independent),
        input_(source),
        collector_(name, options),
        parser_(input_, collector_.text_bytes_max()) {
    parser_.allow_outer();
    parser_.expect_operations();
  }

  Result<History> read();

 private:
  Result<void> first_line();
  Result<void> mark(std::string_view line);
  Result<void> operations();
  Result<void> stopped();
  std::optional<std::string> not_of_kv(const Op& op) const;

  bool is_kv_;
  std::optional<bool> independent_;
  TextInput input_;
  HistoryCollector collector_;
  EdnParser parser_;
};

Result<History> EdnReader::read() {
  if (auto taken = first_line(); !taken) return taken.error();
  // Its gets find "" where nothing was put.
  if (is_kv_) {
    auto header = parse_header(Value::object({{Symbol("format"), "assay-history"},
                                              {Symbol("version"), 1},
                                              {Symbol("time_unit"), "ns"},
                                              {Symbol("initial"), ""}}));
    collector_.assume_header(std::move(*header));
    if (!independent_) independent_ = false;
  }
  if (auto read = operations(); !read) return read.error();
  return collector_.finish(input_.place(), "an operation");
}

// A byte order mark, and the comment that our own writer begins with.
Result<void> EdnReader::first_line() {
  for (const int byte : {0xef, 0xbb, 0xbf})
    if (input_.peek() == byte) input_.skip();
  if (input_.peek() != ';') return {};
  std::string line;
  const uint64_t most = std::max<uint64_t>(collector_.text_bytes_max(), 1 << 16);
  while (input_.peek() != '\n' && input_.peek() != TextInput::kEnd && line.size() < most)
    line += static_cast<char>(input_.next());
  return line.starts_with(kEdnMark) ? mark(line) : Result<void>();
}

Result<void> EdnReader::mark(std::string_view line) {
  if (!independent_) independent_ = false;
  size_t at = kEdnMark.size();
  while (at < line.size() && line[at] == ' ') ++at;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (at >= line.size()) return {};
  Value object;
  JsonColumns columns;
  HistoryHeader header;
  auto wrong = parse_json(line.substr(at), object, &columns);
  if (!wrong) wrong = read_header(object, columns, header);
  if (wrong) return collector_.error({1, at + wrong->column}, wrong->message());
  collector_.set_header(std::move(header));
  return {};
}

Result<void> EdnReader::operations() {
  IndependentKeys keys(collector_, independent_);
  Op op;
  uint64_t offset = 0;
  bool has_operation = false;
  while (true) {
    const EdnParser::Got got = parser_.next();
    if (got == EdnParser::Got::kError) {
      auto why = stopped();
      const bool torn = why.ok() && (has_operation || collector_.has_content());
      if (!torn)
        return why.ok() ? collector_.error(parser_.error().place, parser_.error().message())
                        : why.error();
      collector_.warn_torn(input_.place().line, "is cut off: " + parser_.error().message());
      break;
    }
    if (got == EdnParser::Got::kEnd) break;
    if (const auto wrong = read_edn_op(parser_, op))
      return collector_.error(wrong->place, wrong->message());
    if (const auto other = is_kv_ ? not_of_kv(op) : std::nullopt)
      return collector_.error(parser_.place(), *other);
    if (auto fits = collector_.took(input_.offset() - offset, parser_.place()); !fits) return fits;
    offset = input_.offset();
    if (auto added = keys.add(std::move(op), parser_.place()); !added) return added;
    has_operation = true;
  }
  return keys.finish();
}

// Why the parser did not go on; ok where the text is merely cut off.
Result<void> EdnReader::stopped() {
  if (input_.failure()) return collector_.failure(input_.place(), *input_.failure());
  if (parser_.is_too_long()) return collector_.too_long(parser_.place(), "a form");
  if (parser_.error().at_end) return {};
  return collector_.error(parser_.error().place, parser_.error().message());
}

std::optional<std::string> EdnReader::not_of_kv(const Op& op) const {
  if (!op.process.is_client()) return std::nullopt;
  const std::string_view f = op.f.text();
  if (f != "get" && f != "put" && f != "append")
    return "expected :get, :put or :append as :f, found :" + std::string(f);
  if (op.key.empty()) return std::string("expected a text as :key, found none");
  if (op.value.is_string() || op.value.is_null()) return std::nullopt;
  return "expected a text or nil as :value, found " + op.value.to_json();
}

}  // namespace

Result<History> read_edn(ByteSource& source, const std::string& name, const ReadOptions& options) {
  return EdnReader(source, name, options, false).read();
}

Result<History> read_porcupine_kv(ByteSource& source, const std::string& name,
                                  const ReadOptions& options) {
  return EdnReader(source, name, options, true).read();
}

}  // namespace assay
