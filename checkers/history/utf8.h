// UTF-8 as the Unicode standard has it (table 3-7): no overlong forms, no surrogates, nothing
// above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// The length of the well-formed sequence of two to four bytes at the start of text, whose first
// byte is not ASCII; 0 when it is not well-formed.
inline size_t utf8_sequence(std::string_view text) {
  const auto byte = [&text](size_t i) -> unsigned char {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto in = [](unsigned char c, unsigned low, unsigned high) {
    return c >= low && c <= high;
  };
  const auto tail = [&](size_t i) { return in(byte(i), 0x80, 0xbf); };
  const unsigned char first = byte(0);
  if (in(first, 0xc2, 0xdf)) return tail(1) ? 2 : 0;
  if (in(first, 0xe0, 0xef)) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return in(byte(1), low, high) && tail(2) ? 3 : 0;
  }
  if (in(first, 0xf0, 0xf4)) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return in(byte(1), low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace assay
