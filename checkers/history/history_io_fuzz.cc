// Feeds the same bytes to both readers and to the writer, and aborts where they disagree.
// Seeds and words: testdata/history_io_fuzz, testdata/history_io_fuzz.dict.
#include <cstdint>
#include <string>
#include <string_view>

#include "checkers/history/history_io.h"

namespace assay {
namespace {

struct Seen {
  bool ok = false;
  std::string text;  // the header and the lines again, or the error
  std::vector<std::string> warnings;
};

Seen read(std::string_view text, bool library_only) {
  const Result<History> history = parse_history(
      text, "h", {.library_only = library_only, .format = HistoryFormat::kJsonl});
  Seen seen{.ok = history.ok()};
  if (!history.ok()) {
    seen.text = history.error().message;
    ASSAY_CHECK(history.error().fault == Fault::kInput, "%s", seen.text.c_str());
    return seen;
  }
  if (history->header().present) seen.text = history->header().raw.to_json() + "\n";
  history->for_each_line([&seen](const Op& op) { append_line(seen.text, op); });
  seen.warnings = history->warnings();
  // Every view must hold still while it is looked at.
  for (size_t id = 0; id < history->size(); ++id) {
    const Operation operation = (*history)[id];
    Scalar first;
    Scalar second;
    const bool is_pair = operation.argument_pair(first, second);
    if (!is_pair || operation.f() != f::cas) {
      ASSAY_CHECK((operation.argument_scalar().kind == 0) == operation.argument().is_null(), "%zu",
                  id);
    }
  }
  return seen;
}

void check(std::string_view text) {
  const Seen scanned = read(text, false);
  const Seen parsed = read(text, true);
  ASSAY_CHECK(
      scanned.ok == parsed.ok && scanned.text == parsed.text && scanned.warnings == parsed.warnings,
      "the scanner: %s\nthe library: %s", scanned.text.c_str(), parsed.text.c_str());
  if (!scanned.ok || scanned.text.empty()) return;
  const Seen again = read(scanned.text, false);
  ASSAY_CHECK(again.ok && again.text == scanned.text, "written: %s\nread back: %s",
              scanned.text.c_str(), again.text.c_str());
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  assay::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
