// Nanos: a point in a run, or a span of it, in nanoseconds.
//
// Points count from the run's start on the driver's one monotonic clock (virtual time in the
// simulator). Node clocks never enter.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "checkers/history/error.h"

namespace assay {

struct Nanos {
  int64_t count = 0;

  friend auto operator<=>(Nanos, Nanos) = default;
  friend constexpr Nanos operator+(Nanos a, Nanos b) { return {a.count + b.count}; }
  friend constexpr Nanos operator-(Nanos a, Nanos b) { return {a.count - b.count}; }
  friend constexpr Nanos operator*(Nanos a, int64_t n) { return {a.count * n}; }
  friend constexpr Nanos operator/(Nanos a, int64_t n) { return {a.count / n}; }
  friend constexpr int64_t operator/(Nanos a, Nanos b) { return a.count / b.count; }
  Nanos& operator+=(Nanos b) {
    count += b.count;
    return *this;
  }
  Nanos& operator-=(Nanos b) {
    count -= b.count;
    return *this;
  }
};

inline constexpr Nanos kNever{std::numeric_limits<int64_t>::max()};

constexpr Nanos nanoseconds(int64_t n) { return {n}; }
constexpr Nanos microseconds(int64_t n) { return {n * 1'000}; }
constexpr Nanos milliseconds(int64_t n) { return {n * 1'000'000}; }
constexpr Nanos seconds(int64_t n) { return {n * 1'000'000'000}; }

inline int64_t to_ms(Nanos t) { return t.count / 1'000'000; }
inline double to_seconds(Nanos t) { return static_cast<double>(t.count) / 1e9; }

// For people, with the unit that fits: "850 us", "212 ms", "13.9 s", "2 min 5 s".
std::string format_duration(Nanos t);
// A point of the run for people: "13.9 s".
std::string format_point(Nanos t);

// A span as options write it: a number, with a decimal fraction if need be, and a unit (ns, us, ms,
// s, m, h), without a space: "30s", "500ms", "1.5h". Anything else is an input error.
Result<Nanos> parse_duration(std::string_view text);

}  // namespace assay
