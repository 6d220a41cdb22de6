#include "checkers/history/history_io_json.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace assay {
namespace {

// Reads the text and tells the handler how far the library has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  size_t* read_;
};

// "syntax error while parsing value - unexpected ']'; expected ...": the parts of the library's
// message, without "[json.exception…] parse error at line 1, column 5: ".
std::string_view after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

size_t token_size(std::string_view token, const std::string& last_token) {
  if (token == "true literal" || token == "null literal") return 4;
  if (token == "false literal") return 5;
  if (token == "string literal" || token == "number literal") return last_token.size();
  return token == "end of input" ? 0 : 1;
}

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(std::string_view text, Value& result, JsonColumns* columns)
      : text_(text), result_(result), columns_(columns) {}

  size_t* read() { return &read_; }
  JsonError take_error() { return std::move(error_); }

  bool null() override { return put(Value()); }
  bool boolean(bool b) override { return put(b); }
  bool number_integer(number_integer_t i) override { return put(int64_t{i}); }

  bool number_unsigned(number_unsigned_t u) override {
    if (u > static_cast<uint64_t>(INT64_MAX)) return too_large(std::to_string(u));
    return put(static_cast<int64_t>(u));
  }

  bool number_float(number_float_t d, const string_t& digits) override {
    if (digits.find_first_of(".eE") == string_t::npos) return too_large(digits);
    return put(d);
  }

  bool string(string_t& text) override { return put(std::string_view(text)); }
  bool binary(binary_t&) override { return fail("JSON", "binary data"); }

  bool start_object(size_t) override { return open(false); }
  bool start_array(size_t) override { return open(true); }

  bool key(string_t& name) override {
    const Symbol symbol(name);
    Frame& frame = stack_.back();
    if (!frame.add_name(symbol)) return fail("one member of each name", "a second " + quoted(name));
    frame.members.emplace_back(symbol, Value());
    mark();
    if (columns_ != nullptr && stack_.size() <= 2) {
      const Symbol parent = stack_.size() == 1 || stack_.front().is_array
                                ? Symbol()
                                : stack_.front().members.back().first;
      columns_->members.push_back({parent, symbol, next_token() + 1});
    }
    return true;
  }

  bool end_object() override {
    Value value = Value::object(std::move(stack_.back().members));
    stack_.pop_back();
    return put(std::move(value));
  }

  bool end_array() override {
    Value value = Value::array(std::move(stack_.back().items));
    stack_.pop_back();
    return put(std::move(value));
  }

  bool parse_error(size_t position, const std::string& last_token,
                   const nlohmann::json::exception& exception) override {
    const std::string_view detail = after(exception.what(), " - ");
    const std::string_view unexpected =
        detail.starts_with("unexpected ") ? after(detail, "unexpected ") : std::string_view();
    error_.at_end = position > text_.size();
    if (unexpected.empty()) return not_a_token(position, exception.what(), detail);
    const size_t split = unexpected.find("; expected ");
    const std::string_view token = unexpected.substr(0, split);
    error_.found = token;
    const std::string_view expected = after(unexpected, "; expected ");
    error_.expected = expected.empty() ? "a JSON value" : std::string(expected);
    const size_t size = token_size(token, last_token);
    error_.column = error_.at_end ? text_.size() + 1 : position - size + 1;
    return false;
  }

 private:
  // The library's lexer stopped: the column is that of the byte where it did.
  bool not_a_token(size_t position, std::string_view message, std::string_view detail) {
    if (!after(message, "number overflow").empty())
      return fail("a number that a double can hold",
                  std::string(after(message, "number overflow parsing ")));
    constexpr size_t kMost = 30;
    error_.column = std::min(position, text_.size() + 1);
    const size_t start = std::max(next_token(), error_.column - std::min(error_.column, kMost));
    error_.expected = "JSON";
    error_.found = std::string(detail.substr(0, detail.find("; last read"))) + " in " +
                   quoted(text_.substr(start, error_.column - start));
    return false;
  }

  // An array or an object that is not closed yet.
  struct Frame {
    bool is_array;
    Value::Array items;
    Value::Object members;
    std::unordered_set<Symbol> seen;  // of the members, once there are many

    bool add_name(Symbol name) {
      constexpr size_t kFew = 16;
      if (members.size() < kFew) {
        return std::none_of(members.begin(), members.end(),
                            [name](const auto& member) { return member.first == name; });
      }
      if (seen.empty())
        for (const auto& member : members) seen.insert(member.first);
      return seen.insert(name).second;
    }
  };

  static std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  }

  bool put(Value value) {
    mark();
    if (stack_.empty()) {
      result_ = std::move(value);
    } else if (stack_.back().is_array) {
      stack_.back().items.push_back(std::move(value));
    } else {
      stack_.back().members.back().second = std::move(value);
    }
    return true;
  }

  bool open(bool is_array) {
    if (stack_.size() == kDepthMax)
      return fail("at most " + std::to_string(kDepthMax) + " levels of nesting", "more");
    mark();
    stack_.push_back({.is_array = is_array});
    return true;
  }

  bool too_large(const std::string& digits) {
    return fail("an integer of at most 64 bits, with sign", digits);
  }

  bool fail(std::string expected, std::string found) {
    error_ = {next_token() + 1, std::move(expected), std::move(found), false};
    return false;
  }

  // The token that was just reported ends here, or one byte earlier when it is a number.
  void mark() { last_end_ = read_; }

  // The offset of the token after it, which is the one being reported in key() and put().
  size_t next_token() const {
    size_t at = last_end_;
    while (at < text_.size() && std::string_view(" \t\r\n,:").find(text_[at]) != text_.npos) ++at;
    return at;
  }

  std::string_view text_;
  Value& result_;
  JsonColumns* columns_;
  size_t read_ = 0;
  size_t last_end_ = 0;
  std::vector<Frame> stack_;
  JsonError error_;
};

}  // namespace

size_t JsonColumns::of(std::string_view parent, std::string_view name) const {
  for (const Member& member : members)
    if (member.parent.text() == parent && member.name.text() == name) return member.column;
  return 1;
}

std::optional<JsonError> parse_json(std::string_view text, Value& value, JsonColumns* columns) {
  if (text.starts_with("\xef\xbb\xbf")) return JsonError{1, "JSON", "a byte order mark", false};
  Handler handler(text, value, columns);
  const CountingIterator begin(text.data(), handler.read());
  const CountingIterator end(text.data() + text.size(), handler.read());
  // The library takes a NUL for the end of the text.
  const size_t nul = text.find('\0');
  if (!nlohmann::json::sax_parse(begin, end, &handler)) {
    JsonError error = handler.take_error();
    if (nul == text.npos || error.column < nul + 1) return error;
  }
  if (nul != text.npos) return JsonError{nul + 1, "JSON", "a NUL byte", false};
  return std::nullopt;
}

}  // namespace assay
