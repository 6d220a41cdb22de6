#include "checkers/history/history_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_io_json.h"
#include "checkers/history/history_io_scanner.h"

namespace assay {
namespace {

// Takes the lines of a file, in order.
class LineReader {
 public:
  LineReader(std::string name, const ReadOptions& options)
      : name_(std::move(name)), options_(options), symbol_bytes_at_start_(symbol_bytes()) {}

  // A line without its newline. is_whole: it had one.
  Result<void> line(std::string_view text, bool is_whole);
  // buffer_bytes: what the caller holds for a line that has not ended yet.
  Result<void> check_memory(uint64_t buffer_bytes);
  Result<History> finish();

 private:
  Result<void> parse(std::string_view text, bool is_whole);
  Result<void> add_op(size_t column);
  Error error(size_t column, const std::string& what) const {
    return input_error(name_ + ':' + std::to_string(line_) + ':' + std::to_string(column) + ": " +
                       what);
  }

  std::string name_;
  const ReadOptions& options_;
  uint64_t symbol_bytes_at_start_;
  HistoryBuilder builder_;
  LineScanner scanner_;
  Op op_;
  size_t line_ = 0;
  bool has_content_ = false;  // a line that is not blank came before
  uint64_t unchecked_bytes_ = 0;
};

Result<void> LineReader::line(std::string_view text, bool is_whole) {
  ++line_;
  if (is_whole && text.ends_with('\r')) text.remove_suffix(1);
  if (line_ == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.find_first_not_of(" \t\r") == text.npos) return {};
  unchecked_bytes_ += text.size();
  constexpr uint64_t kStep = 4 << 20;
  if (unchecked_bytes_ >= std::min(kStep, options_.memory_bytes_max / 4)) {
    if (auto fits = check_memory(0); !fits) return fits;
  }
  if (!options_.library_only && scanner_.scan(text, op_)) {
    has_content_ = true;
    return add_op(1);
  }
  auto parsed = parse(text, is_whole);
  has_content_ = true;
  return parsed;
}

// With the JSON library, which is exact about what is wrong.
Result<void> LineReader::parse(std::string_view text, bool is_whole) {
  if (line_ == 1 && text.starts_with("\x1f\x8b"))
    return error(1, "expected JSON, found a gzip file: unpack it first");
  Value value;
  JsonColumns columns;
  if (const auto wrong = parse_json(text, value, &columns)) {
    if (is_whole || !wrong->at_end || !has_content_) return error(wrong->column, wrong->message());
    builder_.warn("torn_tail: the last line, " + std::to_string(line_) + ", is cut off after " +
                  std::to_string(text.size()) + " bytes and was dropped");
    return {};
  }
  if (is_header(value)) {
    if (has_content_) return error(1, "expected an operation, found a header");
    HistoryHeader header;
    if (const auto wrong = read_header(value, columns, header))
      return error(wrong->column, wrong->message());
    builder_.set_header(std::move(header));
    return {};
  }
  if (const auto wrong = read_op(value, columns, op_))
    return error(wrong->column, wrong->message());
  return add_op(1);
}

Result<void> LineReader::add_op(size_t column) {
  if (auto added = builder_.add(op_); !added) return error(column, added.error().message);
  return {};
}

Result<void> LineReader::check_memory(uint64_t buffer_bytes) {
  unchecked_bytes_ = 0;
  if (options_.memory_bytes_max == 0) return {};
  const uint64_t needed =
      builder_.memory_bytes() + (symbol_bytes() - symbol_bytes_at_start_) + buffer_bytes;
  if (needed <= options_.memory_bytes_max) return {};
  return error(1, "expected a history that fits in " + std::to_string(options_.memory_bytes_max) +
                      " bytes of memory, found that it needs more");
}

Result<History> LineReader::finish() {
  if (!has_content_) {
    ++line_;
    return error(1, "expected a header or an operation, found nothing");
  }
  if (auto fits = check_memory(0); !fits) return fits.error();
  return builder_.build();
}

class File {
 public:
  explicit File(const std::string& path)
      : fd_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  ssize_t read(char* to, size_t size) const {
    ssize_t n;
    do {
      n = ::read(fd_, to, size);
    } while (n < 0 && errno == EINTR);
    return n;
  }

 private:
  int fd_;
};

// Takes the whole lines out of text; what remains is the start of the next one.
Result<void> take_lines(LineReader& reader, std::string_view& text) {
  while (!text.empty()) {
    const void* newline = std::memchr(text.data(), '\n', text.size());
    if (newline == nullptr) return {};
    const size_t size = static_cast<const char*>(newline) - text.data();
    if (auto taken = reader.line(text.substr(0, size), true); !taken) return taken;
    text.remove_prefix(size + 1);
  }
  return {};
}

Result<void> read_lines(LineReader& reader, const File& file, const std::string& path) {
  std::string buffer(1 << 18, '\0');
  size_t used = 0;
  while (true) {
    if (used == buffer.size()) {  // a long line
      if (auto fits = reader.check_memory(2 * buffer.size()); !fits) return fits;
      buffer.resize(2 * buffer.size());
    }
    const ssize_t n = file.read(buffer.data() + used, buffer.size() - used);
    if (n < 0) {
      const Fault fault = errno == EISDIR ? Fault::kInput : Fault::kEnvironment;
      return Error{"cannot read " + path + ": " + std::strerror(errno), fault};
    }
    if (n == 0) break;
    // Only what is new can hold a newline that was not looked at.
    const bool has_newline = std::memchr(buffer.data() + used, '\n', n) != nullptr;
    used += n;
    if (!has_newline) continue;
    std::string_view text(buffer.data(), used);
    if (auto taken = take_lines(reader, text); !taken) return taken;
    std::memmove(buffer.data(), text.data(), text.size());
    used = text.size();
  }
  return used == 0 ? Result<void>() : reader.line({buffer.data(), used}, false);
}

}  // namespace

Result<History> read_history(const std::string& path, const ReadOptions& options) {
  const File file(path);
  if (!file.is_open()) return input_error("cannot open " + path + ": " + std::strerror(errno));
  LineReader reader(path == "-" ? "<stdin>" : path, options);
  if (auto read = read_lines(reader, file, path); !read) return read.error();
  return reader.finish();
}

Result<History> parse_history(std::string_view text, const std::string& name,
                              const ReadOptions& options) {
  LineReader reader(name, options);
  if (auto taken = take_lines(reader, text); !taken) return taken.error();
  if (!text.empty()) {
    if (auto taken = reader.line(text, false); !taken) return taken.error();
  }
  return reader.finish();
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
