#include "results/report/markup.h"

#include <algorithm>
#include <charconv>

#include "checkers/words.h"

namespace assay::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the UTF-8 character at the start of the text, 0 when there is none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    const bool not_a_character = first == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE;
    return overlong || surrogate || not_a_character ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_large = first == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool allowed(char c) {
  return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length > 1) {
      out += text.substr(0, length);
    } else if (length == 0 || !allowed(text[0])) {
      out += kReplacement;
    } else if (const std::string_view escaped = entity(text[0]); !escaped.empty()) {
      out += escaped;
    } else {
      out += text[0];
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0) {
      out += kReplacement;
    } else if (c1 || first < 0x20 || first == 0x7F) {
      out += ' ';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    if (std::string_view("\\`*_[]<>|#&~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string shortened(std::string_view text, size_t max) {
  size_t characters = 0;
  size_t cut = 0;  // where the text ends if it has to be cut
  for (size_t i = 0; i < text.size(); ++characters) {
    if (characters + 1 == max) cut = i;
    if (characters == max) return std::string(text.substr(0, cut)) + "…";
    const size_t length = character_length(text.substr(i));
    i += length == 0 ? 1 : length;
  }
  return std::string(text);
}

std::string grouped(int64_t n) { return assay::grouped(n); }

std::string counted(int64_t n, std::string_view one, std::string_view many) {
  std::string out = grouped(n);
  out.append(" ").append(n == 1 ? one : many);
  return out;
}

std::string fixed(double x, int decimals) {
  char buffer[400];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed, decimals);
  if (error != std::errc()) return "?";
  std::string out(buffer, end);
  if (out[0] == '-' && out.find_first_of("123456789") == std::string::npos) out.erase(0, 1);
  return out;
}

std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view(".!?:…").find(out.back()) == std::string_view::npos) {
    out += '.';
  }
  return out;
}

std::string capitalised(std::string_view text) {
  std::string out(text);
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const std::string_view word = text.substr(0, text.find(' '));
  if (word.size() > 1 && std::all_of(word.begin(), word.end(), is_small)) {
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  }
  return out;
}

}  // namespace assay::report
