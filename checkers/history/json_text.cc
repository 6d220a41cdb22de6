#include "checkers/history/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

namespace assay {
namespace {

std::string position(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t line_start = before.rfind('\n');
  const size_t column =
      before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

// The start of the token that ends at or just before the offset: where a person looks.
size_t token_start(std::string_view text, size_t offset) {
  constexpr std::string_view kBetween = " \t\r\n:,[]{}";
  size_t i = std::min(offset + 1, text.size());
  while (i > 0 && kBetween.find(text[i - 1]) != std::string_view::npos) --i;
  if (i == 0) return offset;
  if (text[i - 1] == '"') {
    size_t quote = i - 1;
    do {
      quote = quote == 0 ? std::string_view::npos : text.rfind('"', quote - 1);
    } while (quote != std::string_view::npos && quote > 0 && text[quote - 1] == '\\');
    return quote == std::string_view::npos ? offset : quote;
  }
  while (i > 0 && kBetween.find(text[i - 1]) == std::string_view::npos) --i;
  return i;
}

constexpr size_t kDepthMax = 200;  // a Value is destroyed recursively

// Builds a Value from the library's events, so that members keep their order and a second member
// of the same name is seen.
class Builder {
 public:
  using json = nlohmann::json;

  bool null() { return put({}); }
  bool boolean(bool b) { return put(b); }
  bool number_integer(json::number_integer_t n) { return put(static_cast<int64_t>(n)); }
  bool number_unsigned(json::number_unsigned_t n) {
    if (n > static_cast<uint64_t>(INT64_MAX)) {
      return fail("expected an integer of 64 bits with sign, found " + std::to_string(n));
    }
    return put(static_cast<int64_t>(n));
  }
  bool number_float(json::number_float_t d, const std::string& text) {
    // Integers beyond 64 bits arrive here; losing digits without a word would be worse.
    if (text.find_first_of(".eE") == std::string::npos) {
      return fail("expected an integer of 64 bits with sign, found " + text);
    }
    return put(d);
  }
  bool string(std::string& s) { return put(Value(s)); }
  bool binary(json::binary_t&) { return fail("expected JSON, found binary data"); }
  bool start_object(size_t) {
    if (open_.size() == kDepthMax) return fail(too_deep());
    open_.push_back({true, {}, {}, {}, {}});
    return true;
  }
  bool key(std::string& name) {
    Frame& frame = open_.back();
    if (!frame.names.insert(name).second) {
      return fail("expected each member once, found \"" + name + "\" twice");
    }
    frame.name = Symbol(name);
    return true;
  }
  bool end_object() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    return put(Value::object(std::move(frame.members)));
  }
  bool start_array(size_t) {
    if (open_.size() == kDepthMax) return fail(too_deep());
    open_.push_back({false, {}, {}, {}, {}});
    return true;
  }
  bool end_array() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    return put(Value::array(std::move(frame.items)));
  }
  bool parse_error(size_t offset, const std::string&, const nlohmann::detail::exception& e) {
    // "[json.exception…] parse error at line 1, column 2: syntax error while parsing value - what"
    std::string what = e.what();
    if (const size_t dash = what.find(" - "); dash != std::string::npos) what.erase(0, dash + 3);
    error_offset_ = offset == 0 ? 0 : offset - 1;
    return fail("not JSON: " + what);
  }

  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }
  const std::string& error() const { return error_; }
  size_t error_offset() const { return error_offset_; }  // npos: not known
  Value take() { return std::move(root_); }

 private:
  struct Frame {
    bool is_object;
    Symbol name;
    Value::Object members;
    Value::Array items;
    std::set<std::string> names;
  };

  static std::string too_deep() {
    return "expected at most " + std::to_string(kDepthMax) + " levels, found more";
  }

  bool put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(open_.back().name, std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Frame> open_;
  Value root_;
  std::string error_;
  size_t error_offset_ = std::string::npos;
};

// Feeds the library byte by byte and so knows how far it has read when the builder refuses.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  size_t* read;
  const char& operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*read;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at == b.at;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) {
    return a.at != b.at;
  }
};

bool is_flat(const Value& value) {
  if (value.is_array()) {
    return std::all_of(value.as_array().begin(), value.as_array().end(),
                       [](const Value& v) { return v.is_scalar(); });
  }
  return value.is_object() &&
         std::all_of(value.as_object().begin(), value.as_object().end(),
                     [](const auto& member) { return member.second.is_scalar(); });
}

// Walks a text that is known to be JSON, so that only the structure needs to be followed.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  size_t find(const std::vector<std::string>& path, bool of_name) {
    space();
    size_t found = at_;
    for (size_t i = 0; i < path.size(); ++i) {
      const std::optional<size_t> name = enter(path[i]);
      if (!name) return found;
      found = of_name && i + 1 == path.size() ? *name : at_;
    }
    return found;
  }

 private:
  // Moves from the value at_ to its member; the start of its name (of the item itself).
  std::optional<size_t> enter(const std::string& step) {
    const bool object = text_[at_] == '{';
    if (!object && text_[at_] != '[') return std::nullopt;
    ++at_;
    for (size_t i = 0;; ++i) {
      space();
      if (text_[at_] == '}' || text_[at_] == ']') return std::nullopt;
      const size_t start = at_;
      std::string name = std::to_string(i);
      if (object) {
        skip_string();
        name = nlohmann::json::parse(text_.substr(start, at_ - start)).get<std::string>();
        space();
        ++at_;  // the colon
        space();
      }
      if (name == step) return start;
      skip();
      space();
      if (text_[at_] == ',') ++at_;
    }
  }

  void skip() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (at_ < text_.size() &&
             (depth > 0 || std::string_view(",]}").find(text_[at_]) == std::string_view::npos));
  }

  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  void space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

constexpr size_t kLineMax = 90;

void append_pretty(std::string& out, const Value& value, size_t indent) {
  if (value.is_scalar()) {
    out += value.to_json();
    return;
  }
  if (is_flat(value)) {
    const std::string line = value.to_json();
    if (indent + line.size() <= kLineMax) {
      out += line;
      return;
    }
  }
  const bool object = value.is_object();
  const size_t size = object ? value.as_object().size() : value.as_array().size();
  out += object ? "{\n" : "[\n";
  for (size_t i = 0; i < size; ++i) {
    out.append(indent + 2, ' ');
    if (object) {
      append_json_string(out, value.as_object()[i].first.text());
      out += ": ";
    }
    append_pretty(out, object ? value.as_object()[i].second : value.as_array()[i], indent + 2);
    out += i + 1 < size ? ",\n" : "\n";
  }
  out.append(indent, ' ');
  out += object ? "}" : "]";
}

}  // namespace

Result<Value> parse_json(std::string_view text, const std::string& name) {
  Builder builder;
  size_t read = 0;
  const CountingIterator begin{text.data(), &read};
  const CountingIterator end{text.data() + text.size(), &read};
  if (nlohmann::json::sax_parse(begin, end, &builder)) return builder.take();
  const size_t offset = builder.error_offset() == std::string::npos
                            ? token_start(text, read == 0 ? 0 : read - 1)
                            : builder.error_offset();
  return input_error(name + ":" + position(text, offset) + ": " + builder.error());
}

std::string locate_json(std::string_view text, const std::vector<std::string>& path, bool of_name) {
  return position(text, Walker(text).find(path, of_name));
}

std::string pretty_json(const Value& value) {
  std::string out;
  append_pretty(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace assay
