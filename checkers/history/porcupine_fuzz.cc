// Reads the bytes as Porcupine's logs and as what they look like: an error must name its place.
// Seeds: testdata/porcupine_fuzz.
#include <cstdint>
#include <string_view>

#include "checkers/history/history_io.h"

namespace assay {
namespace {

void check(std::string_view bytes) {
  for (const HistoryFormat format :
       {HistoryFormat::kPorcupineEtcd, HistoryFormat::kPorcupineKv, HistoryFormat::kGuess}) {
    const Result<History> history =
        parse_history(bytes, "h", {.memory_bytes_max = 256 << 20, .format = format});
    if (history.ok()) continue;
    const std::string& message = history.error().message;
    ASSAY_CHECK(history.error().fault == Fault::kInput && message.starts_with("h:"), "%s",
                message.c_str());
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  assay::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
