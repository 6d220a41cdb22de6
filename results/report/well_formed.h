// For tests: whether a text is well-formed XML (also our HTML: every element is closed), as far as
// we write it: a prolog, elements, attributes, text, the five entities and numeric ones,
// CDATA-free.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

class WellFormed {
 public:
  // Empty when it is; else what is wrong, and near what.
  static std::string problem(std::string_view text) { return WellFormed(text).run(); }

 private:
  explicit WellFormed(std::string_view text) : text_(text) {}

  std::string run() {
    while (problem_.empty() && at_ < text_.size()) {
      if (starts("<?")) {
        skip_past("?>");
      } else if (starts("<!doctype")) {
        skip_past(">");
      } else if (starts("<!--")) {
        skip_past("-->");
      } else if (starts("</")) {
        close();
      } else if (text_[at_] == '<') {
        open();
      } else {
        character(open_.empty() ? "outside of the root" : "");
      }
    }
    if (problem_.empty() && !open_.empty()) fail("not closed: " + open_.back());
    if (problem_.empty() && roots_ != 1) fail("expected one root");
    return problem_;
  }

  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void fail(std::string what) {
    problem_ = what + " near: " + std::string(text_.substr(at_ < 60 ? 0 : at_ - 60, 160));
  }
  void skip_past(std::string_view end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return fail("no end: " + std::string(end));
    at_ = found + end.size();
  }
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string name() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
            std::string_view("-_:.").find(text_[at_]) != std::string_view::npos)) {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }
  void close() {
    at_ += 2;
    const std::string element = name();
    if (open_.empty() || open_.back() != element)
      return fail("closes what is not open: " + element);
    open_.pop_back();
    space();
    if (!starts(">")) return fail("expected >");
    ++at_;
  }
  void open() {
    ++at_;
    const std::string element = name();
    if (element.empty()) return fail("expected a name after <");
    if (open_.empty()) ++roots_;
    std::set<std::string> attributes;
    for (;;) {
      const size_t before = at_;
      space();
      if (starts("/>")) {
        at_ += 2;
        return;
      }
      if (starts(">")) {
        ++at_;
        open_.push_back(element);
        return;
      }
      if (at_ == before) return fail("expected a space before an attribute");
      const std::string attribute = name();
      if (attribute.empty() || !attributes.insert(attribute).second) return fail("bad attribute");
      if (!starts("=\"")) return fail("expected =\"");
      at_ += 2;
      while (problem_.empty() && at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') return fail("< in an attribute");
        character("");
      }
      if (!problem_.empty()) return;
      ++at_;
    }
  }
  void character(std::string_view refused) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (!refused.empty() && !std::isspace(c)) return fail(std::string(refused));
    if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') return fail("control character");
    if (c == '>') return fail("bare >");
    if (c != '&') {
      ++at_;
      return;
    }
    for (std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (starts(entity)) {
        at_ += entity.size();
        return;
      }
    }
    fail("bare &");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  std::string problem_;
  int roots_ = 0;
};

// Whether the bytes are UTF-8.
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace assay::report
