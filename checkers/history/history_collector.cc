#include "checkers/history/history_collector.h"

namespace assay {

HistoryCollector::HistoryCollector(std::string name, const ReadOptions& options)
    : name_(std::move(name)),
      options_(options),
      symbol_bytes_at_start_(symbol_bytes()),
      step_(options.memory_bytes_max == 0
                ? UINT64_MAX
                : std::min<uint64_t>(4 << 20, options.memory_bytes_max / 4)) {
  builder_.set_source(name_);
}

Result<void> HistoryCollector::check_memory(Place place, uint64_t more_bytes) {
  unchecked_bytes_ = 0;
  if (options_.memory_bytes_max == 0) return {};
  // As many as may come before the next look; a small limit looks sooner.
  const auto soon = static_cast<uint32_t>(step_ / 16);
  const uint64_t symbols = symbol_bytes_with(soon) - symbol_bytes_at_start_;
  const uint64_t needed = builder_.memory_bytes() + symbols + more_bytes;
  if (needed <= options_.memory_bytes_max) return {};
  return error(place, "expected a history that fits in " +
                          std::to_string(options_.memory_bytes_max) +
                          " bytes of memory, found that it needs more");
}

Error HistoryCollector::too_long(Place place, const char* what) const {
  return error(place, "expected " + std::string(what) + " of at most " +
                          std::to_string(text_bytes_max()) + " bytes, as the limit of " +
                          std::to_string(options_.memory_bytes_max) +
                          " bytes of memory asks, found a longer one");
}

void HistoryCollector::warn_torn(size_t line, const std::string& what) {
  warn("torn_tail: the last line, " + std::to_string(line) + ", " + what);
}

Result<History> HistoryCollector::finish(Place place, const char* what) {
  if (!has_content_) return error(place, std::string("expected ") + what + ", found nothing");
  if (auto fits = check_memory(place); !fits) return fits.error();
  return builder_.build();
}

}  // namespace assay
