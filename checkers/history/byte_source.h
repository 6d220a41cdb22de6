// Where the bytes of a history come from, and where they go to. Single-threaded.
//
// A source is a file, standard input or a text, unpacked where it is compressed (compressed.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "checkers/history/error.h"

namespace assay {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes (more than 0) to `to`; 0 at the end. An input error is damage in the bytes,
  // told without a position: the reader knows how far it got. Any other error is complete.
  virtual Result<size_t> read(char* to, size_t size) = 0;
};

// path "-" is standard input. A folder and a file that cannot be opened are input errors.
Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);
// The text must outlive it.
std::unique_ptr<ByteSource> text_source(std::string_view text);
// What was taken from a source, then the rest of it.
std::unique_ptr<ByteSource> put_back(std::string taken, std::unique_ptr<ByteSource> rest);
// Reads up to `most` bytes, fewer at the end.
Result<std::string> read_head(ByteSource& source, size_t most);

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<void> write(std::string_view bytes) = 0;
  virtual Result<void> close() = 0;  // exactly once, after the last write
};

}  // namespace assay
