// What the readers of all formats share: the history that comes together, its limit of memory, and
// errors with the position in the file. Private to the readers of histories.
#pragma once

#include <algorithm>
#include <string>

#include "checkers/history/history.h"
#include "checkers/history/history_io.h"
#include "checkers/history/text_input.h"

namespace assay {

class HistoryCollector {
 public:
  // name: of the file, in messages.
  HistoryCollector(std::string name, const ReadOptions& options);

  Result<void> add(const Op& op, Place place) {
    if (auto added = builder_.add(op, place); !added) return error(place, added.error().message);
    has_content_ = true;
    return {};
  }
  void set_header(HistoryHeader header) {
    builder_.set_header(std::move(header));
    has_content_ = true;
  }
  // What a format says of all its histories: the file itself may still hold nothing.
  void assume_header(HistoryHeader header) { builder_.set_header(std::move(header)); }
  void warn(std::string warning) { builder_.warn(std::move(warning)); }
  bool has_content() const { return has_content_; }

  // Called with the bytes of text that came in since the last time: now and then it looks.
  Result<void> took(size_t bytes, Place place) {
    unchecked_bytes_ += bytes;
    return unchecked_bytes_ < step_ ? Result<void>() : check_memory(place);
  }
  Result<void> check_memory(Place place, uint64_t more_bytes = 0);
  // The most text that may have to be in memory at once, a line or a form: parsed, it takes up to
  // 60 times its size.
  uint64_t text_bytes_max() const { return options_.memory_bytes_max / 64; }
  Error too_long(Place place, const char* what) const;

  Error error(Place place, const std::string& what) const {
    return input_error(name_ + ':' + std::to_string(place.line) + ':' +
                       std::to_string(place.column) + ": " + what);
  }
  // Of a source: damage gets the position.
  Error failure(Place place, const Error& failure) const {
    return failure.fault == Fault::kInput ? error(place, failure.message) : failure;
  }
  void warn_torn(size_t line, const std::string& what);
  // place: the end. what: that was expected where there is nothing.
  Result<History> finish(Place place, const char* what = "a header or an operation");

 private:
  std::string name_;
  const ReadOptions& options_;
  uint64_t symbol_bytes_at_start_;
  uint64_t step_;
  HistoryBuilder builder_;
  bool has_content_ = false;
  uint64_t unchecked_bytes_ = 0;
};

}  // namespace assay
