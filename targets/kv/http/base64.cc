#include "targets/kv/http/base64.h"

#include <array>
#include <cstdint>

namespace assay {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

bool line_break(char c) { return c == '\n' || c == '\r'; }

// Reads groups of four digits; the last one may end in padding.
class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) {}

  std::variant<std::string, BadBase64> run() {
    out_.reserve(text_.size() / 4 * 3);
    while (!ended_ && !bad_) group();
    if (bad_) return BadBase64{bad_at_};
    return std::move(out_);
  }

 private:
  void fail(size_t at) {
    bad_ = true;
    bad_at_ = at;
  }
  void skip_line_breaks() {
    while (at_ < text_.size() && line_break(text_[at_])) ++at_;
  }

  void group() {
    uint32_t bits = 0;
    for (size_t digits = 0; digits < 4; ++digits) {
      skip_line_breaks();
      if (at_ == text_.size()) {
        ended_ = true;
        if (digits > 0) fail(at_ - digits);
        return;
      }
      const char c = text_[at_++];
      const uint8_t value = kValues[static_cast<unsigned char>(c)];
      if (value == kNoDigit) return c == '=' ? padding(digits, bits) : fail(at_ - 1);
      bits = bits << 6 | value;
    }
    emit(bits, 3);
  }

  void padding(size_t digits, uint32_t bits) {
    ended_ = true;
    if (digits < 2) return fail(at_ - 1);
    if (digits == 2) {
      skip_line_breaks();
      if (at_ == text_.size()) return fail(text_.size());
      if (text_[at_] != '=') return fail(at_ - 1);
      ++at_;
    }
    skip_line_breaks();
    if (at_ < text_.size()) return fail(at_);
    emit(bits << (6 * (4 - digits)), digits - 1);
  }

  void emit(uint32_t bits, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(bits >> (16 - 8 * i)));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  bool ended_ = false;
  bool bad_ = false;
  size_t bad_at_ = 0;
};

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  size_t i = 0;
  const auto byte = [&](size_t at) -> uint32_t {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
  };
  for (; i < bytes.size(); i += 3) {
    const uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const char group[4] = {kDigits[bits >> 18], kDigits[bits >> 12 & 63],
                           i + 1 < bytes.size() ? kDigits[bits >> 6 & 63] : '=',
                           i + 2 < bytes.size() ? kDigits[bits & 63] : '='};
    out.append(group, 4);
  }
}

std::variant<std::string, BadBase64> decode_base64(std::string_view text) {
  return Decoder(text).run();
}

}  // namespace assay
