#include "checkers/history/time.h"

namespace assay {
namespace {

constexpr int64_t kMicro = 1'000;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;

// Rounds half up without overflow.
uint64_t rounded(uint64_t count, uint64_t unit) {
  return count / unit + (count % unit >= (unit + 1) / 2 ? 1 : 0);
}

// With one decimal: 139 is "13.9".
std::string tenths(uint64_t n) {
  std::string text = std::to_string(n / 10);
  text += '.';
  return text += std::to_string(n % 10);
}

std::string whole_or_tenths(uint64_t count, uint64_t unit, uint64_t tenths_below) {
  const uint64_t n = rounded(count, unit / 10);
  if (n < tenths_below * 10 && n % 10 != 0) return tenths(n);
  return std::to_string(rounded(count, unit));
}

std::string two_parts(uint64_t n, uint64_t size, const char* large, const char* small) {
  std::string text = std::to_string(n / size) + large;
  if (n % size != 0) text += ' ' + std::to_string(n % size) + small;
  return text;
}

std::string format_span(uint64_t count) {
  if (count < kMicro) return std::to_string(count) + " ns";
  if (rounded(count, kMicro) < 1000) return whole_or_tenths(count, kMicro, 10) + " us";
  if (rounded(count, kMilli) < 1000) return whole_or_tenths(count, kMilli, 10) + " ms";
  if (rounded(count, kSecond / 10) < 600) return whole_or_tenths(count, kSecond, 60) + " s";
  const uint64_t whole_seconds = rounded(count, kSecond);
  if (whole_seconds < 3600) return two_parts(whole_seconds, 60, " min", " s");
  return two_parts(rounded(count, 60 * kSecond), 60, " h", " min");
}

uint64_t magnitude(Nanos t) {
  const auto bits = static_cast<uint64_t>(t.count);
  return t.count < 0 ? 0 - bits : bits;
}

}  // namespace

std::string format_duration(Nanos t) {
  if (t == kNever) return "never";
  std::string text = t.count < 0 ? "-" : "";
  return text += format_span(magnitude(t));
}

std::string format_point(Nanos t) {
  if (t == kNever) return "never";
  std::string text = t.count < 0 ? "-" : "";
  text += tenths(rounded(magnitude(t), kSecond / 10));
  return text += " s";
}

}  // namespace assay
