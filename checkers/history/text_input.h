// Text a byte at a time, with the position of the next one. Private to the readers of histories.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/byte_source.h"
#include "checkers/history/place.h"

namespace assay {

class TextInput {
 public:
  static constexpr int kEnd = -1;

  // start: where in its file the text begins.
  explicit TextInput(std::string_view text, Place start = {})
      : at_(text.data()),
        end_(at_ + text.size()),
        line_(start.line),
        line_start_(1 - start.column) {}
  explicit TextInput(ByteSource& source) : source_(&source), block_(kBlock) {
    at_ = end_ = start_ = block_.data();
  }

  // The next byte; kEnd at the end, and when the source failed.
  int peek() { return at_ != end_ || fill() ? static_cast<unsigned char>(*at_) : kEnd; }
  void skip() {
    if (*at_++ == '\n') {
      ++line_;
      line_start_ = offset();
    }
  }
  int next() {
    const int c = peek();
    if (c != kEnd) skip();
    return c;
  }
  // Appends the bytes of a class, which has no newline in it, up to the end of the block: 0 where
  // the next byte is of another.
  size_t take_while(const std::array<bool, 256>& is_in_class, std::string& out) {
    if (peek() == kEnd) return 0;
    const char* from = at_;
    while (at_ != end_ && is_in_class[static_cast<unsigned char>(*at_)]) ++at_;
    out.append(from, at_);
    return static_cast<size_t>(at_ - from);
  }
  uint64_t offset() const { return before_ + static_cast<uint64_t>(at_ - start_); }
  Place place() const { return {line_, offset() - line_start_ + 1}; }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  static constexpr size_t kBlock = 1 << 16;

  bool fill() {
    if (source_ == nullptr || failure_) return false;
    const Result<size_t> n = source_->read(block_.data(), block_.size());
    if (!n) failure_ = n.error();
    if (!n || *n == 0) return false;
    before_ = offset();
    at_ = start_ = block_.data();
    end_ = at_ + *n;
    return true;
  }

  ByteSource* source_ = nullptr;
  std::vector<char> block_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* start_ = at_;
  uint64_t before_ = 0;  // bytes of the blocks before this one
  size_t line_ = 1;
  uint64_t line_start_ = 0;  // its offset; modulo 2^64, of the first line of a part
  std::optional<Error> failure_;
};

}  // namespace assay
