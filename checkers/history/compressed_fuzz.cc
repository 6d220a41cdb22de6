// The first byte chooses: the rest is packed and must come out as it was, or is taken for a packed
// stream, which may be damaged in any way. Seeds: testdata/compressed_fuzz.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "checkers/history/compressed.h"

namespace assay {
namespace {

class PackedText : public ByteSink {
 public:
  explicit PackedText(std::string& text) : text_(text) {}
  Result<void> write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Result<void> close() override { return {}; }

 private:
  std::string& text_;
};

// Reads at most some megabytes: more may be in there than anybody waits for.
bool unpack(std::string_view bytes, size_t block, std::string& out) {
  auto source = unpacked(text_source(bytes));
  ASSAY_CHECK(source.ok(), "%s", source.error().message.c_str());
  std::string buffer(block, '\0');
  while (out.size() < (8 << 20)) {
    const Result<size_t> n = (*source)->read(buffer.data(), buffer.size());
    if (!n.ok()) {
      ASSAY_CHECK(n.error().fault == Fault::kInput, "%s", n.error().message.c_str());
      return false;
    }
    if (*n == 0) break;
    out.append(buffer, 0, *n);
  }
  return true;
}

void check(uint8_t choice, std::string_view bytes) {
  const size_t block = choice % 2 == 0 ? 1 + choice : 1 << 16;
  std::string out;
  if (choice < 128) {
    unpack(bytes, block, out);
    return;
  }
  std::string packed_bytes;
  const auto sink = packed(choice < 192 ? Packing::kGzip : Packing::kZstd,
                           std::make_unique<PackedText>(packed_bytes));
  ASSAY_CHECK(sink->write(bytes).ok() && sink->close().ok(), "a text is packed");
  ASSAY_CHECK(unpack(packed_bytes, block, out) && out == bytes, "%zu bytes became %zu",
              bytes.size(), out.size());
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) assay::check(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
