// Recorder: the one writer of a run's history. Gives every line its index and time.
//
// On the Loop's thread. An invocation is recorded before it is sent, a completion after it was
// received, so recorded intervals are wider than the real ones, never narrower.
#pragma once

#include <functional>

#include "checkers/history/history_io.h"
#include "targets/loop.h"

namespace assay {

class Recorder {
 public:
  // on_error is called once, with the first error of the file (disk full, …).
  Recorder(Loop& loop, HistoryWriter& writer, std::function<void(Error)> on_error);

  void record(Op& line);  // sets index and time; a nemesis's line is typed info
  // An observation: process observer, type info.
  void observe(Symbol f, Value value);
  // Calls fn with every line of a client, as it is recorded. fn must not record.
  void follow(std::function<void(const Op&)> fn) { follow_ = std::move(fn); }
  void flush();
  int64_t lines() const { return next_index_; }

 private:
  void flush_soon();

  Loop& loop_;
  HistoryWriter& writer_;
  std::function<void(Error)> on_error_;
  std::function<void(const Op&)> follow_;
  int64_t next_index_ = 0;
  Nanos last_;
  bool flush_pending_ = false;
  bool failed_ = false;
};

}  // namespace assay
