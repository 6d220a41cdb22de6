#include "checkers/history/time.h"

#include <algorithm>
#include <cstdint>

#include "checkers/history/value.h"

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

struct Unit {
  std::string_view name;
  int64_t size;
};
constexpr Unit kUnits[] = {{"ns", 1},      {"us", kMicro},      {"ms", kMilli},
                           {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}};

// Takes the decimal digits at the start of text off it.
std::string_view take_digits(std::string_view& text) {
  const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// whole.fraction times size; false when it is not a whole number of ns, or too large.
bool scale(std::string_view whole, std::string_view fraction, int64_t size, int64_t& count) {
  __int128 sum = 0;
  for (char digit : whole) {
    sum = sum * 10 + (digit - '0') * static_cast<__int128>(size);
    if (sum >= INT64_MAX) return false;
  }
  int64_t place = size;
  for (char digit : fraction) {
    if (digit != '0' && place % 10 != 0) return false;
    place /= 10;
    sum += (digit - '0') * static_cast<__int128>(place);
  }
  if (sum >= INT64_MAX) return false;
  count = static_cast<int64_t>(sum);
  return true;
}

}  // namespace

Result<Nanos> parse_duration(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  const bool point = rest.starts_with('.');
  if (point) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  for (const Unit& unit : kUnits) {
    Nanos span;
    if (rest == unit.name && !whole.empty() && point == !fraction.empty() &&
        scale(whole, fraction, unit.size, span.count)) {
      return span;
    }
  }
  std::string found;
  append_json_string(found, text);
  return input_error("expected a span of time such as 30s, 500ms, 10m or 2h, found " + found);
}

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
