#include "checkers/history/test_history.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "checkers/history/history_io.h"

namespace assay {
namespace {

[[noreturn]] void wrong(std::string_view line, const std::string& what) {
  std::fprintf(stderr, "bad line in a history script: %.*s\n  %s\n", static_cast<int>(line.size()),
               line.data(), what.c_str());
  std::abort();
}

// Where a word or a JSON value at the start of text ends.
size_t word_end(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (depth == 0 && std::isspace(static_cast<unsigned char>(c))) {
      return i;
    }
  }
  return text.size();
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == line.npos || line[start] == '#') return words;
    line.remove_prefix(start);
    const size_t end = word_end(line);
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Reads the words of one line into an Op.
class LineParser {
 public:
  LineParser(std::string_view line, Op& op) : line_(line), op_(op) {}

  void parse() {
    const std::vector<std::string_view> words = words_of(line_);
    if (words.size() < 3) wrong(line_, "expected PROCESS TYPE F");
    op_.process = process(words[0]);
    op_.type = type(words[1]);
    op_.f = Symbol(words[2]);
    size_t i = 3;
    if (i < words.size() && is_key(words[i])) op_.key = Symbol(words[i++]);
    if (i < words.size() && is_value(words[i])) op_.value = json(words[i++]);
    for (; i < words.size(); ++i) attribute(words[i]);
    if (!extra_.empty()) op_.extra = Value::object(std::move(extra_));
  }

 private:
  Process process(std::string_view word) {
    if (word == "nemesis") return kNemesis;
    if (word == "observer") return kObserver;
    return {integer(word)};
  }

  OpType type(std::string_view word) {
    for (OpType type : {OpType::kInvoke, OpType::kOk, OpType::kFail, OpType::kInfo})
      if (word == to_string(type)) return type;
    wrong(line_, "expected invoke, ok, fail or info, found " + std::string(word));
  }

  static bool is_key(std::string_view word) {
    const auto first = static_cast<unsigned char>(word[0]);
    return (std::isalpha(first) || first == '_' || first == '/') && !is_attribute(word) &&
           word != "true" && word != "false" && word != "null";
  }

  static bool is_value(std::string_view word) { return word[0] != '@' && !is_attribute(word); }

  static bool is_attribute(std::string_view word) {
    return word[0] != '"' && word[0] != '[' && word[0] != '{' && word.find('=') != word.npos;
  }

  void attribute(std::string_view word) {
    if (word[0] == '@') {
      op_.node = Symbol(word.substr(1));
      return;
    }
    if (!is_attribute(word)) wrong(line_, "expected NAME=VALUE, found " + std::string(word));
    const std::string_view name = word.substr(0, word.find('='));
    const std::string_view text = word.substr(name.size() + 1);
    if (name == "time") {
      op_.time = time(text);
    } else if (name == "scheduled") {
      op_.scheduled = time(text);
    } else if (name == "index") {
      op_.index = integer(text);
    } else if (name == "node") {
      op_.node = Symbol(text);
    } else if (name == "revision") {
      op_.revision = token(text);
    } else if (name == "at") {
      op_.at = token(text);
    } else if (name == "expected") {
      op_.expected = token(text);
    } else if (name == "error") {
      error().cls = Symbol(text);
    } else if (name == "text") {
      error().text = bare_or_json(text).as_text();
    } else if (name == "current") {
      error().current = token(text);
    } else {
      extra_.emplace_back(Symbol(name), bare_or_json(text));
    }
  }

  OpError& error() { return op_.error ? *op_.error : op_.error.emplace(); }

  Nanos time(std::string_view text) {
    const size_t digits = text.find_first_not_of("0123456789");
    const int64_t count = integer(text.substr(0, digits));
    const std::string_view unit = digits == text.npos ? "ns" : text.substr(digits);
    if (unit == "ns") return nanoseconds(count);
    if (unit == "us") return microseconds(count);
    if (unit == "ms") return milliseconds(count);
    if (unit == "s") return seconds(count);
    wrong(line_, "expected ns, us, ms or s, found " + std::string(unit));
  }

  Token token(std::string_view text) {
    const Value value = bare_or_json(text);
    if (value.is_int()) return Token(value.as_int());
    if (value.is_string()) return Token(value.as_symbol());
    wrong(line_, "expected an integer or a word, found " + std::string(text));
  }

  Value bare_or_json(std::string_view text) {
    const bool is_bare = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
                         text != "true" && text != "false" && text != "null";
    return is_bare ? Value(text) : json(text);
  }

  Value json(std::string_view text) {
    Result<Value> value = parse_value(text);
    if (!value) wrong(line_, std::string(text) + ": " + value.error().message);
    return *value;
  }

  int64_t integer(std::string_view text) {
    int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || number < 0)
      wrong(line_, "expected a number, found " + std::string(text));
    return number;
  }

  std::string_view line_;
  Op& op_;
  Value::Object extra_;
};

// Calls fn(line, op) for every line of the script.
template <typename Fn>
void each_line(std::string_view script, Fn fn) {
  Nanos time{0};
  int64_t index = 0;
  while (!script.empty()) {
    const size_t end = std::min(script.find('\n'), script.size());
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    if (words_of(line).empty()) continue;
    Op op;
    op.index = index;
    op.time = time;
    LineParser(line, op).parse();
    index = op.index + 1;
    time = op.time + milliseconds(1);
    fn(line, op);
  }
}

HistoryHeader header_of(std::string_view json) {
  Result<Value> members = parse_value(json);
  if (!members) wrong(json, members.error().message);
  if (!members->is_object()) wrong(json, "expected an object");
  std::string line = header_line(*members);
  line.pop_back();
  Result<HistoryHeader> header = parse_header(*parse_value(line));
  if (!header) wrong(json, header.error().message);
  return *header;
}

}  // namespace

History history_of(std::string_view script, std::string_view header_json) {
  HistoryBuilder builder;
  if (!header_json.empty()) builder.set_header(header_of(header_json));
  each_line(script, [&builder](std::string_view line, const Op& op) {
    if (auto added = builder.add(op); !added) wrong(line, added.error().message);
  });
  return builder.build();
}

std::vector<Op> ops_of(std::string_view script) {
  std::vector<Op> ops;
  each_line(script, [&ops](std::string_view, const Op& op) { ops.push_back(op); });
  return ops;
}

Op op_of(std::string_view line) {
  std::vector<Op> ops = ops_of(line);
  if (ops.size() != 1) wrong(line, "expected one line");
  return ops[0];
}

}  // namespace assay
