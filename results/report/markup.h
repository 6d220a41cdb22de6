// Text for XML and HTML (one escaping serves both, in content and in quoted attributes), and
// numbers and sentences as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::report {

// & < > " ' escaped; bytes that are not UTF-8, and characters that XML 1.0 does not allow, become
// U+FFFD.
std::string escape(std::string_view text);

// For a terminal or one line of text: control characters, line ends among them, become spaces;
// bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text);

// For Markdown: not taken for markup, on one line.
std::string markdown_text(std::string_view text);

// At most `max` characters (code points), the last one "…" when something was cut off.
std::string shortened(std::string_view text, size_t max);

std::string grouped(int64_t n);                                               // "20,412"
std::string counted(int64_t n, std::string_view one, std::string_view many);  // "1 key", "3 keys"
std::string fixed(double x, int decimals);    // "13.90", whatever the locale
std::string sentence(std::string_view text);  // with a final stop if it has none
// With a capital at its start, unless it starts with a name such as n4 or k7.
std::string capitalised(std::string_view text);

}  // namespace assay::report
