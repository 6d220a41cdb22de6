// What words of EDN are made of, and how they are shown in messages. Private to edn_*.cc.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "checkers/history/text_input.h"
#include "checkers/history/value.h"

namespace assay {

inline bool is_edn_blank(int c) { return c == ' ' || c == ',' || (c >= '\t' && c <= '\r'); }

inline constexpr std::array<bool, 256> kEdnWord = [] {
  std::array<bool, 256> is_word{};
  for (unsigned c = 0; c < 256; ++c)
    is_word[c] =
        c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  for (const char c :
       {'.', '*', '+', '!', '-', '_', '?', '$', '%', '&', '=', '<', '>', '|', '/', ':', '#', '\''})
    is_word[static_cast<unsigned char>(c)] = true;
  return is_word;
}();

inline bool is_edn_word(int c) { return c != TextInput::kEnd && kEdnWord[static_cast<size_t>(c)]; }

inline bool is_edn_digit(int c) { return c >= '0' && c <= '9'; }

inline std::string edn_quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out;
  append_json_string(out, text.substr(0, kMost));
  if (text.size() > kMost) out.insert(out.size() - 1, "…");
  return out;
}

inline std::string shown_byte(int c) {
  if (c == TextInput::kEnd) return "the end of the file";
  if (c > 0x20 && c < 0x7f) return std::string("'") + static_cast<char>(c) + "'";
  static constexpr char kHex[] = "0123456789abcdef";
  return std::string("the byte 0x") + kHex[c >> 4 & 15] + kHex[c & 15];
}

inline std::string at_place(Place place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

}  // namespace assay
