// The tokens of EDN: words, numbers, texts, characters.
#include <algorithm>
#include <utility>

#include "checkers/history/edn_parser.h"
#include "checkers/history/edn_text.h"
#include "checkers/history/utf8.h"

namespace assay {
namespace {

void append_code_point(std::string& out, unsigned code) {
  const auto tail = [&out](unsigned bits) { out += static_cast<char>(0x80 | (bits & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(code >> 6);
    tail(code);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(code >> 12);
    tail(code >> 6);
    tail(code);
  }
}

int hex_digit(int c) {
  if (is_edn_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

// A word, to text_.
bool EdnParser::token(Place place, const char* expected) {
  text_.clear();
  while (input_.take_while(kEdnWord, text_) > 0) {
    if (form_bytes_max_ != 0 && text_.size() > form_bytes_max_) {
      is_too_long_ = true;
      return false;
    }
  }
  if (text_.empty() && input_.peek() == TextInput::kEnd) return fail_at_end(expected);
  if (text_.empty()) return fail(input_.place(), expected, shown_byte(input_.peek()));
  return check_utf8(place);
}

bool EdnParser::check_utf8(Place place) {
  for (size_t i = 0; i < text_.size();) {
    if (static_cast<unsigned char>(text_[i]) < 0x80) {
      ++i;
      continue;
    }
    const size_t size = utf8_sequence(std::string_view(text_).substr(i));
    if (size == 0)
      return fail(place, "UTF-8", shown_byte(static_cast<unsigned char>(text_[i])) + " in a text");
    i += size;
  }
  return true;
}

bool EdnParser::keyword(Place place) {
  while (input_.peek() == ':') input_.skip();
  return token(place, "a word after ':'") && put(Symbol(text_), true);
}

bool EdnParser::word(Place place) {
  if (!token(place, "EDN")) return false;
  const size_t sign = text_[0] == '+' || text_[0] == '-' ? 1 : 0;
  if (text_.size() > sign && is_edn_digit(text_[sign])) {
    std::optional<Value> number = edn_number(text_);
    return number ? put(std::move(*number)) : fail(place, "a number", edn_quoted(text_));
  }
  if (text_ == "nil") return put(Value());
  if (text_ == "true") return put(true);
  if (text_ == "false") return put(false);
  return put(Symbol(text_));
}

// After the first quote, to text_.
bool EdnParser::string(Place place) {
  text_.clear();
  bool has_newline = false;
  while (true) {
    const int c = input_.next();
    if (c == '"') return true;
    if (c == TextInput::kEnd) {
      // A text over several lines that never ends is a missing quote, not a cut-off line.
      if (!has_newline) return fail_at_end("'\"' to close what begins at " + at_place(place));
      return fail(place, "a text that ends", "none up to the end of the file");
    }
    if (form_bytes_max_ != 0 && text_.size() > form_bytes_max_) {
      is_too_long_ = true;
      return false;
    }
    has_newline = has_newline || c == '\n';
    if (c != '\\') {
      text_ += static_cast<char>(c);
    } else if (!escape()) {
      return false;
    }
  }
}

// What follows a backslash in a string.
bool EdnParser::escape() {
  const Place place = input_.place();
  const int c = input_.next();
  constexpr std::string_view kNames = "trnbf\"\\'";
  constexpr std::string_view kBytes = "\t\r\n\b\f\"\\'";
  if (c == TextInput::kEnd) return fail_at_end("an escape");
  if (const size_t which = kNames.find(static_cast<char>(c)); which != kNames.npos) {
    text_ += kBytes[which];
    return true;
  }
  unsigned code = 0;
  if (c == 'u') {
    if (!unicode(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
      unsigned second = 0;
      if (input_.next() != '\\' || input_.next() != 'u' || !unicode(second) || second < 0xdc00 ||
          second > 0xdfff)
        return fail(place, "two halves of a surrogate pair", "one");
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return fail(place, "two halves of a surrogate pair", "one");
    }
  } else if (c >= '0' && c <= '7') {
    code = static_cast<unsigned>(c - '0');
    for (int i = 0; i < 2 && input_.peek() >= '0' && input_.peek() <= '7'; ++i)
      code = code * 8 + static_cast<unsigned>(input_.next() - '0');
  } else {
    return fail(place, "an escape", "\\ and " + shown_byte(c));
  }
  append_code_point(text_, code);
  return true;
}

bool EdnParser::unicode(unsigned& code) {
  code = 0;
  for (int i = 0; i < 4; ++i) {
    const Place place = input_.place();
    const int c = input_.next();
    if (c == TextInput::kEnd) return fail_at_end("a hexadecimal digit");
    if (hex_digit(c) < 0) return fail(place, "a hexadecimal digit", shown_byte(c));
    code = code * 16 + static_cast<unsigned>(hex_digit(c));
  }
  return true;
}

// \a, \newline, \u00e9, \o101
bool EdnParser::character(Place place) {
  input_.skip();
  const int first = input_.next();
  if (first == TextInput::kEnd) return fail_at_end("a character");
  text_.assign(1, static_cast<char>(first));
  while (is_edn_word(input_.peek()) && text_.size() < 16) text_ += static_cast<char>(input_.next());
  if (!check_utf8(place)) return false;
  const bool is_one = text_.size() == 1 || (first >= 0x80 && utf8_sequence(text_) == text_.size());
  if (is_one) return put(Symbol(text_));
  static constexpr std::pair<std::string_view, const char*> kNamed[] = {
      {"newline", "\n"}, {"space", " "},      {"tab", "\t"},
      {"return", "\r"},  {"backspace", "\b"}, {"formfeed", "\f"}};
  for (const auto& [name, bytes] : kNamed)
    if (text_ == name) return put(Symbol(bytes));
  unsigned code = 0;
  bool is_code = text_.size() == 5 && first == 'u';
  for (size_t i = 1; is_code && i < 5; ++i) {
    is_code = hex_digit(text_[i]) >= 0;
    code = code * 16 + static_cast<unsigned>(hex_digit(text_[i]));
  }
  const bool is_octal =
      first == 'o' && text_.size() <= 4 &&
      std::all_of(text_.begin() + 1, text_.end(), [](char c) { return c >= '0' && c <= '7'; });
  if (is_octal) code = static_cast<unsigned>(std::stoul(text_.substr(1), nullptr, 8));
  if ((!is_code && !is_octal) || (code >= 0xd800 && code < 0xe000))
    return fail(place, "a character", edn_quoted("\\" + text_));
  std::string bytes;
  append_code_point(bytes, code);
  return put(Symbol(bytes));
}

}  // namespace assay
