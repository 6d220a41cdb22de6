// Lines in and lines out, both bounded: whatever the other side sends or does not read, the memory
// stays small and nothing blocks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace assay::agent {

// Cuts a stream of bytes into lines. A line longer than the limit is skipped to its end.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line_bytes) : max_(max_line_bytes) {}

  // Calls on_line for each line that the bytes complete (without its newline), and on_too_long
  // once for each line that is skipped, as soon as it has grown too long.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
            const std::function<void()>& on_too_long);

 private:
  size_t max_;
  std::string partial_;
  bool skipping_ = false;
};

// Makes the descriptor non-blocking while it lives. The flag belongs to what is open behind the
// descriptor, a terminal perhaps, so it is put back.
class NonBlocking {
 public:
  explicit NonBlocking(int fd);
  ~NonBlocking();
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int fd_;
  int flags_;
};

// Bytes on their way out through a non-blocking descriptor.
class OutQueue {
 public:
  explicit OutQueue(int fd) : fd_(fd) {}

  void push(std::string_view line);  // adds the newline
  void flush();                      // writes what can be written now
  bool flush_for(int patience_ms);   // all of it, if it goes out within that time

  size_t bytes() const { return data_.size() - start_; }
  bool broken() const { return broken_; }  // the reader is gone

 private:
  int fd_;
  std::string data_;
  size_t start_ = 0;
  bool broken_ = false;
};

}  // namespace assay::agent
