#include "harness/run/recorder.h"

namespace assay {

// What a killed driver may lose of its own history's end; the file stays a whole prefix.
static constexpr Nanos kFlushDelay = milliseconds(5);

Recorder::Recorder(Loop& loop, HistoryWriter& writer, std::function<void(Error)> on_error)
    : loop_(loop), writer_(writer), on_error_(std::move(on_error)) {}

void Recorder::record(Op& line) {
  line.index = next_index_++;
  line.time = std::max(last_, loop_.now());
  last_ = line.time;
  if (line.process == kNemesis) line.type = OpType::kInfo;
  auto added = writer_.add(line);
  if (!added && !failed_) {
    failed_ = true;
    loop_.post([this, error = added.error()] { on_error_(error); });
  }
  flush_soon();
  if (follow_ && line.process.is_client()) follow_(line);
}

void Recorder::observe(Symbol f, Value value) {
  Op line;
  line.process = kObserver;
  line.type = OpType::kInfo;
  line.f = f;
  line.value = std::move(value);
  record(line);
}

void Recorder::flush() {
  auto flushed = writer_.flush();
  if (!flushed && !failed_) {
    failed_ = true;
    loop_.post([this, error = flushed.error()] { on_error_(error); });
  }
}

void Recorder::flush_soon() {
  if (flush_pending_) return;
  flush_pending_ = true;
  loop_.at(last_ + kFlushDelay, [this] {
    flush_pending_ = false;
    flush();
  });
}

}  // namespace assay
