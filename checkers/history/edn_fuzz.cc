// Reads the bytes as EDN; what is read must go through both formats unchanged. Seeds and words:
// testdata/edn_fuzz, testdata/edn_fuzz.dict.
#include <cstdint>
#include <string>
#include <string_view>

#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"

namespace assay {
namespace {

class TextSink : public ByteSink {
 public:
  Result<void> write(std::string_view bytes) override {
    text += bytes;
    return {};
  }
  Result<void> close() override { return {}; }
  std::string text;
};

std::string written_as(const History& history, HistoryFormat format) {
  TextSink sink;
  ASSAY_CHECK(write_history(history, sink, format).ok(), "a text is written");
  return sink.text;
}

Result<History> read_as(std::string_view text, HistoryFormat format) {
  return parse_history(text, "h", {.memory_bytes_max = 256 << 20, .format = format});
}

void check(std::string_view bytes) {
  const Result<History> first = read_as(bytes, HistoryFormat::kEdn);
  if (!first.ok()) {
    const std::string& message = first.error().message;
    ASSAY_CHECK(first.error().fault == Fault::kInput && message.starts_with("h:"), "%s",
                message.c_str());
    return;
  }
  const std::string lines = written_as(*first, HistoryFormat::kJsonl);
  const Result<History> from_lines = read_as(lines, HistoryFormat::kJsonl);
  if (!from_lines.ok()) {  // an error's shape may add a level to what is at the limit
    ASSAY_CHECK(from_lines.error().message.find("levels of nesting") != std::string::npos, "%s: %s",
                from_lines.error().message.c_str(), lines.c_str());
    return;
  }
  const std::string edn = written_as(*from_lines, HistoryFormat::kEdn);
  const Result<History> from_edn = read_as(edn, HistoryFormat::kEdn);
  ASSAY_CHECK(from_edn.ok(), "%s: %s", from_edn.error().message.c_str(), edn.c_str());
  const std::string again = written_as(*from_edn, HistoryFormat::kJsonl);
  ASSAY_CHECK(again == lines, "%s%s%s", lines.c_str(), edn.c_str(), again.c_str());
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  assay::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
