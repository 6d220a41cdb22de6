// The lines of a source, one at a time. Private to the readers of histories.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "checkers/history/byte_source.h"

namespace assay {

class LineFeed {
 public:
  // A line longer than line_bytes_max (0: no limit) is not read to its end.
  LineFeed(ByteSource& source, uint64_t line_bytes_max)
      : source_(source), line_bytes_max_(line_bytes_max), buffer_(1 << 18, '\0') {}

  enum class Got { kLine, kEnd, kTooLong, kFailed };
  Got next() {
    if (const char* newline = find_newline(at_)) return take(newline, newline + 1, true);
    return next_block();
  }

  std::string_view text() const { return text_; }  // without its newline; until the next call
  bool is_whole() const { return is_whole_; }      // it had one
  size_t number() const { return number_; }        // of this line, from 1
  const Error& failure() const { return failure_; }

 private:
  const char* end() const { return buffer_.data() + used_; }
  const char* find_newline(size_t from) const {
    return static_cast<const char*>(std::memchr(buffer_.data() + from, '\n', used_ - from));
  }
  Got take(const char* to, const char* next, bool is_whole) {
    text_ = {buffer_.data() + at_, static_cast<size_t>(to - buffer_.data()) - at_};
    at_ = static_cast<size_t>(next - buffer_.data());
    is_whole_ = is_whole;
    ++number_;
    return Got::kLine;
  }

  // The buffer holds the start of a line, or nothing.
  Got next_block() {
    std::memmove(buffer_.data(), buffer_.data() + at_, used_ - at_);
    used_ -= at_;
    at_ = 0;
    while (true) {
      if (line_bytes_max_ != 0 && used_ > line_bytes_max_) {
        ++number_;
        return Got::kTooLong;
      }
      if (used_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
      const Result<size_t> n = source_.read(buffer_.data() + used_, buffer_.size() - used_);
      if (!n) {
        failure_ = n.error();
        ++number_;
        return Got::kFailed;
      }
      if (*n == 0) return used_ == 0 ? Got::kEnd : take(end(), end(), false);
      const size_t from = used_;
      used_ += *n;
      // Only what is new can hold a newline.
      if (const char* newline = find_newline(from)) return take(newline, newline + 1, true);
    }
  }

  ByteSource& source_;
  uint64_t line_bytes_max_;
  std::string buffer_;
  size_t at_ = 0;
  size_t used_ = 0;
  std::string_view text_;
  bool is_whole_ = false;
  size_t number_ = 0;
  Error failure_;
};

}  // namespace assay
